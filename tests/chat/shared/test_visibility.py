"""Who sees a shared conversation, who writes in it and who manages it: every page and frame, for each role."""

import asyncio
import json
import uuid

import pytest
from django.test import Client as Browser
from django.utils import timezone

from chat.conversations import lifecycle
from chat.conversations.shared import share
from chat.live.frames import client_frame
from chat.live.handle import handle
from chat.models import ChatSession
from chat.urls import urlpatterns
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.chat.live.test_socket import Client, idle
from tests.chat.shared.cast import Role, give, shared_conversation, take_role
from tests.conversations import send, settle
from tests.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)

SEES = ("ada", "olga", "ed", "rita")
WRITES = ("ada", "olga", "ed")
MANAGES = ("ada", "olga")
# Ada has begun the conversation, and was a member when she shared it.
PEOPLE = (*SEES, "fay", "stranger", "former")

# Each page and action about one conversation or one of its messages: its method, and who may use it. None: it is of a
# program, a channel or another page, and answers alike for everybody.
PAGES = {
    "conversation": ("get", SEES),
    "messages_after": ("get", SEES),
    "session_menu": ("get", SEES),
    "meter": ("get", SEES),
    "context": ("get", SEES),
    "context_json": ("get", SEES),
    "rounds": ("get", SEES),
    "export_markdown": ("get", SEES),
    "export_json": ("get", SEES),
    "session_viewers": ("get", SEES),
    "move_to_space": ("get", ("ada",)),
    "message_details": ("get", SEES),
    "message_raw": ("get", SEES),
    "rename": ("get", MANAGES),
    "share": ("get", ("ada",)),
    "share_with_space": ("get", MANAGES),
    "make_private": ("get", ()),
    "compact": ("post", WRITES),
    "stop": ("post", WRITES),
    "message_edit": ("get", ("ada",)),
    "message_show": ("post", WRITES),
    "message_retry": ("post", WRITES),
    "message_continue": ("post", WRITES),
    "message_fork": ("post", SEES),
}
# Not there for anybody: answers from before it was shared, what others think of answers, rounds that do not exist, and
# what a server said of an answer that has not failed.
HIDDEN = {
    "message_context_json": "get",
    "message_source": "get",
    "message_said": "get",
    "leave": "get",
    "message_rate": "post",
    "round": "get",
    "edit_round": "get",
    "undo_round": "post",
}
# They begin a conversation or change only the person's own rows, and answer alike whatever the id is.
ALIKE = {"post_frame", "send", "attach", "read", "unshare", "message_context", "end", "chosen_documents"}


@pytest.fixture
def cast(ada, stranger, scripted):
    cast = shared_conversation(ada)
    former = cast.people["fay"]
    give(cast.space, former, Role.EDITOR)
    take_role(cast.space, former)
    cast.people |= {"stranger": stranger, "former": former}
    return cast


def signed_in(user):
    browser = Browser()
    browser.force_login(user)
    return browser


def address(pattern, cast):
    question, answer = cast.session.messages.order_by("seq")[:2]
    message = question if pattern.name == "message_edit" else answer
    ids = {
        "<uuid:session_id>": cast.session.pk,
        "<int:message_id>": message.pk,
        "<int:number>": 1,
        "<str:mark>": "m2-1",
        "<str:to>": "signed-for-another-message",
    }
    route = str(pattern.pattern)
    for name, value in ids.items():
        route = route.replace(name, str(value))
    return f"/{route}"


def of_conversations():
    return [each for each in urlpatterns if "session_id" in str(each.pattern) or "message_id" in str(each.pattern)]


def test_every_page_about_a_conversation_is_for_those_who_may(cast):
    patterns = of_conversations()
    assert {each.name for each in patterns} == {*PAGES, *HIDDEN, *ALIKE}
    browsers = {name: signed_in(cast.people[name]) for name in PEOPLE}
    wrong = []
    for pattern in patterns:
        if pattern.name in ALIKE:
            continue
        method, may = PAGES.get(pattern.name) or (HIDDEN[pattern.name], ())
        # Those who may not come first: what they do must leave nothing.
        for name in sorted(PEOPLE, key=may.__contains__):
            before = cast.session.messages.count()
            reply = getattr(browsers[name], method)(address(pattern, cast))
            assert name in may or cast.session.messages.count() == before
            seen = reply.status_code not in (404, 405)
            # Who may only read is told so by some.
            is_refused = reply.status_code == 302 and name in SEES
            if seen != (name in may) and not (is_refused and name not in may):
                wrong.append((pattern.name, name, reply.status_code))
    assert wrong == []


