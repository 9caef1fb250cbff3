"""The socket protocol, from a client's side, with the real consumer and a scripted model."""

import asyncio
import json
import threading
import time
import uuid

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import Client as Browser
from django.utils.functional import SimpleLazyObject

from chat.conversations import lifecycle, transcript
from chat.live import replay, rooms
from chat.live.consumer import ChatConsumer
from chat.live.server_frames import ready_frame
from chat.models import ChatSession, Message, Turn
from chat.turns.running import running_turns, shutdown
from oneclaw import pubsub
from oneclaw.threads import in_database
from tests import scripted as model
from tests.conversations import abandon, send
from tests.summaries import conversation

pytestmark = pytest.mark.django_db(transaction=True)


class Client:
    """One socket of one person."""

    def __init__(self, user):
        self.socket = WebsocketCommunicator(ChatConsumer.as_asgi(), "/ws/")
        self.socket.scope["user"] = user
        self.seen = []

    async def __aenter__(self):
        connected, _ = await self.socket.connect()
        assert connected
        return self

    async def __aexit__(self, *error):
        await self.socket.disconnect()

    async def say(self, kind, **fields):
        await self.socket.send_to(text_data=json.dumps({"type": kind, **fields}))

    async def hear(self, kind, **fields):
        """The next frame of this kind with these fields; what comes before it is kept in `seen`."""
        while True:
            frame = json.loads(await self.socket.receive_from(timeout=5))
            self.seen.append(frame)
            if frame["type"] == kind and fields.items() <= frame.items():
                return frame

    async def open(self, session=None, last_seq=0):
        await self.say("open", session=session and str(session), last_seq=last_seq)
        return uuid.UUID((await self.hear("ready"))["session"])

    async def send(self, session, text, client_id=None):
        client_id = str(client_id or uuid.uuid4())
        await self.say("send", client_id=client_id, session=str(session), text=text)
        return await self.hear("ack", client_id=client_id)

    async def ask(self, session, text):
        """Send, and wait for the end of the turn."""
        await self.send(session, text)
        return await self.hear("done", final=True)


async def idle():
    """Wait until no turn runs in this process."""
    from chat.turns.running import running_turns

    while running_turns:
        await asyncio.sleep(0.01)


async def read(room):
    """Wait until this room has read the rows that it was told to read."""
    while room._catching_up is not None:
        await asyncio.sleep(0.01)


async def test_a_conversation(ada, scripted):
    scripted.script(model.answer(model.text("Good **morning**")))
    async with Client(ada) as client:
        session = await client.open()
        ack = await client.send(session, "Hello")
        assert (ack["seq"], ack["duplicate"]) == (1, False)
        done = await client.hear("done", final=True)
    assert done["status"] == "complete"
    kinds = [frame["type"] for frame in client.seen]
    assert kinds.index("ack") < kinds.index("done")
    assert kinds.index("message") < kinds.index("block") < kinds.index("done")
    final = [frame for frame in client.seen if frame["type"] == "message"][-1]
    assert "<strong>morning</strong>" in final["html"]
    stored = await in_database(lambda: list(Message.objects.order_by("seq").values_list("role", "text", "status")))
    assert stored == [("user", "Hello", "complete"), ("assistant", "Good **morning**", "complete")]


async def test_a_stranger_without_sign_in_is_turned_away():
    socket = WebsocketCommunicator(ChatConsumer.as_asgi(), "/ws/")
    socket.scope["user"] = AnonymousUser()
    await socket.connect()
    assert (await socket.receive_output())["code"] == 4401


async def test_the_page_of_who_was_signed_in_before_is_turned_away(ada, stranger):
    async with Client(ada) as client:
        await client.say("open", session=None, person=str(ada.pk))
        await client.hear("ready")
        await client.say("open", session=None, person=str(stranger.pk))
        assert (await client.socket.receive_output(timeout=5))["code"] == 4401


async def test_the_first_block_leaves_before_the_answer_is_whole(ada, scripted):
    scripted.script(model.answer(model.text(["First.", " Second."], pace=0.5)))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        block = await client.hear("block")
        assert "First." in block["html"]
        assert "Second" not in block["html"]
        await client.hear("done", final=True)


