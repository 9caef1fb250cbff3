"""Conversations over the API: listed, read, organised, and never anybody else's."""

import uuid

import pytest

from chat.conversations import lifecycle, transcript
from chat.models import Agent, ChatSession, Message, Turn
from oneclaw.reasons import verbatim
from oneclaw.web.pagination import encode_cursor
from tests.conversations import FINISHED, TOOL_USE, send, settle
from tests.programs import refusal


def said(user, text="Hello", answer="Hi"):
    """A conversation with one answered message."""
    accepted = send(user, text)
    settle(accepted, answer)
    return ChatSession.objects.get(pk=accepted.message.session_id)


def titles(response):
    return [item["title"] for item in response.json()["items"]]


def test_conversations_are_listed_page_by_page(adas, ada, stranger):
    for title in ("One", "Two", "Three"):
        said(ada, title)
    # Two at the same moment are both seen.
    ChatSession.objects.filter(title="Two").update(active_at=ChatSession.objects.get(title="One").active_at)
    said(stranger, "Secret")
    first = adas.get("/sessions", limit=2)
    assert titles(first)[0] == "Three"
    second = adas.get("/sessions", limit=2, cursor=first.json()["next"])
    assert sorted(titles(first) + titles(second)) == ["One", "Three", "Two"]
    assert second.json()["next"] is None


@pytest.mark.parametrize("parts", [("2026-11-21T20:00:00", str(uuid.UUID(int=1))), (float("inf"),), (), ("x", "y")])
def test_a_cursor_of_somebodys_own_is_refused(adas, parts):
    assert refusal(adas.get("/sessions", cursor=encode_cursor(*parts))) == (422, "invalid")
    revisions = adas.get("/memory/documents/MEMORY.md/revisions", cursor=encode_cursor(*parts))
    assert refusal(revisions)[0] in (404, 422)


