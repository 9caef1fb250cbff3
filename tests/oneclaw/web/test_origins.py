"""Which pages may open a socket."""

import pytest

from oneclaw.web.origins import is_allowed_origin


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("http://127.0.0.1:8123", "127.0.0.1:8123", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost", "localhost", True),
        ("http://localhost:9000", "localhost:8000", False),
        ("http://evil.example", "localhost:8000", False),
        ("http://evil.example", "evil.example", False),
        ("http://localhost.evil.example:8000", "localhost:8000", False),
        ("null", "localhost:8000", False),
        ("file://", "localhost:8000", False),
        ("", "localhost:8000", False),
        ("http://localhost:99999", "localhost:8000", False),
        ("https://chat.example.org", "10.0.0.5:8000", True),
        ("http://chat.example.org", "10.0.0.5:8000", False),
    ],
)
def test_a_socket_is_for_the_pages_of_this_server(settings, origin, host, may):
    settings.ORIGINS = ["https://chat.example.org"]
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "chat.example.org"]
    assert is_allowed_origin(origin, host) is may
