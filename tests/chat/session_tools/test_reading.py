"""The model lists and reads other conversations of the same person, and nothing else."""

import datetime as dt
import json

import pytest
from django.utils import timezone

from chat.conversations import lifecycle, transcript
from chat.extensions import ToolError
from chat.models import Agent, ChatSession, Message
from chat.session_tools import history, limits, offered
from chat.session_tools.history import sessions_history
from chat.session_tools.listing import sessions_list
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting.forget import forget
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.models import Space
from tests.conversations import TOOL_USE, send, settle
from tests.sub_sessions import caller, calling, unknown, value, written

pytestmark = pytest.mark.usefixtures("session_tools")


def listed(user, **arguments):
    return [
        row["title"]
        for row in value(sessions_list(calling(user, "sessions_list", said=caller(user), **arguments)))["sessions"]
    ]


def read(user, session, **arguments):
    return value(
        sessions_history(calling(user, "sessions_history", said=caller(user), session=str(session.pk), **arguments))
    )


def code_of(user, id):
    with pytest.raises(ToolError) as error:
        sessions_history(calling(user, "sessions_history", said=caller(user), session=str(id)))
    return error.value.code, error.value.message.replace(str(id), "…")


def test_only_the_persons_own_conversations_are_there(ada, stranger):
    mine = written(ada, "About birds")
    hers = written(stranger, "About bees")
    beat, gone = written(ada, "About beats", kind="beat"), written(ada, "Deleted")
    temporary = written(ada, "Secret", mode="temporary")
    lifecycle.delete(gone)
    assert listed(ada, kind="all") == ["About birds"]
    assert "Hi" in str(read(ada, mine))
    # All others are answered alike.
    assert len({code_of(ada, each.pk) for each in (hers, beat, gone, temporary)} | {code_of(ada, unknown())}) == 1
    assert code_of(ada, "no id")[0] == "unknown_session"


def test_an_agent_with_a_memory_of_its_own_sees_only_its_own_and_nobody_else_sees_those(ada):
    keeper = Agent.objects.create(slug="keeper", name="Keeper", owner=ada, own_memory=True)
    written(ada, "For everybody")
    kept = written(ada, "For the keeper", agent=keeper)
    assert listed(ada) == ["For everybody"]
    assert code_of(ada, kept.pk)[0] == "unknown_session"
    said = send(ada, "Keeper, hello")
    ChatSession.objects.filter(pk=said.turn.session_id).update(agent=keeper)
    call = calling(ada, "sessions_list", said=said)
    assert [row["title"] for row in value(sessions_list(call))["sessions"]] == ["For the keeper"]


def test_whoever_switches_the_search_in_conversations_off_switches_this_off(ada):
    session = written(ada)
    switches.choose(ada, Switch.TRANSCRIPTS, False)
    assert not offered.may_read(session)
    assert not offered.may_send(session)
    assert read(ada, session)["messages"] == []
    switches.choose(ada, Switch.TRANSCRIPTS, True)
    # Both were said before it was switched off.
    assert len(read(ada, session)["messages"]) == 2


@pytest.mark.parametrize(("count", "shown"), [(49, 49), (50, 50), (51, 50)])
def test_fifty_are_listed_at_most(ada, count, shown):
    agent = written(ada).agent
    rows = [ChatSession(owner=ada, agent=agent, key=f"k{number}", last_seq=1) for number in range(count - 1)]
    ChatSession.objects.bulk_create(rows)
    assert len(listed(ada, limit=limits.LISTED_MAX_SESSIONS)) == shown


def test_the_list_is_filtered_by_kind_activity_and_words(ada):
    old = written(ada, "About birds", "They fly")
    ChatSession.objects.filter(pk=old.pk).update(active_at=timezone.now() - dt.timedelta(minutes=61))
    written(ada, "About bees", "They hum")
    written(ada, "A task", kind="sub")
    assert listed(ada) == ["About bees", "About birds"]
    assert listed(ada, kind="sub") == ["A task"]
    assert listed(ada, active_minutes=60) == ["About bees"]
    assert listed(ada, words="they fly") == ["About birds"]
    assert listed(ada, words="bees") == ["About bees"]
    assert listed(ada, limit=1) == ["About bees"]


