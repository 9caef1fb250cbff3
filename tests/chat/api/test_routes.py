"""Messages that name where they come from, and what the API says of conversations and their routes."""

import asyncio
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations.keys import Sender
from chat.models import IdentityLink, Message, SessionRoute
from chat.routes import identities
from oneclaw.threads import in_database
from tests import scripted as model
from tests.chat.routes.cast import TELEGRAM, link_as_owner, written
from tests.conversations import send, settle, summarise
from tests.programs import refusal

ROUTE = {"channel": "telegram", "peer": "123"}


@pytest.fixture
def said(async_client, adas):
    """Send a message of Ada's over the API; status and answer."""

    async def say(text="Hello", route=ROUTE, **fields):
        response = await async_client.post(
            "/api/v1/messages?wait=30",
            {"text": text, "route": route} | fields,
            content_type="application/json",
            headers={"Authorization": f"Bearer {adas.token}"},
        )
        return response.status_code, response.json()

    return say


@pytest.fixture
def quick(transactional_db, scripted, settings):
    settings.TITLES, settings.DM_SCOPE = False, "per-peer"


async def test_messages_of_a_route_share_a_conversation(quick, said):
    _, first = await said()
    _, second = await said("And?")
    _, other = await said(route={"channel": "telegram", "peer": "456"})
    assert first["session"] == second["session"] != other["session"]
    assert first["answer"]["status"] == "complete"
    client_id = str(uuid.uuid4())
    sent = [(await said("Once", client_id=client_id))[1] for _ in range(2)]
    assert [each["duplicate"] for each in sent] == [False, True]
    assert sent[0]["message"] == sent[1]["message"]


async def test_commands_of_a_route(quick, said):
    status, nothing = await said("/new")
    assert (status, nothing["session"], nothing["ended"]) == (200, None, "new")
    _, first = await said()
    _, ended = await said("/reset")
    assert (ended["ended"], ended["message"]) == ("reset", None)
    assert ended["session"] != first["session"]
    _, begun = await said("/new Dear MISO")
    assert begun["ended"] == "new"
    # Nothing was said there, so it is not ended.
    assert begun["session"] == ended["session"]
    _, anew = await said("/new Again")
    assert anew["session"] != begun["session"]
    assert begun["answer"]["status"] == "complete"
    _, used = await said("/context")
    assert (used["session"], bool(used["notice"])) == (anew["session"], True)


async def test_a_peer_proves_itself_by_a_code_which_is_not_stored(quick, said, ada):
    code = await in_database(identities.new_code, ada, "Ada")
    status, wrong = await said("/link AAAA-AAAA")
    assert (status, wrong["code"]) == (422, "wrong_code")
    status, linked = await said(f"/link {code}")
    assert (status, linked["message"]) == (200, None)
    assert "Linked" in linked["notice"]
    assert (await in_database(IdentityLink.objects.get)).canonical == "Ada"
    assert not await in_database(SessionRoute.objects.exists)


async def test_the_parts_of_a_route_are_bounded(quick, said):
    lengths = {"channel": (1, 40), "account": (0, 64), "peer": (1, 128)}
    for name, (least, most) in lengths.items():
        letter = "x" if name == "channel" else "\N{CAT FACE}"
        for length in {0, least, least + 1, most - 1, most, most + 1}:
            # A command that needs no model.
            status, _ = await said("/context", ROUTE | {name: letter * length})
            assert status == (200 if least <= length <= most else 422), (name, length)


async def test_other_routes_are_refused(quick, said):
    for route in (
        ROUTE | {"channel": "Telegram"},
        ROUTE | {"channel": "a:b"},
        ROUTE | {"peer": " 123"},
        ROUTE | {"peer": "1\n"},
        ROUTE | {"peer": "1\x00"},
        ROUTE | {"account": "a\u202eb"},
        ROUTE | {"person": "2"},
        {"peer": "1"},
    ):
        status, told = await said("Hi", route)
        assert (status, told["code"]) == (422, "invalid"), route


def test_the_longest_route_can_be_stored(ada, settings):
    settings.DM_SCOPE = "per-account-channel-peer"
    longest = Sender("c" * 40, "\N{CAT FACE}" * 128, "\N{DOG FACE}" * 64)
    assert written(ada, sender=longest) == written(ada, "Again", sender=longest)


async def test_a_message_names_a_conversation_or_a_route_and_is_not_temporary(quick, said):
    for fields in ({"session": str(uuid.uuid4())}, {"mode": "temporary"}):
        status, told = await said("Hi", **fields)
        assert (status, told["code"]) == (422, "invalid")


