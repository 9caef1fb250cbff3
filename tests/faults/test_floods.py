"""Frames that are too large, readers that are too slow, texts as long as they may be."""

import json
import time
import uuid
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.faults.site import Site, send
from tests.scripted import answer, text, tool_use
from tests.stage import Talk

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]
UNITS = {"a letter": "a", "an emoji": "😀", "a combining pair": "e\u0301"}


def test_a_frame_of_a_mebibyte_is_refused_with_its_size_and_the_socket_lives_on(site: Site):
    session = str(uuid.uuid4())
    with site.talk(session) as talk:
        frame = {"type": "send", "client_id": str(uuid.uuid4()), "session": session, "text": ""}
        frame["text"] = "a" * (1024 * 1024 - len(json.dumps(frame)))
        talk.connection.send(json.dumps(frame))
        error = talk.hear("error")
        assert (error["code"], "1,048,576" in error["text"]) == ("too_large", True)
        send(talk, session, "Small.")
        talk.hear("done", final=True)
    assert [message.text for message in site.agreed(session)] == ["Small.", "Noted."]


def test_a_slow_reader_is_closed_and_the_memory_of_the_server_stays_flat(site: Site):
    # More than max_tokens: an iterator is not counted by the server.
    parts = iter(["Many words. " * 400] * 20)
    session = site.ask("A long answer, please.", answer(text(parts)))
    url = site.house.url
    address, headers = url.replace("http", "ws", 1) + "/ws/", {"Cookie": site.cookie}
    with connect(address, origin=url, additional_headers=headers, max_queue=1) as slow:
        # The system itself takes some megabytes of what is sent.
        flood(site, slow, session, 80)
        after_some = resident(site)
        flood(site, slow, session, 120)
        assert resident(site) - after_some < 8 * 1024
        with pytest.raises(ConnectionClosed) as closed:
            Talk(slow).hear("pong")
        assert closed.value.rcvd.code == 1013
    assert site.agreed(session)[-1].text.count("Many words.") == 8000


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_a_memory_may_have_5000_characters_and_not_one_more(site: Site, unit: str):
    mark = uuid.uuid4().hex
    longest = mark + (unit * 5000)[: 5000 - len(mark)]
    session = str(uuid.uuid4())
    for content, state in ((longest, "done"), (longest + "a", "failed")):
        site.upstream.replies.append(answer(tool_use("save_memory", {"content": content})))
        with site.talk(session) as talk:
            send(talk, session, "Remember that.")
            talk.hear("tool", state=state)
            talk.hear("done", final=True)
    assert f"- {longest}\n" in site.memory("MEMORY.md")
    assert site.memory("MEMORY.md").count(mark) == 1
    # A comparison of the saved line may have been asked after it.
    sent = [json.dumps(each.body) for each in site.upstream.server.messages]
    assert any(mark in body and "must be 5,000 characters or less" in body for body in sent)
    site.agreed(session)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_a_message_may_have_as_many_characters_as_the_page_says(site: Site, unit: str):
    session, longest = str(uuid.uuid4()), 5000
    assert f'data-longest="{longest}"' in site.house.get("/", site.cookie)[1]
    message = (unit * longest)[:longest]
    with site.talk(session) as talk:
        send(talk, session, message)
        talk.hear("done", final=True)
        talk.say("send", client_id=str(uuid.uuid4()), session=session, text=message + "a")
        assert talk.hear("error")["code"] == "too_long"
    assert [shown.text for shown in site.agreed(session)] == [message, "Noted."]


def flood(site: Site, connection, session: str, count: int) -> None:
    """Ask for the whole conversation so often, and do not look at what comes; until the web has done it all."""
    for _ in range(count):
        connection.send(json.dumps({"type": "open", "session": session, "last_seq": 0}))
    spent = -1
    while spent < (spent := processor_time(site)):
        time.sleep(1)


def processor_time(site: Site) -> int:
    """Hundredths of a second that the web process has computed for, rounded to tenths."""
    fields = Path(f"/proc/{site.process('web')}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) // 10


def resident(site: Site) -> int:
    """KiB of memory that the web process holds."""
    status = Path(f"/proc/{site.process('web')}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