def long(user, count, size=10):
    """A conversation with so many messages."""
    session = written(user, "First")
    rows = [
        Message(session=session, seq=seq, role="user", text=f"{seq} {'x' * size}", content=[])
        for seq in range(3, count + 1)
    ]
    Message.objects.bulk_create(rows)
    ChatSession.objects.filter(pk=session.pk).update(last_seq=count)
    return session


@pytest.mark.parametrize(("count", "shown"), [(49, 49), (50, 50), (51, 50)])
def test_fifty_messages_are_read_at_most_and_the_next_is_named(ada, count, shown):
    found = read(ada, long(ada, count), limit=50, **{"from": 1})
    assert [row["seq"] for row in found["messages"]] == list(range(1, shown + 1))
    assert found["next"] == (51 if count > 50 else None)
    newest = read(ada, long(ada, count), limit=50)
    assert newest["messages"][-1]["seq"] == count


def test_a_result_has_twenty_thousand_characters_at_most_and_goes_on_where_it_ended(ada):
    session = long(ada, 12, size=5_000)
    seen, start = [], 1
    while start:
        result = sessions_history(
            calling(ada, "sessions_history", session=str(session.pk), limit=50, **{"from": start})
        )
        assert len(json.dumps(value(result), ensure_ascii=False)) <= limits.READ_MAX_CHARS
        seen += [row["seq"] for row in value(result)["messages"]]
        start = value(result)["next"]
    assert seen == list(range(1, 13))


@pytest.mark.parametrize(("over", "is_cut"), [(-1, False), (0, False), (1, True)])
def test_one_message_that_is_too_long_is_cut(over, is_cut):
    row = {"seq": 1, "text": "x" * 500}
    room = len(json.dumps(row)) + 2
    (found,) = history.within([row], room - over)
    assert ("cut" in found) == is_cut
    assert len(json.dumps(found)) <= room


def test_secrets_are_masked_and_tools_shown_on_request_only(ada):
    said = send(ada, "My key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789")
    results = transcript.finish_round(said.turn, said.answer, [TOOL_USE], stop_reason="tool_use", usage={}, model="m")
    found = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Saved it."}]
    following = transcript.finish_tools(said.turn, said.answer, results, found, {})
    transcript.finish_turn(said.turn, following, [{"type": "text", "text": "Noted."}], "complete")
    session = said.turn.session
    plain = read(ada, session)
    assert "sk-ant" not in str(plain)
    assert [(row["by"], row["text"]) for row in plain["messages"]][1:] == [("assistant", "Noted.")]
    whole = str(read(ada, session, tools=True))
    assert "Saved it." in whole
    assert "calls save_memory" in whole


def test_what_a_model_wrote_in_the_persons_place_is_not_the_persons(ada):
    session = written(ada)
    Message.objects.filter(session=session, role="user").update(meta={"by": "session"})
    assert [row["by"] for row in read(ada, session)["messages"]] == ["session", "assistant"]


def test_a_running_answer_is_not_read(ada):
    said = send(ada, "Hello")
    assert [row["by"] for row in read(ada, said.turn.session)["messages"]] == ["person"]
    settle(said)
    assert len(read(ada, said.turn.session)["messages"]) == 2


def test_a_forgotten_line_is_neither_listed_nor_read(ada):
    session = written(ada, "Her sister lives in Lisbon", answer="Her sister lives in Lisbon, I note.")
    space = Space.objects.own_of(ada)
    apply(space, "MEMORY.md", Append("- Her sister lives in Lisbon\n"), Author(Source.PAGE, ada))
    forget(space, ["- Her sister lives in Lisbon"], ada)
    found = str(value(sessions_list(calling(ada, "sessions_list", said=caller(ada)))))
    assert str(session.pk) in found
    assert len(read(ada, session)["messages"]) == 2
    assert "Lisbon" not in str(read(ada, session)) + found
