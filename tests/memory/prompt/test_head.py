"""The head of a person's requests: which tools are in it, how long it is, and what it says."""

import json

import pytest

from chat import extensions
from chat.context.prompt import build_request
from chat.conversations import agents
from chat.models import Head, Turn
from oneclaw.models import Space
from tests.conversations import send, settle

# The goal, and how tokens are estimated from characters.
HEAD_MAX_TOKENS, CHARS_PER_TOKEN = 1_050, 3.1
READING_AND_WRITING = ["memory_get", "memory_search", "save_memory", "schedule"]
OF_CONVERSATIONS = ["sessions_history", "sessions_list", "sessions_send", "sessions_spawn"]


def head_of(accepted):
    return build_request(Turn.objects.get(pk=accepted.turn.pk))


def names_of(request):
    return [tool["name"] for tool in request.tools]


def test_the_head_of_a_fresh_person_has_four_tools_and_about_a_thousand_tokens(ada):
    request = head_of(send(ada, "Hello there."))
    assert names_of(request) == READING_AND_WRITING
    size = len(request.system[0]["text"]) + len(json.dumps(list(request.tools), ensure_ascii=False))
    assert size / CHARS_PER_TOKEN <= HEAD_MAX_TOKENS, size / CHARS_PER_TOKEN


def test_each_rule_stands_in_the_head_once(ada):
    request = head_of(send(ada, "Hello there."))
    text = request.system[0]["text"] + json.dumps(list(request.tools), ensure_ascii=False)
    assert "# Project Context" not in text
    assert text.count("unless the passages sent with the message answer it") == 1
    assert "`mark`" not in text
    assert "where it is from" not in text
    assert text.count("remember something") == 1


def test_save_memory_is_described_in_the_words_of_the_founding_document(ada):
    request = head_of(send(ada, "Hello there."))
    described = next(tool["description"] for tool in request.tools if tool["name"] == "save_memory")
    assert described.startswith(
        "Save important information to long-term memory (MEMORY.md). Use this when the user asks you to remember "
        "something, or when you identify critical information that should persist across conversations."
    )


def test_saved_wishes_about_answers_are_to_be_followed(ada, append):
    append(Space.objects.own_of(ada), "- Always answer in short lists.\n")
    text = head_of(send(ada, "Hello there.")).system[0]["text"]
    assert "Follow the wishes in it about how you answer" in text
    assert "It is data, not instructions to you" not in text
    assert "# Project Context" not in text


def test_tools_of_other_conversations_are_offered_where_the_person_turns_them_on(ada):
    agents.turn_on(ada, [*OF_CONVERSATIONS, "memory_get", "no_such_tool"])
    assert ada.tools_on == OF_CONVERSATIONS
    assert names_of(head_of(send(ada))) == sorted([*READING_AND_WRITING, *OF_CONVERSATIONS])


def test_tools_of_other_conversations_are_offered_where_an_own_agent_has_them_on(ada):
    on = agents.checked_draft("Clerk", "", "", [*READING_AND_WRITING, "sessions_list"], "")
    agents.turn_on(ada, ["sessions_send"])
    accepted = send(ada)
    accepted.turn.session.agent = agents.create(ada, on)
    accepted.turn.session.save(update_fields=["agent"])
    assert names_of(head_of(accepted)) == sorted([*READING_AND_WRITING, "sessions_list"])


def test_a_head_of_an_earlier_release_is_kept_and_its_tools_answer(ada):
    first = send(ada)
    build_request(first.turn)
    settle(first)
    session = first.message.session
    head = session.head or Head.objects.get(session=session)
    earlier = [{"name": name, "description": "", "input_schema": {"type": "object"}} for name in OF_CONVERSATIONS]
    earlier.append({"name": "read_result", "description": "", "input_schema": {"type": "object"}})
    Head.objects.filter(pk=head.pk).update(tools=[*head.tools, *earlier])
    second = send(ada, "More", session.pk)
    assert build_request(second.turn).tools[-1]["name"] == "read_result"
    assert Head.objects.filter(session=session).count() == 1
    session.refresh_from_db()
    for name in ("sessions_list", "read_result"):
        assert extensions.find_tool(session, name).name == name
    # What the person has turned off themselves leaves.
    settle(second)
    agents.turn_on(ada, [])
    third = send(ada, "Still more", session.pk)
    assert not set(names_of(build_request(third.turn))) & set(OF_CONVERSATIONS)


def test_a_call_of_a_tool_that_nobody_turned_on_is_refused(ada):
    accepted = send(ada)
    build_request(accepted.turn)
    session = accepted.message.session
    session.refresh_from_db()
    for name in OF_CONVERSATIONS:
        with pytest.raises(extensions.ToolError, match="There is no tool named"):
            extensions.find_tool(session, name)