async def test_fewer_frames_are_sent_while_the_event_loop_is_late_and_nothing_is_missing(ada, scripted):
    words = [f"word{number} " for number in range(300)]
    scripted.script(model.answer(model.text(words, pace=0.01)))
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "Hello")
        turn = asyncio.ensure_future(client.hear("done", final=True))
        turns_of_the_loop = 0
        while not turn.done():
            time.sleep(0.2)  # noqa: ASYNC251 - blocks the loop
            turns_of_the_loop += 1
            for _ in range(20):
                await asyncio.sleep(0)
        blocks = [frame for frame in client.seen if frame["type"] == "block"]
    # A frame each 83 ms would be one each time.
    assert len(blocks) <= turns_of_the_loop / 2 + 2
    final = [frame for frame in client.seen if frame["type"] == "message"][-1]
    assert "".join(words).strip() in final["html"]


async def test_a_resend_is_answered_with_the_same_id(ada, scripted):
    client_id = uuid.uuid4()
    async with Client(ada) as client:
        session = await client.open()
        first = await client.send(session, "Hello", client_id)
        await client.hear("done", final=True)
        again = await client.send(session, "Hello", client_id)
    assert (again["message"], again["duplicate"]) == (first["message"], True)
    assert len(scripted.messages) == 1


async def test_the_same_client_id_with_another_text_is_a_conflict(ada, scripted):
    client_id = str(uuid.uuid4())
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "Hello", client_id)
        await client.hear("done", final=True)
        await client.say("send", client_id=client_id, session=str(session), text="Other")
        error = await client.hear("error")
    assert (error["code"], error["client_id"]) == ("conflict", client_id)


async def test_the_mode_travels_with_the_first_message_and_a_page_of_what_is_gone_is_told_so(ada, scripted):
    async with Client(ada) as client:
        session = await client.open()
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="Hello", mode="temporary")
        await client.hear("done", final=True)
        assert (await in_database(ChatSession.objects.get)).mode == "temporary"
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="More", mode="agent")
        assert (await client.hear("error"))["code"] == "other_mode"
        await client.say("open", session=str(uuid.uuid4()), last_seq=2)
        assert (await client.hear("error"))["code"] == "not_found"


async def test_stop_keeps_the_partial_answer(ada, scripted):
    scripted.script(model.answer(model.text(["One.", " Two."] + [" more"] * 200, pace=0.1)))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        await client.hear("block")
        await client.say("stop", message=None)
        done = await client.hear("done", final=True)
    assert done["status"] == "stopped"
    answer = await in_database(Message.objects.get, role="assistant")
    assert answer.text.startswith("One.")
    assert answer.status == "stopped"


async def test_a_closed_socket_does_not_end_the_turn(ada, scripted):
    scripted.script(model.answer(model.text(["Still", " here", "."], pace=0.1)))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
    await idle()
    answer = await in_database(Message.objects.get, role="assistant")
    assert (answer.text, answer.status) == ("Still here.", "complete")


async def test_a_message_whose_socket_breaks_while_it_is_stored_is_answered(ada, scripted):
    taken, free = threading.Event(), threading.Event()

    @transaction.atomic
    def keep_the_session_locked(session):
        ChatSession.objects.select_for_update().get(pk=session)
        taken.set()
        assert free.wait(10)

    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        locked = asyncio.create_task(in_database(keep_the_session_locked, session))
        await asyncio.to_thread(taken.wait, 10)
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="And then?")
        await asyncio.sleep(0.2)
        client.socket.stop(exceptions=False)
    free.set()
    await locked
    while not await in_database(Turn.objects.filter(prompt__text="And then?", status="complete").exists):
        await asyncio.sleep(0.01)


async def test_a_message_to_another_conversation_leaves_the_open_one_in_view(ada, scripted):
    scripted.script(model.answer(model.text(["One. ", "Two. ", "Three."], pace=0.2)), model.answer("Elsewhere."))
    async with Client(ada) as client:
        other, session = await client.open(), await client.open()
        await client.send(session, "Hello")
        await client.hear("block")
        await client.send(other, "Not here")
        await client.hear("done", final=True)
    assert all("Not here" not in frame.get("html", "") for frame in client.seen)
    assert "Three." in [frame["html"] for frame in client.seen if frame["type"] == "message"][-1]


