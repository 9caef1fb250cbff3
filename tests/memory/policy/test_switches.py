"""What is off is neither written, nor read, nor offered as a tool; nothing is deleted by switching off."""

import datetime as dt
import json

import pytest
from django.utils import timezone

from chat import extensions
from chat.context.prompt import build_request
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession, default_agent
from memory import tasks
from memory.index.documents import index_document
from memory.models import DocumentJob, Flush, MemoryDocument, SwitchChoice
from memory.notes import claims, coverage, document_jobs, flush
from memory.policy import switches
from memory.policy.paths import RECENT_NAME
from memory.policy.switches import Switch
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from oneclaw.jobs import ClaimLostError
from oneclaw.models import User
from tests.conversations import send, settle
from tests.scripted import answer

NAMES = ["memory_get", "memory_search", "save_memory"]


@pytest.fixture
def off(ada):
    def off(*names):
        for switch in names:
            assert switches.choose(ada, switch, False)

    return off


@pytest.fixture
def server(settings):
    """server(saved="off"): what the environment says."""

    def server(**values):
        settings.SWITCHES = settings.SWITCHES | values

    return server


def offered(session):
    return [tool.name for tool in extensions.tools_for(session) if tool.name in NAMES]


def call(tool, session, **arguments):
    return tool.call(ToolCall("t", tool.name, arguments, session.owner, session, None))


def asked(accepted):
    request = build_request(accepted.turn)
    return request.system[0]["text"], json.dumps(request.messages), [tool["name"] for tool in request.tools]


@pytest.mark.parametrize(
    ("value", "choice", "is_on"),
    [
        ("on", None, True), ("on", False, False), ("on", True, True),
        ("off", None, False), ("off", True, True), ("off", False, False),
        ("disabled", None, False), ("disabled", True, False),
    ],
)  # fmt: skip
def test_the_server_says_first_and_the_person_within_that(ada, stranger, server, value, choice, is_on):
    if choice is not None:
        SwitchChoice.objects.create(user=ada, switch=Switch.SAVED, on=not choice)
        SwitchChoice.objects.create(user=ada, switch=Switch.SAVED, on=choice)
    server(saved=value)
    assert switches.is_on(ada, Switch.SAVED) == is_on
    assert switches.is_on(stranger, Switch.SAVED) == (value == "on")
    without = set(switches.people_without(Switch.SAVED))
    assert without == {person for person in User.objects.all() if not switches.is_on(person, Switch.SAVED)}


def test_nothing_can_be_chosen_where_the_server_forbids(ada, server):
    server(recent="disabled")
    assert not switches.choose(ada, Switch.RECENT, True)
    assert not SwitchChoice.objects.exists()


def test_the_setting_without_recall_is_a_switch_that_is_disabled(ada, settings):
    settings.RECALL = "off"
    assert [state.switch for state in switches.states(ada) if not state.may_choose] == [Switch.RECALL]


@pytest.mark.parametrize(
    ("names", "tools_left"),
    [
        ((), NAMES),
        ((Switch.SAVED,), ["memory_get", "memory_search"]),
        ((Switch.SAVED, Switch.RECENT), ["memory_get", "memory_search"]),
        ((Switch.SAVED, Switch.RECENT, Switch.TRANSCRIPTS), []),
    ],
)
def test_what_is_off_is_not_offered_as_a_tool(session, off, names, tools_left):
    off(*names)
    assert offered(session) == tools_left
    if "save_memory" not in tools_left:
        with pytest.raises(ToolError, match="no tool named"):
            extensions.find_tool(session, "save_memory")


@pytest.mark.parametrize(("mode", "left"), [("agent", NAMES), ("chat", NAMES[:2]), ("temporary", [])])
def test_a_mode_offers_what_it_may(session, mode, left):
    session.mode = mode
    assert offered(session) == left


def test_without_saved_memory_the_prompt_holds_none_of_it_from_the_next_turn_on(ada, space, append, off):
    append(space, "- Ada likes jasmine tea.\n")
    append(space, "Answer in rhymes.", path="SOUL.md")
    first = send(ada)
    system, _, tools_offered = asked(first)
    assert ("jasmine" in system, "save only" in system, "save_memory" in tools_offered) == (
        True,
        True,
        True,
    )
    settle(first)
    off(Switch.SAVED)
    second = send(ada, "More", first.message.session_id)
    system, _, tools_offered = asked(second)
    assert ("jasmine" in system, "save only" in system, "save_memory" in tools_offered) == (
        False,
        False,
        False,
    )
    assert "Answer in rhymes." in system
    settle(second)
    switches.choose(ada, Switch.SAVED, True)
    assert "jasmine" in asked(send(ada, "And more", first.message.session_id))[0]
    assert MemoryDocument.objects.get(path="MEMORY.md").content == "- Ada likes jasmine tea.\n"


