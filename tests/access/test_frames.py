"""Each frame that a client may send and each kind of person: who may, and who gets the same as for what is not there.

An answer is running in the shared conversation and nobody finishes it, so that whoever may begin another one is told
to wait, and no model is asked. The frames are those of the code.
"""

import itertools
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, get_args

import pytest
from channels.testing import WebsocketCommunicator
from django.test import Client

from chat.conversations import transcript
from chat.live.consumer import ChatConsumer
from chat.live.frames import ClientFrame
from chat.models import Turn
from oneclaw.threads import in_database
from tests.access import table
from tests.access.addresses import Asking
from tests.access.cast import Cast, ids_of
from tests.access.fingerprint import fingerprint
from tests.access.roles import MAY, rules_of

FRAMES = {name: word for name, (word,) in rules_of(table.FRAMES).items()}
# Who asks by POST too.
BY_POST = {"reader", "stranger"}
# In the running turn.
SAID = "zqrunning"
REFUSED = {"not_found", "read_only"}


def frame_types() -> Iterator[str]:
    """Yield the types of the frames that the consumer reads."""
    for frame in get_args(ClientFrame):
        yield from get_args(frame.model_fields["type"].annotation)


def fields_of(kind: str, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Return a frame about the rows with these ids."""
    frame = {"type": kind, "session": str(ids["session_id"]), "text": "Hello", "client_id": str(uuid.uuid4())}
    if kind not in ("open", "send", "ping", "writing", "take_back"):
        frame["message"] = str(ids["question" if kind == "edit" else "message_id"])
    return frame


class Socket:
    """One socket of one person, with all that it was told."""

    def __init__(self, user: object) -> None:
        self.socket = WebsocketCommunicator(ChatConsumer.as_asgi(), "/ws/")
        self.socket.scope["user"] = user
        self.told = ""

    async def say(self, frame: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Send `frame`, and return what came until the answer to the next one."""
        after = str(uuid.uuid4())
        await self.socket.send_to(text_data=json.dumps(frame))
        await self.socket.send_to(text_data=json.dumps({"type": "unknown", "client_id": after}))
        came = []
        while not came or came[-1].get("client_id") != after:
            text = await self.socket.receive_from(timeout=20)
            self.told += text
            came.append(json.loads(text))
        # Others change their lists meanwhile.
        return [frame for frame in came[:-1] if frame["type"] != "notice"]


@asynccontextmanager
async def opened(user: object) -> AsyncIterator[Socket]:
    socket = Socket(user)
    assert (await socket.socket.connect())[0]
    try:
        yield socket
    finally:
        await socket.socket.disconnect()


def post(browser: Client, frame: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Send `frame` as a page whose socket is blocked, and return the answer."""
    return [browser.post(f"/c/{frame['session']}/frame", frame, "application/json").json()]


@pytest.fixture
def running(cast: Cast) -> Turn:
    """The running answer of the shared conversation."""
    said = f"{cast.word(SAID.removeprefix('zq'), MAY['members'])} is asked"
    return transcript.accept(cast.people["author"], cast.sessions["shared"].pk, uuid.uuid4(), said).turn


def test_the_table_has_every_frame():
    assert FRAMES.keys() == set(frame_types())


async def test_every_frame_is_for_those_whom_the_table_names(cast, running):
    wrong: list[str] = []
    browsers = (await in_database(Asking, cast)).browsers
    async with AsyncExitStack() as stack:
        sockets = {name: await stack.enter_async_context(opened(user)) for name, user in cast.people.items()}
        before = await in_database(fingerprint)
        for (kind, word), (role, socket) in itertools.product(FRAMES.items(), sockets.items()):
            asked = ["shared"] * (role not in MAY[word]) + ["private"] * (role != "author")
            for ids in asked:
                ways = further(cast, socket, browsers[role] if role in BY_POST else None, role, kind, ids)
                wrong += [f"{kind}: {role} {how}" async for how in ways]
        after = await in_database(fingerprint)
        wrong += [f"{name} has changed" for name, value in after.items() if value != before[name]]
        for (kind, word), (role, socket) in itertools.product(FRAMES.items(), sockets.items()):
            if role in MAY[word] and is_refusal(came := await socket.say(fields_of(kind, cast.shared_ids))):
                wrong.append(f"{kind}: {role} is told {came[-1]}")
        # Whoever may not is told nothing of what the others have written meanwhile.
        wrong += [f"{role} reads {words}" for role in sockets if (words := cast.beyond(sockets[role].told, role))]
        assert {role for role in sockets if SAID in sockets[role].told} == MAY["members"]
    assert not wrong, "\n".join(wrong)


async def further(
    cast: Cast, socket: Socket, browser: Client | None, role: str, kind: str, ids: str
) -> AsyncIterator[str]:
    """Yield how the person gets further with a frame than to what is not there: by the socket, and by POST."""
    about, nothing = (fields_of(kind, ids_of(cast, each)) for each in (ids, "missing"))
    ways = [(await socket.say(about), await socket.say(nothing))]
    if browser is not None:
        ways.append([await in_database(post, browser, frame) for frame in (about, nothing)])
    for told, of_nothing in ways:
        if not is_refusal(told) and without_ids(told) != without_ids(of_nothing):
            yield f"is told {told} of what is {ids}"
        if role == "stranger" and without_ids(told) != without_ids(of_nothing):
            yield f"learns that something {ids} is there: {told}, not {of_nothing}"


def is_refusal(frames: list[dict[str, Any]]) -> bool:
    """Return whether the last of `frames` says that what they asked for is not theirs."""
    return bool(frames) and frames[-1].get("code") in REFUSED


def without_ids(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in frame.items() if name != "client_id"} for frame in frames]