async def test_a_second_tab_sees_the_running_answer_from_its_start(ada, scripted):
    scripted.script(model.answer(model.text(["One. ", "Two. ", "Three."], pace=0.3)))
    async with Client(ada) as first, Client(ada) as second:
        session = await first.open()
        await first.send(session, "Hello")
        # Its thinking comes first.
        while "One." not in (await first.hear("block"))["html"]:
            pass
        await second.open(session)
        while not (block := await second.hear("block"))["html"]:
            pass
        assert "One." in block["html"]
        await second.hear("done", final=True)
    html = [frame["html"] for frame in second.seen if frame["type"] == "message"][-1]
    assert "One. Two. Three." in html


async def test_a_reader_is_not_closed_by_a_replay_however_large(ada, scripted):
    large = "Many words. " * 20_000
    # More than max_tokens: an iterator is not counted by the server.
    running = iter([f"{large}\n\n", large] * 2)
    scripted.script(model.answer(model.text(iter([large]))), model.answer(model.text(running, pace=0.3)))
    async with Client(ada) as first, Client(ada) as second:
        session = await first.open()
        await first.ask(session, "One")
        await first.send(session, "Two")
        running = (await first.hear("block"))["message"]
        await second.open(session)
        for client in (first, second):
            await client.hear("done", message=running, status="complete")
    for client in (first, second):
        shown = [frame["html"] for frame in client.seen if frame["type"] == "message"][-1]
        assert shown.count("Many words.") == 80_000
    # The running answer came as it was, and not also as it had been saved.
    replayed = [frame for frame in second.seen if frame["type"] == "message" and frame["seq"] == 4]
    assert ["Many words." in frame["html"] for frame in replayed] == [False, True]


async def test_a_page_that_lacks_very_much_text_is_told_to_fetch_the_list(ada, scripted, monkeypatch):
    monkeypatch.setattr(replay, "REPLAY_MAX_CHARS", 1000)
    scripted.script(model.answer("Many words. " * 100))
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "One")
        await client.say("open", session=str(session), last_seq=0)
        assert await client.hear("ready") == ready_frame(session, 2, reset=True)
        await client.say("open", session=str(session), last_seq=2)
        assert await client.hear("ready") == ready_frame(session, 2, reset=False)


async def test_an_answer_that_was_ended_elsewhere_stays_ended_for_who_opens_it_then(ada, scripted):
    scripted.script(model.answer(model.text(["One. "] + ["more "] * 100, pace=0.1)))
    async with Client(ada) as client, Client(ada) as late:
        ack = await client.send(await client.open(), "Hello")
        (running,) = running_turns
        await in_database(abandon, running.turn)
        await in_database(transcript.sweep)
        await late.open(running.turn.session_id, last_seq=ack["seq"])
        await late.hear("done", status="interrupted")
        await idle()
        shown = [frame["html"] for frame in late.seen if frame["type"] == "message"]
    assert 'data-status="interrupted"' in shown[-1]


async def test_open_replays_only_what_is_missing(ada, scripted):
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "One")
        await client.ask(session, "Two")
    async with Client(ada) as again:
        await again.open(session, last_seq=2)
        await again.hear("done")
    messages = [frame["seq"] for frame in again.seen if frame["type"] == "message"]
    assert messages == [3, 4]


async def test_a_page_that_is_far_behind_is_told_to_fetch_the_list(ada, scripted, monkeypatch):
    monkeypatch.setattr(replay, "REPLAY_MAX_MESSAGES", 2)
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "One")
        await client.ask(session, "Two")
        await client.say("open", session=str(session), last_seq=1)
        assert await client.hear("ready") == ready_frame(session, 4, reset=True)
        await client.say("open", session=str(session), last_seq=4)
        assert await client.hear("ready") == ready_frame(session, 4, reset=False)


