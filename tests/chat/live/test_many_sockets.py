"""A person has as many sockets as the setting says, in each web process; others' are their own."""

import pytest
from channels.testing import WebsocketCommunicator

from chat.conversations.presence import open_sockets
from chat.live.consumer import TRY_LATER_CODE, ChatConsumer
from tests.chat.live.test_socket import Client

pytestmark = pytest.mark.django_db(transaction=True)


async def code_of_closing(user):
    socket = WebsocketCommunicator(ChatConsumer.as_asgi(), "/ws/")
    socket.scope["user"] = user
    assert (await socket.connect())[0]
    closed = await socket.receive_output(timeout=5)
    assert closed["type"] == "websocket.close"
    return closed["code"]


async def test_a_further_socket_is_closed_until_another_one_ends(ada, stranger, scripted, settings):
    settings.SOCKETS = 3
    opened = [await Client(ada).__aenter__() for _ in range(3)]
    assert [await code_of_closing(ada) for _ in range(20)] == [TRY_LATER_CODE] * 20
    assert open_sockets.count_of(ada.pk) == 3
    async with Client(stranger) as other:
        await other.open()
    await opened.pop().__aexit__()
    async with Client(ada) as again:
        await again.open()
    for client in opened:
        await client.__aexit__()
    assert open_sockets.count_of(ada.pk) == 0