def test_what_a_stranger_gets_is_what_there_is_not(cast):
    stranger, missing = signed_in(cast.stranger), uuid.uuid4()
    for name in ("/c/{}", "/c/{}/messages", "/c/{}/menu", "/c/{}/share", "/c/{}/share-with"):
        theirs, none = stranger.get(name.format(cast.session.pk)), stranger.get(name.format(missing))
        assert (theirs.status_code, theirs.content) == (none.status_code, none.content)


ACTIONS = {"send": "session", "edit": "message", "show": "message", "retry": "message", "continue": "message"}


async def refused(cast, name, kind):
    """The code with which the frame is refused, or "" when it is carried out."""
    from chat.live.errors import CLIENT_ERRORS, code_and_sentence

    question, answer = await in_database(lambda: list(cast.session.messages.order_by("seq")[:2]))
    message = question if kind == "edit" else answer
    fields = {"type": kind, "client_id": str(uuid.uuid4()), "text": "Hello"}
    fields |= {"session": str(cast.session.pk)} if kind == "send" else {"message": str(message.pk)}
    try:
        await handle(cast.people[name], client_frame(fields), cast.session.pk)
    except CLIENT_ERRORS as error:
        return code_and_sentence(error)[0]
    finally:
        await idle()
    return ""


@pytest.mark.parametrize("kind", ACTIONS)
async def test_a_frame_is_carried_out_for_those_who_may(cast, kind, scripted):
    from tests import scripted as model

    scripted.script(*[model.answer(model.text("Well."))] * 9)
    may = ("ada",) if kind == "edit" else WRITES
    codes = {name: await refused(cast, name, kind) for name in ("rita", "former", "stranger")}
    assert codes["rita"] == ("not_shown" if kind == "edit" else "read_only")
    gone = {"send": "not_found", "edit": "not_shown", "show": "not_shown"}.get(kind, "not_found")
    assert codes["former"] == codes["stranger"] == gone
    count = await in_database(cast.session.messages.count)
    assert count == 2
    if kind == "edit":
        assert await refused(cast, "ed", kind) == "not_shown"
    assert await refused(cast, may[-1], kind) == ""


async def test_a_socket_opens_for_members_and_shows_them_the_same(cast):
    for name in SEES:
        async with Client(cast.people[name]) as client:
            await client.open(cast.session.pk)
            frame = await client.hear("message", seq=1)
            assert "Where shall we meet?" in frame["html"]
    for name in ("former", "stranger"):
        async with Client(cast.people[name]) as client:
            await client.say("open", session=str(cast.session.pk), last_seq=0)
            assert (await client.hear("error"))["code"] == "not_found"


async def test_who_loses_the_role_gets_no_further_frame(cast, scripted):
    from tests import scripted as model

    scripted.script(model.answer(model.text(["First.", " Second.", " Third."], pace=0.6)))
    async with Client(cast.ed) as ed, Client(cast.rita) as rita:
        await ed.open(cast.session.pk)
        await rita.open(cast.session.pk)
        await ed.send(cast.session.pk, "Tell us")
        await rita.hear("block")
        await in_database(take_role, cast.space, cast.rita)
        assert (await rita.hear("error"))["code"] == "not_found"
        done = await ed.hear("done", final=True)
        assert done["status"] == "complete"
        while (await rita.hear("notice"))["kind"] != "shared":
            pass
        while not await rita.socket.receive_nothing(timeout=0.3):
            assert json.loads(await rita.socket.receive_from())["type"] == "notice"
        await rita.say("open", session=str(cast.session.pk), last_seq=0)
        assert (await rita.hear("error"))["code"] == "not_found"


async def test_the_turn_of_who_loses_the_role_ends_for_the_others(cast, scripted):
    from tests import scripted as model

    scripted.script(
        model.answer(model.text(["First."] + [" And so on."] * 50, pace=0.2)), model.answer(model.text("Yes."))
    )
    async with Client(cast.ed) as ed, Client(cast.olga) as olga:
        await ed.open(cast.session.pk)
        await olga.open(cast.session.pk)
        await ed.send(cast.session.pk, "Tell us all")
        await olga.hear("block")
        await in_database(take_role, cast.space, cast.ed)
        assert (await olga.hear("done", final=True))["status"] == "stopped"
        await idle()
        assert (await olga.ask(cast.session.pk, "And now?"))["status"] == "complete"


def test_who_began_it_and_is_no_member_any_more_sees_nothing_of_it(cast):
    take_role(cast.space, cast.ada)
    browser, program = signed_in(cast.ada), Program(cast.ada)
    assert browser.get(f"/c/{cast.session.pk}").status_code == 404
    assert "Where shall we meet" not in browser.get("/").content.decode()
    assert "Where shall we meet" not in browser.get("/search?q=meet").content.decode()
    assert program.get("/sessions").json()["items"] == []
    assert program.get(f"/sessions/{cast.session.pk}").status_code == 404
    assert not ChatSession.objects.managed_by(cast.ada).exists()