async def test_attempts_that_nobody_sees_do_not_make_a_page_far_behind(ada, scripted, monkeypatch):
    monkeypatch.setattr(replay, "REPLAY_MAX_MESSAGES", 2)
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "One")
        await idle()
        await read(rooms.room_of(ada.pk, session))
        await in_database(Message.objects.filter(role="assistant").update, active=False)
        for _ in range(3):
            await in_database(lambda: transcript.append(ChatSession.objects.get(), "assistant", active=False))
        await client.say("open", session=str(session), last_seq=1)
        assert await client.hear("ready") == ready_frame(session, 5, reset=False)


async def test_every_tab_fetches_the_list_when_an_answer_is_tried_again(ada, scripted):
    async with Client(ada) as client, Client(ada) as other:
        session = await client.open()
        failed = await client.ask(session, "Hello")
        await other.open(session)
        await client.say("retry", message=failed["message"])
        assert (await other.hear("ready"))["reset"]
        assert (await client.hear("ready"))["reset"]
        await client.hear("done", final=True)


async def test_a_page_that_missed_that_its_answer_was_tried_again_is_told_to_fetch_the_list(ada, scripted):
    async with Client(ada) as client:
        session = await client.open()
        failed = await client.ask(session, "Hello")
        await client.say("retry", message=failed["message"])
        await client.hear("done", final=True)
    async with Client(ada) as again:
        await again.say("open", session=str(session), last_seq=2)
        assert await again.hear("ready") == ready_frame(session, 3, reset=True)
        await again.say("open", session=str(session), last_seq=3)
        assert await again.hear("ready") == ready_frame(session, 3, reset=False)


async def test_a_failure_is_one_sentence_and_the_message_stays(ada, scripted):
    scripted.script(model.key_refused())
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        done = await client.hear("done", final=True)
        error = await client.hear("error")
    assert (done["status"], error["code"]) == ("failed", "key_refused")
    html = [frame["html"] for frame in client.seen if frame["type"] == "message"][-1]
    assert error["text"].replace("'", "&#x27;") in html
    assert await in_database(Message.objects.filter(role="user", text="Hello").count) == 1


async def test_a_cut_stream_keeps_what_came(ada, scripted):
    scripted.script(model.reset(model.answer(model.text("Half an answer that breaks")), after="answer"))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        done = await client.hear("done", final=True)
    assert done["status"] == "failed"
    assert (await in_database(Message.objects.get, role="assistant")).text.startswith("Half an")


async def test_an_answer_that_the_next_message_interrupts_is_shown_as_interrupted(ada, scripted):
    lost = await in_database(send, ada, "Hello")
    await in_database(abandon, lost.turn)
    async with Client(ada) as client:
        session = await client.open(lost.turn.session_id)
        assert 'data-status="running"' in (await client.hear("message", id=str(lost.answer.pk)))["html"]
        await client.ask(session, "And now?")
        while 'data-status="interrupted"' not in (await client.hear("message", id=str(lost.answer.pk)))["html"]:
            pass


async def test_a_lost_turn_leaves_its_successor_in_the_room(ada, scripted, settings):
    settings.CHECKPOINT_SECONDS = 0.2
    slow = model.answer(model.text(["Slow"] + [" more"] * 100, pace=0.1))
    scripted.script(slow, slow)
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "One")
        (lost,) = running_turns
        await in_database(abandon, lost.turn)
        await in_database(transcript.sweep)
        await client.send(session, "Two")
        while lost in running_turns:
            await asyncio.sleep(0.01)
        (successor,) = running_turns
        assert rooms.room_of(ada.pk, session).running is successor.listener
        await client.say("stop", message=None)
        await client.hear("done", message=str(successor.answer.message.pk))


async def test_retry_answers_again_in_a_new_row(ada, scripted):
    scripted.script(model.key_refused(), model.answer(model.text("Now it works")))
    async with Client(ada) as client:
        session = await client.open()
        failed = await client.ask(session, "Hello")
        await client.say("retry", message=failed["message"])
        done = await client.hear("done", final=True)
    assert (done["status"], done["message"] != failed["message"]) == ("complete", True)
    assert await in_database(Turn.objects.count) == 2