def test_a_conversation_says_its_tokens_its_rounds_its_route_and_its_parent(ada, adas, strangers, settings):
    settings.PRICES = {"m": (2.0, 10.0, 0.2, 2.5)}
    link_as_owner(ada, TELEGRAM)
    session = written(ada)
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 4000,
        "output_tokens": 500,
    }
    session.messages.filter(role="assistant").update(usage=usage, model="m")
    settle(send(ada, "More", session.pk))
    session.refresh_from_db()
    summarise(session, 2)
    (item,) = adas.get("/sessions").json()["items"]
    assert {name: item["tokens"][name] for name in ("in", "out", "cached")} == {"in": 5000, "out": 503, "cached": 2000}
    assert item["tokens"]["cost"] == pytest.approx(0.01743)
    assert item["tokens"]["used"] > 7000
    assert item["tokens"]["window"] == settings.CONTEXT
    assert (item["rounds"], item["parent"]) == (1, None)
    assert item["route"] == {"key": f"agent:oneclaw:user:{ada.pk}:main", "account": "", "current": True} | ROUTE
    assert adas.get(f"/sessions/{session.pk}").json()["tokens"] == item["tokens"]
    assert adas.client.get("/api/sessions").json() == adas.get("/sessions").json()
    assert strangers.client.get("/api/sessions").json()["items"] == []
    assert adas.client.post("/api/sessions").status_code == 405


def test_a_list_takes_as_many_statements_for_many_conversations_as_for_one(ada, adas):
    settle(send(ada))
    adas.get("/sessions")
    with CaptureQueriesContext(connection) as one:
        adas.get("/sessions")
    for number in range(9):
        settle(send(ada, str(number)))
    written(ada)
    with CaptureQueriesContext(connection) as many:
        assert len(adas.get("/sessions").json()["items"]) == 11
    assert len(many) == len(one)


def test_conversations_are_listed_by_channel(ada, adas):
    settle(send(ada))
    session = written(ada)
    assert [each["id"] for each in adas.get("/sessions", channel="telegram").json()["items"]] == [str(session.pk)]
    assert adas.get("/sessions", channel="irc").json()["items"] == []


def test_a_reset_ends_a_conversation_and_says_the_next_one(ada, adas, strangers):
    session, free = written(ada), settle(send(ada)).session
    assert refusal(strangers.post(f"/sessions/{session.pk}/reset")) == (404, "not_found")
    reset = adas.post(f"/sessions/{session.pk}/reset").json()
    assert reset == {"ended": str(session.pk), "session": str(SessionRoute.objects.get().session_id)}
    assert adas.post(f"/sessions/{free.pk}/reset").json()["session"] is None
    told = adas.get(f"/sessions/{session.pk}").json()
    assert (told["ended"], told["route"]["current"]) == (True, False)


async def test_a_conversation_is_exported(transactional_db, async_client, ada, adas, strangers):
    session = (await in_database(written, ada)).pk
    address = f"/api/v1/sessions/{session}/export"
    own = {"Authorization": f"Bearer {adas.token}"}
    for kind, start in (("json", "{"), ("md", "# ")):
        response = await async_client.get(address, {"format": kind}, headers=own)
        assert b"".join([part async for part in response]).decode().startswith(start)
    assert (await async_client.get(address, {"format": "exe"}, headers=own)).status_code == 422
    other = await async_client.get(address, headers={"Authorization": f"Bearer {strangers.token}"})
    assert other.status_code == 404


async def test_first_messages_of_one_route_at_once_are_all_stored_and_answered_in_order(quick, said, scripted):
    scripted.default = lambda body: model.answer(model.text(["Yes", "."], pace=0.05))
    told = []
    for number in range(5):
        told.append(asyncio.create_task(said(f"Message {number}")))
        await asyncio.sleep(0.05)
    answers = await asyncio.gather(*told)
    assert [status for status, _ in answers] == [200] * 5
    assert len({answer["session"] for _, answer in answers}) == 1
    rows = await in_database(lambda: list(Message.objects.order_by("seq").values_list("role", "text")))
    assert rows == [row for number in range(5) for row in (("user", f"Message {number}"), ("assistant", "Yes."))]


async def test_the_same_message_twice_at_once_is_stored_once(quick, said, scripted):
    scripted.default = lambda body: model.answer(model.text(["Yes", "."], pace=0.05))
    client_id = str(uuid.uuid4())
    answers = await asyncio.gather(*(said("Hello", client_id=client_id) for _ in range(3)))
    assert all(status == 200 for status, _ in answers)
    assert await in_database(Message.objects.filter(role="user").count) == 1
