"""Versions of a message: said anew or answered again beside the old one, and shown again; nothing is overwritten."""

import json
import uuid

import pytest
from django.core.management import call_command

from chat.context.prompt import api_messages
from chat.conversations import branches, forking, lifecycle, transcript, versions
from chat.conversations.model_choice import Choice, NoSuchModelError
from chat.conversations.shown import read_shown
from chat.live import replay
from chat.models import Message, Turn
from chat.turns import retry
from tests.conversations import send, settle


def words(session):
    return [message.text for message in session.messages.shown()]


def said(ada):
    """A conversation of two turns; (first, second, session)."""
    first = send(ada, "One")
    settle(first, "First")
    second = send(ada, "Two", first.message.session_id)
    settle(second, "Second")
    return first, second, first.message.session


def places(session):
    found = [each.version for each in read_shown(session.messages.shown())]
    return [(version.number, version.total) if version else None for version in found]


def test_an_edited_message_stands_beside_the_old_one_and_what_followed_leaves(ada):
    first, _, session = said(ada)
    edited = branches.edit(ada, first.message.pk, uuid.uuid4(), "Another")
    settle(edited, "Yes")
    assert words(session) == ["Another", "Yes"]
    assert edited.message.parent is None
    assert places(session) == [(2, 2), None]
    assert [message["content"][0]["text"] for message in api_messages(session)] == ["Another", "Yes"]
    everything = Message.objects.order_by("seq").values_list("text", flat=True)
    assert list(everything) == ["One", "First", "Two", "Second", "Another", "Yes"]


def test_what_was_attached_stays_with_an_edited_message(ada):
    first, _, _ = said(ada)
    first.message.content.insert(0, {"type": "attachment", "id": "x"})
    first.message.save()
    edited = branches.edit(ada, first.message.pk, uuid.uuid4(), "Another").message
    assert edited.content == [{"type": "attachment", "id": "x"}, {"type": "text", "text": "Another"}]


def test_any_version_comes_back_with_its_newest_end(ada):
    first, second, session = said(ada)
    edited = branches.edit(ada, second.message.pk, uuid.uuid4(), "Two, but better")
    settle(edited, "Better")
    again, answer = retry.repeat(ada, edited.answer.pk, Turn.Kind.RETRY)
    transcript.finish_turn(again, answer, [{"type": "text", "text": "Best"}], "complete")
    assert (words(session), places(session)) == (
        ["One", "First", "Two, but better", "Best"],
        [None, None, (2, 2), (2, 2)],
    )
    branches.show(ada, second.message.pk)
    assert words(session) == ["One", "First", "Two", "Second"]
    branches.show(ada, edited.message.pk)
    assert words(session)[-1] == "Best"
    branches.show(ada, edited.answer.pk)
    assert words(session)[-1] == "Better"
    following = send(ada, "Go on", session.pk)
    assert following.message.parent == edited.answer
    settle(following)
    branches.show(ada, first.message.pk)
    # From there on, always the newest.
    assert words(session)[-1] == "Best"
    call_command("check_invariants")


def test_an_answer_of_several_messages_is_one_version(ada):
    first = send(ada)
    use = [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]
    results = transcript.finish_round(first.turn, first.answer, use)
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]
    last = transcript.finish_tools(first.turn, first.answer, results, result, {})
    transcript.finish_turn(first.turn, last, [{"type": "text", "text": "Done"}], "complete")
    second, answer = retry.repeat(ada, last.pk, Turn.Kind.RETRY)
    version = versions.version_of(answer)
    assert (version.number, version.before) == (2, first.answer.pk)
    transcript.finish_turn(second, answer, [{"type": "text", "text": "Without"}], "complete")
    session = branches.show(ada, first.answer.pk)
    assert places(session) == [None, (1, 2), (1, 2), (1, 2)]


def test_an_edit_is_stored_once_and_with_one_text(ada):
    first, _, _ = said(ada)
    client_id, holder = uuid.uuid4(), uuid.uuid4()
    edited = branches.edit(ada, first.message.pk, client_id, "Another", holder)
    # Whoever lost only the answer to the commit is given its turn again.
    assert branches.edit(ada, first.message.pk, client_id, "Another", holder).turn == edited.turn
    assert branches.edit(ada, first.message.pk, client_id, "Another").duplicate
    with pytest.raises(transcript.ClientIdConflictError):
        branches.edit(ada, first.message.pk, client_id, "Something else")
    assert Message.objects.filter(text="Another").count() == 1


