"""Who was removed from a space keeps its memory nowhere: not on a page, not in the API, not towards the model."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from chat.context import results
from chat.context.lost import LOST_KEY, addresses_of_results
from chat.context.prompt import build_request
from chat.context.view import ViewRow
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession, Message
from memory.access.former import addresses_in
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.tools.get import GET
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces import lifecycle, members
from tests.conversations import send, settle
from tests.programs import Program

CURATED, RECALLED, FOUND = "zqcurated lives in the vault", "zqrecalled camomile tea at nine", "zqfound in the cellar"
WORDS = ("zqcurated", "zqrecalled", "zqfound")


@pytest.fixture
def team(ada, stranger) -> Space:
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room", kind="team"))
    members.add_by_email(space, stranger.email, "editor")
    for path, line in (("MEMORY.md", CURATED), ("notes/tea.md", RECALLED)):
        write.apply(space, path, Append(f"- {line}"), Author(Source.PAGE, ada))
    return space


@pytest.fixture
def answer(stranger, team) -> Message:
    """An answer in a private conversation of the stranger in the space, with its recalled lines and a search."""
    accepted = send(stranger, "When is the camomile tea?")
    session = accepted.message.session
    session.space = team
    session.save(update_fields=["space"])
    build_request(accepted.turn)
    answer = settle(accepted, "At nine.")
    message = Message.objects.get(pk=accepted.message.pk)
    item = {"kind": "recalled", "path": f"spaces/{team.pk}/notes/tea.md", "revision": 1, "lines": [1, 1]}
    own = {"kind": "recalled", "path": "notes/own.md", "revision": 1, "lines": [1, 1], "text": "zqown stays"}
    message.meta = message.meta | {"context": {"memory": [item | {"text": f"- {RECALLED}"}, own]}}
    message.save(update_fields=["meta"])
    result = {"results": [{"path": f"spaces/{team.pk}/cellar.md", "start_line": 1, "end_line": 1, "snippet": FOUND}]}
    call = {"type": "tool_use", "id": "call_1", "name": "memory_search", "input": {"query": "tea"}}
    answer_row = Message.objects.get(session=session, role="assistant")
    Message.objects.filter(pk=answer_row.pk).update(content=[call])
    second = send(stranger, "And then?", session.pk)
    Message.objects.filter(session=session, role="tool").delete()
    settle(second, "Later.")
    card = {"state": "done", "summary": "Found", "lines": [FOUND], "result": json.dumps(result)}
    Message.objects.create(
        session=session,
        meta={"cards": {"call_1": card}},
        seq=900,
        role="tool",
        status="complete",
        parent=answer_row,
        content=[{"type": "tool_result", "tool_use_id": "call_1", "content": json.dumps(result)}],
    )
    del answer
    return answer_row


def pages_of(answer: Message, person) -> dict[str, str]:
    client = Client()
    client.force_login(person)
    session = answer.session_id
    question = answer.parent_id
    shown = {}
    for path in (
        f"/c/{session}/context",
        f"/c/{session}/context.json",
        f"/messages/{answer.pk}/context",
        f"/messages/{answer.pk}/context.json",
        f"/messages/{answer.pk}/details",
        f"/messages/{question}/details",
        f"/messages/{answer.pk}/memories",
        f"/c/{session}",
    ):
        shown[path] = client.get(path).content.decode()
    shown["api"] = json.dumps(Program(person).get(f"/sessions/{session}/context").json())
    return shown


def test_what_came_from_a_space_is_shown_to_its_members_only(stranger, team, answer):
    before = pages_of(answer, stranger)
    seen = {word for page in before.values() for word in WORDS if word in page}
    assert seen >= {"zqcurated", "zqrecalled"}
    SpaceMember.objects.filter(space=team, user=stranger).delete()
    after = pages_of(answer, stranger)
    assert [(path, word) for path, page in after.items() for word in WORDS if word in page] == []
    assert "Left out: 1 passages" in after[f"/c/{answer.session_id}/context"]
    assert "What you may not read any more is left out" in after[f"/messages/{answer.pk}/context"]
    assert "What you may not read any more is left out" not in before[f"/messages/{answer.pk}/context"]
    assert "zqown" in after[f"/c/{answer.session_id}/context"]
    assert "of a memory that you cannot read any more" in after[f"/messages/{answer.parent_id}/details"]
    # Who is a member again finds it again: the rows have kept it.
    members.add_by_email(team, stranger.email, "reader")
    again = pages_of(answer, stranger)
    assert "zqrecalled" in again[f"/c/{answer.session_id}/context"]


def test_the_next_request_has_nothing_of_it_and_no_thinking_bound_to_it(stranger, team, answer):
    third = send(stranger, "Go on.", answer.session_id)
    SpaceMember.objects.filter(space=team, user=stranger).delete()
    request = build_request(third.turn)
    sent = json.dumps([request.system, request.messages, list(request.tools)])
    assert [word for word in WORDS if word in sent] == []
    assert "Left out: 1 passages" in sent
    assert "zqown" in sent
    question = Message.objects.get(pk=answer.parent_id)
    assert question.meta[LOST_KEY]["items"] == 1
    question.session.refresh_from_db()
    assert question.session.thinking_after_seq > 0


def test_nor_is_an_earlier_result_read_again_by_its_address(stranger, team, answer):
    session = ChatSession.objects.select_related("owner", "agent").get(pk=answer.session_id)
    assert FOUND in results.text_of_call(session, "call_1")
    SpaceMember.objects.filter(space=team, user=stranger).delete()
    with pytest.raises(ToolError):
        results.text_of_call(session, "call_1")


def read(session: ChatSession, path: str, **lines) -> dict:
    return GET.call(ToolCall("t", GET.name, {"path": path, **lines}, session.owner, session, None)).content


def test_the_address_of_a_result_leads_to_nothing_of_it(stranger, team, answer):
    session = ChatSession.objects.get(pk=answer.session_id)
    assert FOUND in read(session, "/results/call_1")["text"]
    SpaceMember.objects.filter(space=team, user=stranger).delete()
    with pytest.raises(ToolError, match="There is no result of a call"):
        read(session, "/results/call_1")


def test_a_part_of_a_result_leaves_with_the_whole():
    def row(seq, role, block):
        return ViewRow(seq, role, [block], {}, timezone.now(), None)

    def rows_of(id, name, arguments, content):
        yield row(1, "assistant", {"type": "tool_use", "id": id, "name": name, "input": arguments})
        yield row(2, "tool", {"type": "tool_result", "tool_use_id": id, "content": content})

    rows = [
        *rows_of("one", "memory_search", {"query": "tea"}, '{"path": "spaces/7/a.md"}'),
        *rows_of("two", "memory_get", {"path": "/results/one", "from_line": 9}, '{"text": "in the cellar"}'),
        *rows_of("three", "memory_get", {"path": "own.md"}, '{"text": "mine"}'),
    ]
    assert dict(addresses_of_results(rows)) == {"one": {"spaces/7/"}, "two": {"spaces/7/"}}


def test_results_name_what_they_are_of():
    part = json.dumps({"text": json.dumps({"document": 12})})
    assert addresses_in(part) == {"/d/12"}
    found = json.dumps({"results": [{"path": "spaces/7/a.md"}, {"path": "notes/b.md"}, {"document": 12}]})
    assert addresses_in(found) == {"spaces/7/", "/d/12"}
    assert addresses_in(json.dumps({"path": "/results/call_1", "text": found})) == {"spaces/7/", "/d/12"}
    conversation = "/c/0b6d1f4e-0000-4000-8000-000000000001"
    assert addresses_in(json.dumps({"path": conversation})) == {conversation}