async def test_a_message_while_an_answer_runs_is_refused_as_busy(ada, scripted):
    scripted.script(model.answer(model.text(["One", "Two", "Three"], pace=0.2)))
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "Hello")
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="And?")
        assert (await client.hear("error"))["code"] == "busy"
        await client.hear("done", final=True)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "bad_frame"),
        ("[]", "bad_frame"),
        ('{"type": "fly"}', "bad_frame"),
        ('{"type": ["send"]}', "bad_frame"),
        ('{"type": "open", "session": "x"}', "bad_frame"),
        ('{"type": "open", "session": null, "last_seq": -1}', "bad_frame"),
        ('{"type": "stop", "message": "1e5"}', "bad_frame"),
        ('{"type": "send", "client_id": 1}', "bad_frame"),
        ('{"type": "ping", "pad": "' + "x" * 70_000 + '"}', "too_large"),
        ("[" * 60_000, "bad_frame"),
    ],
)
async def test_a_frame_that_makes_no_sense_is_refused_and_the_socket_lives(ada, frame, code):
    async with Client(ada) as client:
        await client.socket.send_to(text_data=frame)
        assert (await client.hear("error"))["code"] == code
        await client.say("ping")
        await client.hear("pong")


@pytest.mark.parametrize(
    ("text", "code"), [("  \n", "empty"), ("x" * 20_001, "too_long"), ("a\x00b", "bad_text"), ("\ud800", "bad_text")]
)
async def test_text_that_cannot_be_kept_is_refused(ada, text, code):
    async with Client(ada) as client:
        session = await client.open()
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text=text)
        assert (await client.hear("error"))["code"] == code
    assert await in_database(ChatSession.objects.count) == 0


async def test_nothing_of_another_person_is_reachable(ada, stranger, scripted):
    async with Client(ada) as client:
        session = await client.open()
        done = await client.ask(session, "My secret")
    for frame in (
        {"type": "open", "session": str(session), "last_seq": 0},
        {"type": "send", "client_id": str(uuid.uuid4()), "session": str(session), "text": "Hi"},
        {"type": "retry", "message": done["message"]},
        {"type": "continue", "message": done["message"]},
    ):
        async with Client(stranger) as client:
            await client.say(**{"kind": frame.pop("type"), **frame})
            assert (await client.hear("error"))["code"] == "not_found"
            assert "secret" not in json.dumps(client.seen)


async def test_who_opened_the_id_before_the_conversation_began_hears_nothing_of_it(ada, stranger, scripted):
    async with Client(stranger) as other, Client(ada) as client:
        session = await other.open(uuid.uuid4())
        done = await client.ask(session, "My secret")
        await client.say("retry", message=done["message"])
        await client.hear("done", final=True, status="complete")
        await in_database(lambda: lifecycle.delete(ChatSession.objects.get()))
        await client.hear("error", code="not_found")
        rooms.room_of(stranger.pk, session).refresh()
        await other.say("ping")
        await other.hear("pong")
        assert await other.socket.receive_nothing(timeout=0.3)
        assert [frame["type"] for frame in other.seen if frame["type"] != "notice"] == ["ready", "pong"]


async def test_rows_are_read_for_a_hint_unless_a_turn_here_wrote_and_told_them(ada, scripted):
    async with Client(ada) as client:
        session = await client.open()
        # A listener that connects says at any moment that hints may have been missed.
        await pubsub.Listener.of_this_loop().connected.wait()
        await client.ask(session, "Hello")
        await idle()
        room = rooms.room_of(ada.pk, session)
        await read(room)
        for payload, reads in (
            ({"kind": "changed", "by": pubsub.own_name()}, False),
            ({"kind": "changed", "by": "another process"}, True),
            ({"kind": "changed", "by": None}, True),
            (pubsub.MISSED, True),
        ):
            room._hinted(payload)
            assert (room._catching_up is not None) == reads
            await read(room)


async def test_what_others_wrote_while_a_turn_ran_here_is_read_at_its_end(ada, scripted):
    scripted.script(model.answer(model.text(["One", " two"], pace=0.5)))
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "Hello")
        await client.hear("block")
        await in_database(lambda: transcript.append(ChatSession.objects.get(), "user", text="From elsewhere"))
        await in_database(transcript.notify_changed, session)
        await client.hear("done", final=True)
        elsewhere = await client.hear("message")
        assert "From elsewhere" in elsewhere["html"]


