"""The ASGI application: pages by Django, sockets by Channels, and the start and end of the process."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

import django

django.setup(set_prefix=False)  # loads the apps: whatever follows may import models

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from chat.routing import websocket_urlpatterns
from chat.turns import loop
from oneclaw import llm
from oneclaw.web.body_limit import BoundedBodies
from oneclaw.web.origins import SameOrigin

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    """Warm what the first answer would wait for; at the end, save every running answer."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await llm.warm()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await loop.shutdown()
            await send({"type": "lifespan.shutdown.complete"})
            return


# A message by a plain form brings all of its files at once; so large may also be what is imported.
MEGABYTE = 1024 * 1024
LARGEST_FORM = max(settings.FILES_OF_A_MESSAGE * settings.FILE_SIZE, settings.IMPORT_MEGABYTES * MEGABYTE)
LARGEST_BODY = LARGEST_FORM + MEGABYTE

application = ProtocolTypeRouter(
    {
        "http": BoundedBodies(get_asgi_application(), LARGEST_BODY),
        "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