def test_archived_temporary_and_deleted_ones_are_not_in_the_list(adas, ada):
    kept, archived, deleted = said(ada, "Kept"), said(ada, "Archived"), said(ada, "Deleted")
    lifecycle.end(archived, "archive")
    lifecycle.delete(deleted)
    settle(transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hidden", mode="temporary"))
    assert titles(adas.get("/sessions")) == [kept.title]
    assert titles(adas.get("/sessions", archived="true")) == [archived.title]


def test_a_conversation_tells_what_was_said_and_what_it_took(adas, ada):
    first = send(ada, "Remember that")
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Saving."}, TOOL_USE]
    results = transcript.finish_round(first.turn, first.answer, content, **FINISHED)
    result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Done."}]
    following = transcript.finish_tools(first.turn, first.answer, results, result, {})
    transcript.finish_turn(
        first.turn,
        following,
        [],
        "failed",
        code="overloaded",
        error=verbatim("The model is busy."),
        usage={"input_tokens": 7},
    )
    response = adas.get(f"/sessions/{first.message.session_id}")
    told = response.json()
    assert (told["title"], told["mode"], told["agent"], told["has_earlier"]) == (
        "Remember that",
        "agent",
        "oneclaw",
        False,
    )
    mine, saving, failed = told["messages"]
    assert (mine["role"], mine["text"], mine["tokens"], mine["tools"]) == ("user", "Remember that", None, [])
    assert (saving["text"], saving["tools"], saving["model"]) == ("Saving.", ["save_memory"], "m")
    assert saving["tokens"] == {"input": 0, "cached": 0, "written_to_cache": 0, "output": 3}
    assert (failed["status"], failed["error"]) == ("failed", {"code": "overloaded", "text": "The model is busy."})
    assert "Hm." not in response.content.decode()


def test_messages_come_page_by_page_after_a_place(adas, ada):
    session = said(ada, "One", "Two")
    settle(send(ada, "Three", session.pk), "Four")
    path = f"/sessions/{session.pk}/messages"
    first = adas.get(path, limit=3).json()
    assert ([item["text"] for item in first["items"]], first["next"]) == (["One", "Two", "Three"], 3)
    second = adas.get(path, after=first["next"], limit=3).json()
    assert ([item["text"] for item in second["items"]], second["next"]) == (["Four"], None)


def test_lists_take_as_many_queries_however_long_they_are(adas, ada, django_assert_num_queries):
    session = said(ada)
    for number in range(3):
        said(ada, f"Other {number}")
        settle(send(ada, "More", session.pk))
    adas.get("/me")
    # The key, the list, and the sums of the usage.
    with django_assert_num_queries(3):
        adas.get("/sessions")
    with django_assert_num_queries(3):
        adas.get(f"/sessions/{session.pk}/messages")


def test_reading_by_a_program_leaves_a_conversation_unread(adas, ada):
    session = said(ada)
    adas.get(f"/sessions/{session.pk}")
    session.refresh_from_db()
    assert session.is_unread


def test_a_conversation_is_renamed_pinned_and_archived(adas, ada):
    session = said(ada)
    path = f"/sessions/{session.pk}"
    told = adas.patch(path, title=" Tea  time ", pinned=True).json()
    assert (told["title"], told["pinned"], told["archived"]) == ("Tea time", True, False)
    told = adas.patch(path, pinned=False, archived=True).json()
    assert (told["title"], told["pinned"], told["archived"], told["ended"]) == ("Tea time", False, True, True)
    assert adas.patch(path, archived=False).json()["archived"] is False
    session.refresh_from_db()
    assert session.titled_by == "person"


@pytest.mark.parametrize(("title", "code"), [(" ", "empty"), ("x" * 201, "too_long"), ("\0", "bad_text")])
def test_a_title_that_cannot_be_is_refused_and_nothing_changes(adas, ada, title, code):
    session = said(ada)
    assert refusal(adas.patch(f"/sessions/{session.pk}", title=title, pinned=True)) == (422, code)
    session.refresh_from_db()
    assert (session.title, session.pinned_at) == ("Hello", None)


def test_a_deleted_conversation_is_gone_until_it_is_restored(adas, ada):
    session = said(ada)
    path = f"/sessions/{session.pk}"
    assert adas.delete(path).status_code == 204
    assert refusal(adas.get(path)) == (404, "not_found")
    assert refusal(adas.delete(path)) == (404, "not_found")
    assert adas.post(f"{path}/restore").json()["title"] == "Hello"
    assert len(adas.get(path).json()["messages"]) == 2


def test_a_temporary_one_is_read_by_its_id_and_deleted_for_good(adas, ada):
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hidden", mode="temporary")
    settle(accepted)
    path = f"/sessions/{accepted.message.session_id}"
    assert adas.get(path).json()["mode"] == "temporary"
    for change in ({"archived": True}, {"pinned": True}):
        assert refusal(adas.patch(path, **change)) == (409, "temporary")
    adas.delete(path)
    assert not Message.objects.exists()
    assert refusal(adas.post(f"{path}/restore")) == (404, "not_found")


def test_stop_is_asked_of_what_runs(adas, ada):
    accepted = send(ada)
    assert adas.post(f"/sessions/{accepted.message.session_id}/stop").status_code == 202
    assert Turn.objects.get().stop_requested


def test_nothing_of_another_person_is_there(strangers, ada):
    accepted = send(ada, "Secret")
    path = f"/sessions/{accepted.message.session_id}"
    nothing = f"/sessions/{uuid.uuid4()}"
    for method, end, body in (
        ("get", "", None),
        ("get", "/messages", None),
        ("patch", "", {"title": "Mine"}),
        ("delete", "", None),
        ("post", "/restore", None),
        ("post", "/stop", None),
    ):
        theirs, nobodys = (strangers.send(method, each + end, body) for each in (path, nothing))
        assert refusal(theirs) == refusal(nobodys) == (404, "not_found"), (method, end)
        assert theirs.content == nobodys.content
    lifecycle.delete(accepted.message.session)
    assert refusal(strangers.post(f"{path}/restore")) == (404, "not_found")
    session = ChatSession.objects.get()
    assert (session.title, Turn.objects.get().stop_requested) == ("Secret", True)
    assert session.deleted_at is not None
    assert titles(strangers.get("/sessions")) == []


def test_agents_and_models_that_may_be_named(adas, strangers, ada, scripted, settings):
    settings.MODELS = {"other": "Another one"}
    Agent.objects.create(owner=ada, slug="mine", name="Mine", model="other")
    mine = [(each["slug"], each["model"], each["is_default"], each["is_own"]) for each in adas.get("/agents").json()]
    assert mine == [("oneclaw", settings.MODEL, True, False), ("mine", "other", False, True)]
    assert [each["slug"] for each in strangers.get("/agents").json()] == ["oneclaw"]
    models = {each["name"]: (each["label"], each["is_default"], each["efforts"]) for each in adas.get("/models").json()}
    levels = ["low", "medium", "high", "xhigh", "max"]
    assert models == {settings.MODEL: (settings.MODEL, True, levels), "other": ("Another one", False, [])}


def test_a_message_says_who_wrote_it_in_the_persons_place_or_by_itself(adas, ada):
    session = said(ada, "Hello", "Good morning")
    for seq, meta in (1, {"by": "session", "origin": str(uuid.uuid4())}), (2, {"by": "schedule", "at": "09:30"}):
        Message.objects.filter(session=session, seq=seq).update(meta=meta)
    settle(send(ada, "And me?", session.pk))
    items = adas.get(f"/sessions/{session.pk}/messages").json()["items"]
    assert [(item["role"], item["by"]) for item in items] == [
        ("user", "session"),
        ("assistant", "schedule"),
        ("user", ""),
        ("assistant", ""),
    ]