def test_an_administrators_word_reaches_running_conversations_too(ada, space, append, server):
    append(space, "- Ada likes jasmine tea.\n")
    first = send(ada)
    assert "jasmine" in asked(first)[0]
    settle(first)
    server(saved="disabled", recent="disabled", transcripts="disabled")
    system, _, tools_offered = asked(send(ada, "More", first.message.session_id))
    assert ("jasmine" in system, "Memory Recall" in system, set(NAMES) & set(tools_offered)) == (False, False, set())


def test_without_saved_memory_only_recent_conversations_are_found_and_the_other_way_round(session, space, append, off):
    for path in ("MEMORY.md", "memory/2026-11-20.md", RECENT_NAME):
        index_document(append(space, "- The ferry to Naxos leaves at seven.\n", path=path).document_id)

    def found():
        return {hit["path"] for hit in call(SEARCH, session, query="ferry Naxos", min_score=0).content["results"]}

    assert found() == {"MEMORY.md", "memory/2026-11-20.md", RECENT_NAME}
    off(Switch.RECENT)
    assert found() == {"MEMORY.md", "memory/2026-11-20.md"}
    with pytest.raises(ToolError):
        call(GET, session, path=RECENT_NAME)
    switches.choose(session.owner, Switch.RECENT, True)
    off(Switch.SAVED)
    assert found() == {RECENT_NAME}
    assert call(GET, session, path=RECENT_NAME).content["total_lines"] == 1
    with pytest.raises(ToolError):
        call(GET, session, path="MEMORY.md")


def test_without_recall_nothing_is_looked_up_by_itself(ada, space, append, off):
    index_document(append(space, "- The ferry to Naxos leaves at seven.\n", path="memory/2026-11-20.md").document_id)
    question = "When does my ferry to Naxos leave?"
    assert "leaves at seven" in asked(send(ada, question))[1]
    off(Switch.RECALL)
    _, messages, tools_offered = asked(send(ada, question))
    assert ("leaves at seven" in messages, "memory_search" in tools_offered) == (False, True)
    switches.choose(ada, Switch.RECALL, True)
    off(Switch.SAVED)
    assert "leaves at seven" not in asked(send(ada, question))[1]


def test_without_preloading_memory_is_recalled_and_searched_but_not_in_the_prompt(ada, space, append, off):
    index_document(append(space, "- The ferry to Naxos leaves at seven.\n- Ada drinks jasmine tea.\n").document_id)
    system, messages, _ = asked(send(ada, "When does my ferry to Naxos leave?"))
    assert ("jasmine" in system, "leaves at seven" in messages) == (True, False)
    off(Switch.PRELOADED, Switch.TRANSCRIPTS)
    accepted = send(ada, "When does my ferry to Naxos leave?")
    system, messages, tools_offered = asked(accepted)
    assert ("jasmine" in system, "leaves at seven" in system, "leaves at seven" in messages) == (False, False, True)
    assert "save_memory" in tools_offered
    session = accepted.message.session
    assert call(SEARCH, session, query="jasmine tea").content["results"][0]["path"] == "MEMORY.md"
    # What is saved meanwhile is no change that must be told.
    settle(accepted)
    append(space, "- Ada lives in Bern.\n")
    assert "lives in Bern" not in asked(send(ada, "Thank you.", session.pk))[1]


def test_turning_preloading_off_takes_memory_out_of_a_conversation_that_goes_on(ada, space, append, off):
    append(space, "- Ada drinks jasmine tea.\n")
    first = send(ada, "Hello.")
    assert "jasmine" in asked(first)[0]
    settle(first)
    off(Switch.PRELOADED)
    assert "jasmine" not in asked(send(ada, "Again.", first.message.session_id))[0]