def test_a_conversation_in_a_space_that_is_not_shared_is_its_owners_alone(cast):
    share.unshare(cast.ada, cast.session)
    for name in ("olga", "ed", "rita"):
        assert signed_in(cast.people[name]).get(f"/c/{cast.session.pk}").status_code == 404
        assert Program(cast.people[name]).get("/sessions").json()["items"] == []
    assert signed_in(cast.ada).get(f"/c/{cast.session.pk}").status_code == 200


def test_a_conversation_of_a_deleted_space_is_private_again(cast):
    settle(send(cast.ada, "Mine, too", cast.session.pk))
    cast.space.delete()
    cast.session.refresh_from_db()
    assert (cast.session.shared_at, cast.session.space) == (None, None)
    assert signed_in(cast.ada).get(f"/c/{cast.session.pk}").status_code == 200
    assert signed_in(cast.ed).get(f"/c/{cast.session.pk}").status_code == 404


def test_a_program_shares_and_takes_back_what_its_person_began(cast):
    ada, ed, stranger = (Program(cast.people[name]) for name in ("ada", "ed", "stranger"))
    path = f"/sessions/{cast.session.pk}"
    assert [each.post(f"{path}/unshare").status_code for each in (stranger, ed, ada)] == [404, 409, 204]
    assert ed.get(path).status_code == 404
    about = ada.get(f"{path}/sharing", space=cast.space.pk).json()
    assert (about["messages"], about["people"], about["names"]) == (2, 3, ["Ed", "Olga", "Rita"])
    other = Space.objects.create(owner=cast.stranger, kind=Space.Kind.TEAM, name="Elsewhere")
    assert ada.post(f"{path}/share", space=other.pk).status_code == 422
    assert ed.post(f"{path}/share", space=cast.space.pk).status_code == 404
    assert ada.post(f"{path}/share", space=cast.space.pk).json()["shared"] is True
    assert ed.get(path).status_code == 200


def test_an_archived_space_is_read_and_not_written(cast):
    Space.objects.update(archived_at=timezone.now())
    assert signed_in(cast.ed).get(f"/c/{cast.session.pk}").status_code == 200
    assert not ChatSession.objects.continued_by(cast.ed).exists()
    assert not ChatSession.objects.managed_by(cast.olga).exists()
    with pytest.raises(lifecycle.SessionNotFoundError):
        share.unshare(cast.ada, cast.session)


def test_a_member_has_it_in_the_list_and_finds_it(cast):
    for name in SEES:
        browser, program = signed_in(cast.people[name]), Program(cast.people[name])
        assert "Lighthouse" in browser.get("/sessions").content.decode()
        assert "Where shall we" in browser.get("/search?q=shall").content.decode()
        (item,) = program.get("/sessions").json()["items"]
        assert (item["id"], item["shared"], item["space"]) == (str(cast.session.pk), True, cast.space.pk)
        messages = program.get(f"/sessions/{cast.session.pk}/messages").json()["items"]
        assert messages[0]["author"] == "ada@example.org"


def test_each_person_has_their_own_place_of_it(cast):
    program, ids = Program(cast.ed), str(cast.session.pk)
    program.patch(f"/sessions/{ids}", pinned=True)
    program.patch(f"/sessions/{ids}", archived=True)
    signed_in(cast.rita).get(f"/c/{ids}")
    cast.session.refresh_from_db()
    assert (cast.session.pinned_at, cast.session.archived_at) == (None, None)
    assert program.get("/sessions").json()["items"] == []
    assert [each["pinned"] for each in program.get("/sessions", archived=True).json()["items"]] == [True]
    assert Program(cast.ada).get("/sessions").json()["items"][0]["archived"] is False
    unread = {
        name: "unread" in signed_in(cast.people[name]).get("/sessions").content.decode() for name in ("rita", "olga")
    }
    assert unread == {"rita": False, "olga": True}


async def test_nothing_reaches_a_room_between_the_loss_of_the_role_and_its_check(cast):
    """The hint may be lost: a reconnected listener checks everybody."""
    from chat.live.rooms import rooms
    from oneclaw import pubsub
    from oneclaw.models import SpaceMember

    async with Client(cast.rita) as rita:
        await rita.open(cast.session.pk)
        await in_database(SpaceMember.objects.filter(user=cast.rita)._raw_delete, "default")
        (room,) = (each for each in rooms.values() if each.outboxes)
        room._hinted(pubsub.MISSED)
        assert (await rita.hear("error"))["code"] == "not_found"
        await asyncio.sleep(0)
        assert not room.outboxes