async def test_a_stranger_cannot_stop_an_answer(ada, stranger, scripted):
    scripted.script(model.answer(model.text(["One", " two"], pace=0.3)))
    async with Client(ada) as client, Client(stranger) as other:
        await client.send(await client.open(), "Hello")
        message = (await client.hear("block"))["message"]
        await other.say("stop", message=message)
        done = await client.hear("done", final=True)
    assert done["status"] == "complete"


async def test_a_shutdown_saves_what_came_as_interrupted(ada, scripted):

    scripted.script(model.answer(model.text(["One. "] + ["more "] * 100, pace=0.1)))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        await client.hear("block")
        await shutdown()
        assert (await client.hear("done", final=True))["status"] == "interrupted"
    assert (await in_database(Message.objects.get, role="assistant")).text.startswith("One.")


async def test_a_growing_answer_is_saved_at_least_each_second(ada, scripted):
    scripted.script(model.answer(model.text(["One. "] + ["more "] * 40, pace=0.1)))
    async with Client(ada) as client:
        await client.send(await client.open(), "Hello")
        await client.hear("block")
        await asyncio.sleep(1.2)
        saved = await in_database(Message.objects.get, role="assistant")
        assert (saved.status, saved.text[:5]) == ("running", "One. ")
        await client.say("stop", message=None)
        await client.hear("done", final=True)


async def test_a_command_ends_the_conversation_stores_nothing_and_may_be_sent_again(ada, scripted):
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        for _ in range(2):
            await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="/new")
            ended = await client.hear("ended")
            assert (ended["session"], ended["reason"]) == (str(session), "new")
        stored = await in_database(lambda: ChatSession.objects.get(pk=session))
    assert (stored.last_seq, stored.ended_at is None) == (2, False)


async def test_a_command_about_the_context_stores_nothing_and_every_tab_hears_of_the_change(ada):
    session = await in_database(conversation, ada)
    async with Client(ada) as client, Client(ada) as other:
        for each in (client, other):
            await each.open(session.pk, session.last_seq)
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session.pk), text="/compact")
        assert await client.hear("command", command="/compact", session=str(session.pk))
        assert await other.hear("notice", html="")
        seen = client.seen + other.seen
        assert not [frame for frame in seen if frame["type"] == "ack" or frame.get("seq", 0) > session.last_seq]


async def test_a_client_id_that_is_no_text_is_refused_and_the_socket_lives_on(ada):
    async with Client(ada) as client:
        await client.say("send", client_id="\ud800", session=str(uuid.uuid4()), text="Hello")
        refusal = await client.hear("error", code="bad_frame")
        assert refusal["client_id"].encode()
        await client.say("ping")
        await client.hear("pong")


async def test_who_signed_out_while_hints_were_away_is_found_when_they_are_back(ada):
    browser, gone = await in_database(signed_in, ada)
    _, stays = await in_database(signed_in, ada)
    await in_database(browser.session.flush)
    async with gone, stays:
        gone_by = await closed(gone)
        await stays.say("ping")
        await stays.hear("pong")
    assert gone_by == 1012


async def closed(client):
    """The code with which the server closes the socket; frames before it do not matter."""
    while True:
        output = await client.socket.receive_output(timeout=5)
        if output["type"] == "websocket.close":
            return output["code"]


def signed_in(user):
    """A browser that is signed in, and a socket of it."""
    browser, client = Browser(), Client(user)
    browser.force_login(user)
    # As the middleware has it: wrapped, and read when it is needed.
    client.socket.scope["session"] = SimpleLazyObject(lambda: browser.session)
    return browser, client


async def test_signing_out_closes_the_sockets_of_this_sign_in_only(ada, stranger):
    browser, here = await in_database(signed_in, ada)
    _, elsewhere = await in_database(signed_in, ada)
    async with here, elsewhere, Client(stranger) as other:
        await pubsub.Listener.of_this_loop().connected.wait()
        await in_database(browser.post, "/accounts/logout/")
        assert await closed(here) == 4401
        for client in (elsewhere, other):
            await client.say("ping")
            await client.hear("pong")


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "!"}])
async def test_a_closed_account_or_a_new_password_sends_every_socket_through_the_door_again(ada, stranger, change):
    for name, value in change.items():
        setattr(ada, name, value)
    async with Client(ada) as client, Client(stranger) as other:
        await pubsub.Listener.of_this_loop().connected.wait()
        await in_database(ada.save)
        assert await closed(client) == 1012
        await other.say("ping")
        await other.hear("pong")