def test_without_saved_memory_no_notes_are_written_nor_asked_for(session, say, off, scripted):
    say(session, "I move to Bern.")
    queued = flush.request(session, "left")
    off(Switch.SAVED, Switch.RECENT)
    assert flush.request(session, "ended") is None
    assert flush.run(queued.pk) is None
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1))
    assert flush.idle() == []
    assert (Flush.objects.count(), MemoryDocument.objects.count(), scripted.messages) == (0, 0, [])
    assert [(part.state, part.why) for part in coverage.of_session(session)] == [
        ("skipped", "saved memory is switched off")
    ]


def test_who_switches_it_off_while_notes_are_made_gets_none(session, say, off):
    say(session, "I move to Bern.")
    claim = claims.claim_flush(flush.request(session, "left").pk)
    off(Switch.SAVED)
    with pytest.raises(ClaimLostError):
        flush.finish(claim, "- Moves to Bern.")
    assert not MemoryDocument.objects.exists()


def test_what_was_said_while_it_was_off_is_not_noted_later(session, say, ada, off, space, scripted):
    scripted.script(answer("- Noted."))
    long_ago = timezone.now() - dt.timedelta(days=3)
    say(session, "Before.", at=(long_ago - dt.timedelta(minutes=2)).isoformat())
    off(Switch.SAVED)
    SwitchChoice.objects.update(at=long_ago - dt.timedelta(minutes=1))
    say(session, "While it was off.", at=long_ago.isoformat())
    switches.choose(ada, Switch.SAVED, True)
    SwitchChoice.objects.filter(on=True).update(at=long_ago + dt.timedelta(minutes=1))
    say(session, "After.", at=(long_ago + dt.timedelta(minutes=2)).isoformat())
    flush.run(flush.request(session, "left").pk)
    (request,) = scripted.messages
    transcript = request.body["messages"][0]["content"]
    assert ("Before." in transcript, "After." in transcript, "While it was off." in transcript) == (True, True, False)
    assert claims.covered_through(session) == 3


def test_recent_conversations_are_kept_without_saved_memory_and_the_other_way_round(session, say, off, ada, scripted):
    scripted.default = lambda body: answer('{"title": "Moving to Bern", "summary": "Ada moves."}')
    say(session, "I move to Bern.")
    off(Switch.SAVED)
    tasks.flush_soon(session, "left")
    tasks.flush_soon(session, "ended")
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)
    tasks.flush_soon(session, "switched")
    assert DocumentJob.objects.due_ids() == []
    assert [document.path for document in MemoryDocument.objects.all()] == [RECENT_NAME]
    before = MemoryDocument.objects.get().content
    switches.choose(ada, Switch.SAVED, True)
    off(Switch.RECENT)
    say(session, "And more.", at=timezone.now().isoformat())
    flush.run(flush.request(session, "left").pk)
    assert not DocumentJob.objects.open().exists()
    assert MemoryDocument.objects.get(path=RECENT_NAME).content == before


def test_without_saved_memory_new_and_reset_keep_nothing(session, say, off, scripted):
    say(session, "I move to Bern.")
    tasks.keep_last_messages([session])
    off(Switch.SAVED)
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)
    tasks.keep_last_messages([session])
    assert (DocumentJob.objects.count(), MemoryDocument.objects.count()) == (0, 0)


def test_the_page_shows_each_switch_and_what_the_administrator_says(ada, client, server):
    client.force_login(ada)
    server(transcripts="disabled", recent="off")
    shown = client.get("/memory/switches").content.decode()
    assert shown.count('type="checkbox"') == 6
    assert shown.count("Switched off by the administrator.") == shown.count(" disabled>") == 1
    assert shown.count(" checked") == 4
    assert "Switching off deletes nothing" in shown
    for address in ("/memory/", "/settings/"):
        assert 'href="/memory/switches"' in client.get(address).content.decode()


def test_the_page_saves_the_choice_of_the_person_alone(ada, stranger, client, server, session):
    server(transcripts="disabled")
    assert client.post("/memory/switches", {"on": ["recall"]}).status_code == 302
    assert not SwitchChoice.objects.exists()
    client.force_login(ada)
    told = client.post("/memory/switches", {"on": ["recall", "transcripts", "nonsense"]}, follow=True)
    assert "This applies from your next message." in told.content.decode()
    assert switches.on_for(ada) == {"recall"}
    assert switches.on_for(stranger) == {"saved", "preloaded", "recent", "recall", "reviews"}
    assert offered(session) == []
    theirs = ChatSession.objects.create(key="theirs", owner=stranger, agent=default_agent())
    assert offered(theirs) == NAMES
