import pytest

from chat.signals import sessions_ended
from tests.chat.routes.cast import Clock


@pytest.fixture
def clock():
    with Clock().set() as clock:
        yield clock


@pytest.fixture
def ended(django_capture_on_commit_callbacks):
    """(session, reason) of every sessions_ended."""
    heard = []

    def receive(sessions, reason, **_):
        heard.extend((session.pk, reason) for session in sessions)

    sessions_ended.connect(receive)
    yield heard
    sessions_ended.disconnect(receive)