async def test_an_edit_reaches_every_socket_and_is_acknowledged_once(ada, scripted):
    scripted.script(model.answer("First."), model.answer("Second."))
    async with Client(ada) as client, Client(ada) as other:
        session = await client.open()
        ack = await client.send(session, "One")
        await client.hear("done", final=True)
        await other.open(session)
        client_id = str(uuid.uuid4())
        edit = {"client_id": client_id, "session": str(session), "message": ack["message"], "text": "Uno"}
        await client.say("edit", **edit)
        edited = await client.hear("ack", client_id=client_id)
        assert (edited["seq"], edited["duplicate"]) == (3, False)
        assert (await other.hear("ready"))["reset"]
        await client.hear("done", final=True)
        await client.say("edit", **edit)
        assert (await client.hear("ack", client_id=client_id))["duplicate"]
        await client.say("edit", **(edit | {"client_id": str(uuid.uuid4())}))
        assert (await client.hear("error"))["code"] == "not_shown"
        await client.say(
            "edit", **(edit | {"client_id": str(uuid.uuid4()), "message": edited["message"], "model": "x"})
        )
        assert (await client.hear("error"))["code"] == "not_offered"
        await other.say("show", message=ack["message"])
        assert (await client.hear("ready", seq=4))["reset"]
        await client.open(session)
        # A page that was away meanwhile learns that what it shows is another version.
        await other.say("open", session=str(session), last_seq=4)
        assert (await other.hear("ready"))["reset"]


async def test_thinking_is_shown_while_it_grows_and_sent_back_only_when_it_is_whole(ada, scripted):
    scripted.script(
        model.answer(model.thinking("Let me <see>." + " And so on." * 100, pace=0.05)),
        model.answer(model.thinking("Hm."), "Tea."),
        model.answer("Yes."),
    )
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "One")
        while "Let me &lt;see&gt;." not in (block := await client.hear("block"))["html"]:
            assert block["html"].startswith('<details class="thinking">')
        await client.say("stop", message=None)
        await client.hear("done", status="stopped")
        await client.ask(session, "Two")
        final = [frame for frame in client.seen if frame["type"] == "message"][-1]["html"]
        assert final.index("Hm.") < final.index("<p>Tea.</p>")
        await client.ask(session, "Three")
    sent = scripted.messages[-1].body["messages"]
    assert [block["type"] for message in sent for block in message["content"] if message["role"] == "assistant"] == [
        "thinking",
        "text",
    ]
    # The unfinished one is kept for the person.
    stored = await in_database(lambda: Message.objects.filter(role="assistant").order_by("seq").first())
    assert stored.content[0]["thinking"].startswith("Let me")


async def test_a_change_while_a_socket_opens_sends_nothing_that_the_page_has(ada, monkeypatch):
    session = await in_database(conversation, ada)
    open_page = replay.open_page

    def changed_meanwhile(*asked):
        transcript.notify_changed(session.pk)
        time.sleep(0.3)  # the hint arrives, and the room would read the rows from the first one on
        return open_page(*asked)

    monkeypatch.setattr(replay, "open_page", changed_meanwhile)
    async with Client(ada) as client:
        await client.open(session.pk, session.last_seq)
        await asyncio.sleep(0.2)
        assert await client.socket.receive_nothing()
        assert [frame["type"] for frame in client.seen if frame["type"] != "notice"] == ["ready"]


async def test_a_socket_that_is_closed_already_is_not_closed_again(monkeypatch):
    async def close(code=None):
        raise RuntimeError("Unexpected ASGI message 'websocket.close', after sending 'websocket.close'.")

    consumer = ChatConsumer()
    monkeypatch.setattr(consumer, "close", close)
    await consumer._close(4401)
