"""Whose X-Forwarded-For is believed."""

import pytest

from oneclaw.ops import roles


async def client_of(settings, peer, trusted):
    """The client's address as the application sees it, when `peer` says that it forwards for 203.0.113.9."""
    seen = []

    async def application(scope, receive, send):
        seen.append(scope["client"][0])

    settings.TRUSTED_PROXIES = trusted
    configuration = roles.web_configuration()
    configuration.app = application
    configuration.load()
    headers = [(b"x-forwarded-for", b"203.0.113.9")]
    await configuration.loaded_app({"type": "http", "headers": headers, "client": (peer, 1234)}, None, None)
    return seen[0]


@pytest.mark.parametrize(
    ("peer", "trusted", "client"),
    [
        ("127.0.0.1", [], "127.0.0.1"),
        ("::1", [], "::1"),
        ("127.0.0.1", ["127.0.0.1"], "203.0.113.9"),
        ("172.18.0.1", ["127.0.0.1", "172.16.0.0/12"], "203.0.113.9"),
        ("172.33.0.1", ["127.0.0.1", "172.16.0.0/12"], "172.33.0.1"),
    ],
)
async def test_only_a_trusted_proxy_says_where_a_person_connects_from(settings, peer, trusted, client):
    assert await client_of(settings, peer, trusted) == client
