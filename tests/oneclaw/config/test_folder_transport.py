"""Messages that travel through a folder."""

from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection, Exchange, Producer, Queue
from kombu.exceptions import ChannelError

from oneclaw.config import broker, folder_transport

MESSAGE = {"body": "", "properties": {"delivery_tag": "1"}, "headers": {"task": "oneclaw.tasks.heartbeat"}}


def put(channel):
    channel._put("celery", MESSAGE)


@pytest.fixture
def channel(tmp_path):
    with Connection(broker.FOLDER_URL, transport_options=broker.folder_options(tmp_path)) as connection:
        yield connection.channel()
    folder_transport.Transport.global_state.clear()


def test_a_reader_finds_a_message_whole_or_not_at_all(channel, monkeypatch):
    rename = Path.rename

    def rename_after_a_reader(draft, message):
        assert draft.read_text()
        with pytest.raises(Empty):
            channel._get("celery")
        rename(draft, message)

    monkeypatch.setattr(Path, "rename", rename_after_a_reader)
    put(channel)
    assert channel._get("celery") == MESSAGE
    with pytest.raises(Empty):
        channel._get("celery")


def test_a_message_that_cannot_be_written_is_told_and_leaves_nothing(channel, monkeypatch, tmp_path):
    def fail(draft, message):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(ChannelError):
        channel._put("celery", {})
    assert not [path.name for path in tmp_path.rglob("*") if "celery" in path.name]


def test_a_damaged_message_is_set_aside_and_the_next_one_is_read(channel, tmp_path, caplog):
    for number, damaged in enumerate(["", "{", "null", "[]", '{"body": "x"}', "\udcff"]):
        (tmp_path / f"0{number}.celery.msg").write_bytes(damaged.encode(errors="surrogateescape"))
    put(channel)
    assert channel._get("celery") == MESSAGE
    assert len(list((tmp_path / "broken").iterdir())) == 6
    assert caplog.text.count("A message of the queue cannot be read") == len(caplog.records) == 6
    with pytest.raises(Empty):
        channel._get("celery")


@pytest.mark.parametrize("damaged", ["", "[[", "null", '[["celery"]]'])
def test_a_damaged_exchange_is_set_aside_and_messages_still_arrive(channel, tmp_path, caplog, damaged):
    queue = Queue("celery", Exchange("celery"), routing_key="celery")
    producer = Producer(channel)
    producer.publish({"number": 1}, exchange="celery", routing_key="celery", declare=[queue])
    (tmp_path / "control/celery.exchange").write_text(damaged)
    # The same process again, which has bound the queue already.
    producer.publish({"number": 2}, exchange="celery", routing_key="celery", declare=[queue])
    (tmp_path / "control/celery.exchange").write_text(damaged)
    # Another process.
    folder_transport.Transport.global_state.clear()
    queue.bind(channel).declare()
    assert {queue.bind(channel).get().payload["number"] for _ in range(2)} == {1, 2}
    assert len(list((tmp_path / "broken").iterdir())) == len(caplog.records) == 2
