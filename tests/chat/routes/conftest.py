import pytest

from chat.signals import session_ended
from tests.chat.routes.cast import Clock


@pytest.fixture
def clock():
    with Clock().set() as clock:
        yield clock


@pytest.fixture
def ended(django_capture_on_commit_callbacks):
    """(session, reason) of every session_ended."""
    heard = []

    def receive(session, reason, **_):
        heard.append((session.pk, reason))

    session_ended.connect(receive)
    yield heard
    session_ended.disconnect(receive)