def test_nothing_moves_while_an_answer_runs(ada):
    first, _, session = said(ada)
    send(ada, "Three", session.pk)
    with pytest.raises(transcript.SessionBusyError):
        branches.edit(ada, first.message.pk, uuid.uuid4(), "Another")
    with pytest.raises(transcript.SessionBusyError):
        branches.show(ada, first.message.pk)
    assert words(session)[:5] == ["One", "First", "Two", "Second", "Three"]


def test_only_a_shown_message_of_ones_own_is_edited(ada, stranger):
    first, second, session = said(ada)
    for number in first.answer.pk, 10**9:
        with pytest.raises(branches.MessageNotShownError):
            branches.edit(ada, number, uuid.uuid4(), "Another")
    for act in (
        lambda: branches.edit(stranger, first.message.pk, uuid.uuid4(), "x"),
        lambda: branches.show(stranger, first.message.pk),
    ):
        with pytest.raises(branches.MessageNotShownError):
            act()
    settle(branches.edit(ada, first.message.pk, uuid.uuid4(), "Another"))
    with pytest.raises(branches.MessageNotShownError):
        branches.edit(ada, second.message.pk, uuid.uuid4(), "Late")
    assert words(session) == ["Another", "Hi"]


# -- By plain requests -----------------------------------------------------------------------------


def posted(client, session, **frame):
    return client.post(f"/c/{session.pk}/frame", json.dumps(frame), content_type="application/json").json()


@pytest.mark.django_db(transaction=True)
def test_a_page_without_a_socket_edits_and_switches_by_frames(client, ada, stranger, scripted):
    first, second, session = said(ada)
    client.force_login(ada)
    fields = {"client_id": str(uuid.uuid4()), "message": str(second.message.pk), "text": "Two, but better"}
    acknowledged = posted(client, session, type="edit", **fields)
    assert (acknowledged["type"], acknowledged["duplicate"]) == ("ack", False)
    assert posted(client, session, type="edit", **fields)["duplicate"]
    assert posted(client, session, type="edit", **(fields | {"text": "No"}))["code"] == "conflict"
    # Its turn ended with the request's loop.
    session.turns.filter(status="running").update(status="complete")
    Message.objects.filter(status="running").update(status="complete")
    # Another page's last message is gone: it fetches the list.
    assert client.get(f"/c/{session.pk}/messages?after=4").status_code == 205
    ready = posted(client, session, type="show", message=str(second.message.pk))
    assert (ready["type"], ready["reset"]) == ("ready", True)
    assert words(session) == ["One", "First", "Two", "Second"]
    client.force_login(stranger)
    assert posted(client, session, type="show", message=str(first.message.pk))["code"] == "not_shown"
    assert posted(client, session, type="edit", **fields)["code"] == "not_shown"


def test_an_edit_asks_the_model_that_is_chosen_for_it(ada, settings):
    settings.MODELS = {"big": "Big"}
    first, _, session = said(ada)
    branches.edit(ada, first.message.pk, uuid.uuid4(), "Another", choice=Choice(model="big"))
    session.refresh_from_db()
    assert session.model == "big"
    second = said(ada)[0]
    with pytest.raises(NoSuchModelError):
        branches.edit(ada, second.message.pk, uuid.uuid4(), "Another", choice=Choice(model="nowhere"))
    assert words(second.message.session) == ["One", "First", "Two", "Second"]


def test_a_page_that_saw_an_answer_begin_which_is_not_shown_any_more_is_out_of_date(ada):
    first = send(ada, "One")
    settle(first, "First")
    session = first.message.session
    turn, answer = retry.repeat(ada, first.answer.pk, Turn.Kind.RETRY)
    # A page that lost its line now shows message 1, and 3 beginning.
    transcript.finish_turn(turn, answer, [], "stopped")
    branches.show(ada, first.answer.pk)
    assert replay.shows_hidden_message(ada.pk, session.pk, 1)
    # Once it has fetched the list, it is not.
    assert not replay.shows_hidden_message(ada.pk, session.pk, 2)


@pytest.mark.parametrize("act", ["show", "retry", "fork", "edit"])
def test_a_conversation_that_is_deleted_just_now_is_not_there(client, ada, monkeypatch, act, transactional_db):
    first = said(ada)[0]
    client.force_login(ada)

    def gone(*arguments):
        raise lifecycle.SessionNotFoundError

    for module in (branches, lifecycle, forking):
        monkeypatch.setattr(module, "lock", gone)
    number = first.answer.pk if act == "retry" else first.message.pk
    answer = client.post(f"/messages/{number}/{act}", {"client_id": uuid.uuid4(), "text": "x"})
    assert answer.status_code == 404
