"""The walk of a demo installation: what happens does its steps, and it is shown until all are done or it is closed."""

import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations import transcript
from chat.turns.tools import call_tool
from memory.documents import undo
from memory.documents.write import Author, Source
from memory.models import DemoWalk, MemoryRevision
from tests.conversations import FINISHED, send, settle

STEP = re.compile(r'<li class="walk__step"([^>]*)>\s*([^<]+?)\s*<')


@pytest.fixture(autouse=True)
def _demo(settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    settings.DEMO_URL = "http://127.0.0.1:9"
    settings.EMBEDDINGS = "none"


@pytest.fixture
def call():
    """call(user, tool, **input): one turn in which the model calls this tool; the id of its conversation."""

    def call(user, tool, session_id=None, **input):
        accepted = transcript.accept(user, session_id or uuid.uuid4(), uuid.uuid4(), "My cat is called Miso.")
        use = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": tool, "input": input}
        results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
        block, card = call_tool(accepted.turn, accepted.answer, use, "")
        following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {use["id"]: card})
        transcript.finish_turn(accepted.turn, following, [{"type": "text", "text": "Done."}], "complete", **FINISHED)
        return accepted.message.session_id

    return call


@pytest.fixture
def save(call):
    return lambda user: call(user, "save_memory", content="My cat is called Miso.")


@pytest.fixture
def steps(client):
    """steps(user, session_id): what the page of this conversation shows, as {label: done | current | open}."""

    def steps(user, session_id=None):
        client.force_login(user)
        page = client.get(f"/c/{session_id}" if session_id else "/").content.decode()
        states = {"data-done": "done", 'aria-current="step"': "current", "": "open"}
        return {label: states[marks.strip()] for marks, label in STEP.findall(page)}

    return steps


def undo_newest(user):
    newest = MemoryRevision.objects.filter(author=user, source="tool").latest("pk")
    undo.undo(newest, Author(Source.UNDO, user))


def test_each_step_is_done_by_what_happened(ada, save, call, steps):
    names = ["Save", "New conversation", "Ask"]
    assert steps(ada) == dict(zip(names, ["current", "open", "open"], strict=True))
    first = save(ada)
    assert steps(ada, first) == dict(zip(names, ["done", "current", "open"], strict=True))
    # Where the conversation is another one, even before its first message.
    assert steps(ada) == dict(zip(names, ["done", "done", "current"], strict=True))
    assert DemoWalk.objects.get().moved_at is None
    settle(send(ada, "Hello"))
    assert steps(ada, first) == dict(zip(names, ["done", "done", "current"], strict=True))
    assert DemoWalk.objects.get().moved_at is not None
    second = call(ada, "memory_search", query="cat")
    # The card of the end is shown once.
    assert steps(ada, second) == dict.fromkeys(names, "done")
    assert DemoWalk.objects.get().closed_at is not None
    assert steps(ada, second) == {}


def test_a_search_in_the_conversation_that_saved_is_no_recall(ada, save, call, steps):
    first = save(ada)
    call(ada, "memory_search", first, query="cat")
    assert steps(ada, first)["Ask"] == "open"


def test_what_was_done_stays_done_when_its_rows_are_deleted(ada, save, call, steps):
    save(ada)
    settle(send(ada, "Hello"))
    assert steps(ada)["New conversation"] == "done"
    ada.chat_sessions.all().delete()
    assert DemoWalk.objects.get().moved_at is not None
    assert steps(ada)["Save"] == "done"


def test_who_has_done_all_of_it_before_meets_its_end_once(ada, save, call, steps):
    save(ada)
    call(ada, "memory_search", query="cat")
    assert set(steps(ada).values()) == {"done"}
    assert steps(ada) == {}


@pytest.mark.parametrize("is_undone", [False, True])
def test_the_end_leads_to_the_line_that_was_saved(ada, client, save, call, is_undone):
    save(ada)
    call(ada, "memory_search", query="cat")
    if is_undone:
        undo_newest(ada)
    client.force_login(ada)
    card = client.get("/").content.decode()
    assert ('href="/memory/"' if is_undone else 'href="/memory/#line-1-1"') in card
    assert is_undone or 'id="line-1-1"' in client.get("/memory/").content.decode()


def test_it_can_be_closed_for_good(client, ada, steps):
    session = uuid.uuid4()
    client.force_login(ada)
    assert client.post(f"/memory/walk/{session}/close", headers={"HX-Request": "true"}).content == b""
    assert steps(ada) == {}
    assert client.get(f"/memory/walk/{session}").status_code == 204
    DemoWalk.objects.all().delete()
    accepted = send(ada)
    settle(accepted)
    back = client.post(f"/memory/walk/{accepted.message.session_id}/close")
    assert back.url == f"/c/{accepted.message.session_id}"
    assert client.post(f"/memory/walk/{session}/close").url == "/"


def test_what_others_do_is_no_step(ada, stranger, save, call, steps):
    save(ada)
    settle(send(stranger, "Hello"))
    call(stranger, "memory_search", query="cat")
    assert steps(stranger) == {"Save": "current", "New conversation": "open", "Ask": "open"}
    assert steps(ada)["Ask"] == "current"
    assert not DemoWalk.objects.filter(user=stranger).exists()


def test_the_walk_of_one_person_is_not_closed_by_another(client, ada, stranger, save, steps):
    first = save(ada)
    client.force_login(stranger)
    # Ada's conversation is answered like one that does not exist.
    assert client.post(f"/memory/walk/{first}/close").url == "/"
    assert steps(ada) != {}


def test_with_a_real_model_there_is_none_and_nothing_is_asked(settings, ada, client, steps):
    settings.ANTHROPIC_API_KEY = "key"
    with CaptureQueriesContext(connection) as asked:
        assert steps(ada) == {}
    assert not any("demowalk" in query["sql"] for query in asked)


def test_the_details_of_an_answer_name_the_demo(ada, client):
    accepted = send(ada)
    transcript.finish_turn(accepted.turn, accepted.answer, [], "complete", **FINISHED | {"model": "oneclaw-demo"})
    client.force_login(ada)
    page = client.get(f"/messages/{accepted.answer.pk}/details").content.decode()
    assert "<dd>Demo</dd>" in page
    assert "oneclaw-demo" not in page
