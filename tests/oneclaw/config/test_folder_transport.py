"""Messages that travel through a folder."""

from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection
from kombu.exceptions import ChannelError

from oneclaw.config import broker


@pytest.fixture
def channel(tmp_path):
    with Connection(broker.FOLDER_URL, transport_options=broker.folder_options(tmp_path)) as connection:
        yield connection.channel()


def test_a_reader_finds_a_message_whole_or_not_at_all(channel, monkeypatch):
    rename = Path.rename

    def rename_after_a_reader(draft, message):
        assert draft.read_text()
        with pytest.raises(Empty):
            channel._get("celery")
        rename(draft, message)

    monkeypatch.setattr(Path, "rename", rename_after_a_reader)
    channel._put("celery", {"task": "oneclaw.tasks.heartbeat"})
    assert channel._get("celery") == {"task": "oneclaw.tasks.heartbeat"}
    with pytest.raises(Empty):
        channel._get("celery")


def test_a_message_that_cannot_be_written_is_told_and_leaves_nothing(channel, monkeypatch, tmp_path):
    def fail(draft, message):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(ChannelError):
        channel._put("celery", {})
    assert not [path.name for path in tmp_path.rglob("*") if "celery" in path.name]
