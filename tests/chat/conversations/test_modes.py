"""How a conversation uses memory is chosen with its first message; a temporary one leaves nothing behind."""

import datetime as dt
import json
import re
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from chat import tasks
from chat.conversations import lifecycle, temporary, transcript
from chat.library import search
from chat.library.organise import organise
from chat.live.errors import FrameError
from chat.live.frames import SendFrame, frame_of
from chat.models import ChatSession, Message, MessageWords, Turn
from oneclaw.models import User
from oneclaw.threads import in_database
from tests.conversations import send, settle, summarise


def begin(user, mode, text="Hello"):
    accepted = transcript.accept(user, uuid.uuid4(), uuid.uuid4(), text, mode=mode)
    settle(accepted)
    return ChatSession.objects.get(pk=accepted.message.session_id)


def words_left(session):
    session.refresh_from_db()
    left = session.messages.count() + session.turns.count() + session.context_rounds.count()
    return left, session.title, session.heads.count(), session.last_seq


@pytest.mark.parametrize("mode", ["agent", "chat", "temporary"])
def test_the_first_message_decides_the_mode(ada, mode):
    assert begin(ada, mode).mode == mode


@pytest.mark.parametrize(
    ("asked", "mode"),
    [("?mode=temporary", "temporary"), ("?mode=chat", "chat"), ("?mode=%22root", "agent"), ("?mode=", "agent")],
)
def test_the_address_may_name_the_mode_to_begin_with(client, ada, asked, mode):
    client.force_login(ada)
    page = client.get(f"/{asked}").content.decode()
    assert f'data-mode="{mode}"' in page
    assert re.findall(r'<option value="(\w+):all"[^>]*\sselected', page.partition('<select id="use"')[2]) == [mode]


def test_without_a_word_of_it_a_conversation_reads_and_writes(ada):
    assert send(ada).message.session.mode == "agent"


def test_the_mode_cannot_be_changed_after_the_first_message(ada):
    session = begin(ada, "temporary")
    with pytest.raises(transcript.OtherModeError):
        transcript.accept(ada, session.pk, uuid.uuid4(), "More", mode="agent")
    assert Message.objects.filter(text="More").count() == 0
    assert not transcript.accept(ada, session.pk, uuid.uuid4(), "More", mode="temporary").duplicate


def test_a_later_message_need_not_name_the_mode(ada):
    session = begin(ada, "chat")
    assert send(ada, "More", session.pk).message.session.mode == "chat"


def test_a_mode_that_is_none_is_refused():
    written = {"client_id": str(uuid.uuid4()), "session": str(uuid.uuid4()), "text": "Hello"}
    assert frame_of(SendFrame, **written).mode is None
    for nonsense in ("other", 3, [], ""):
        with pytest.raises(FrameError, match="agent, chat or temporary"):
            frame_of(SendFrame, **written, mode=nonsense)


async def test_forms_and_posted_frames_carry_the_mode(transactional_db, async_client, scripted):
    ada = await in_database(User.objects.create_user, "ada@example.org")
    await async_client.aforce_login(ada)
    by_form, by_frame = uuid.uuid4(), uuid.uuid4()

    async def post(session, **fields):
        return await async_client.post(f"/c/{session}/send", {"client_id": str(uuid.uuid4()), "text": "Hi"} | fields)

    async def frame(session, **fields):
        told = {"type": "send", "client_id": str(uuid.uuid4()), "text": "Hi"} | fields
        return (
            await async_client.post(f"/c/{session}/frame", json.dumps(told), content_type="application/json")
        ).json()

    assert (await post(by_form, use="nonsense:all")).status_code == 400
    assert (await post(by_form, use="temporary:all")).status_code == 302
    assert (await frame(by_frame, mode="chat"))["type"] == "ack"
    modes = {pk: mode async for pk, mode in ChatSession.objects.values_list("pk", "mode")}
    assert modes == {by_form: "temporary", by_frame: "chat"}
    refused = await post(by_form, use="agent:all")
    assert (refused.status_code, "started in another mode" in refused.content.decode()) == (409, True)
    assert (await frame(by_frame, mode="agent"))["code"] == "other_mode"


def test_the_page_says_which_mode_a_conversation_has(ada, client):
    client.force_login(ada)
    marks = {"agent": "", "chat": "Chat only: memory is read, not written", "temporary": "Temporary: nothing is saved"}
    for mode, mark in marks.items():
        shown = client.get(begin(ada, mode).get_absolute_url()).content.decode()
        assert ("data-mode-mark" in shown, mark in shown, 'value="temporary:all"' in shown) == (True, True, False)
        others = [other for other in marks.values() if other and other != mark]
        assert not any(other in shown for other in others)
    assert '<option value="temporary:all"' in client.get("/").content.decode()


def test_a_temporary_conversation_is_not_listed(ada, client):
    client.force_login(ada)
    kept, hidden = begin(ada, "chat", "Listed tea"), begin(ada, "temporary", "Hidden tea")
    assert list(ChatSession.objects.visible_to(ada).listed()) == [kept]
    assert "Hidden tea" not in client.get(reverse("sessions")).content.decode()
    assert client.get(hidden.get_absolute_url()).status_code == 200


def test_a_temporary_conversation_is_not_found_by_its_words(ada):
    kept, _ = begin(ada, "chat", "Listed tea"), begin(ada, "temporary", "Hidden tea")
    assert [found.message.session for found in search.messages(ada, "tea")] == [kept]
    assert set(MessageWords.objects.values_list("message__session", flat=True)) == {kept.pk}
    assert search.titles(ada, "tea") == [kept]


@pytest.mark.parametrize("how", ["end", "archive", "new", "reset"])
def test_the_end_of_a_temporary_conversation_erases_it(ada, client, how):
    session = begin(ada, "temporary", "A secret")
    summarise(session, 2, "A secret was told.")
    lifecycle.end(session, how)
    assert words_left(session) == (0, "", 0, 0)
    client.force_login(ada)
    assert client.get(session.get_absolute_url()).status_code == 404
    assert organise(ada, [session.pk], "restore") == 0
    with pytest.raises(lifecycle.SessionNotFoundError):
        send(ada, "More", session.pk)


def test_the_end_of_another_one_erases_nothing(ada):
    for mode in ("agent", "chat"):
        session = begin(ada, mode)
        lifecycle.end(session, "end")
        assert temporary.erase(session.pk)
        assert session.messages.count() == 2


def test_while_an_answer_runs_it_is_stopped_and_the_sweep_erases_what_is_left(ada):
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", mode="temporary")
    session = accepted.message.session
    summarise(session, 1, "", used=False, status="queued", used_at=None, steps=["A secret was told."])
    lifecycle.end(session, "end")
    assert not session.context_rounds.exists()
    assert Turn.objects.get().stop_requested
    assert temporary.sweep() == 0
    settle(accepted, status="stopped")
    tasks.sweep()
    assert words_left(session) == (0, "", 0, 0)


def test_one_that_nobody_ends_is_erased_a_day_after_its_last_message(ada, settings):
    session = begin(ada, "temporary")
    other = begin(ada, "agent")
    long_ago = timezone.now() - dt.timedelta(hours=settings.TEMPORARY_HOURS)
    ChatSession.objects.update(active_at=long_ago + dt.timedelta(minutes=1))
    assert temporary.sweep() == 0
    ChatSession.objects.update(active_at=long_ago - dt.timedelta(minutes=1))
    assert temporary.sweep() == 1
    assert words_left(session) == (0, "", 0, 0)
    assert other.messages.count() == 2
    assert temporary.sweep() == 0
