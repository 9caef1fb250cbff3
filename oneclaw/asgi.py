"""The ASGI application: pages by Django, sockets by Channels, and the start and end of the process."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

import django

django.setup(set_prefix=False)  # loads the apps, so that the following imports may use models

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from chat import takeover
from chat.routing import websocket_urlpatterns
from chat.turns.running import shutdown
from chat.turns.slots import turn_slots
from oneclaw import llm, runtime_settings
from oneclaw.llm import descriptions
from oneclaw.telemetry import tracing
from oneclaw.web.body_limit import BodyLimitMiddleware
from oneclaw.web.limits.at_once import AtOnceMiddleware
from oneclaw.web.limits.early_refusal import Message, Receive, Send
from oneclaw.web.limits.retry_after import RetryAfterMiddleware
from oneclaw.web.mounted import MountingMiddleware, mounted
from oneclaw.web.origins import SameOriginMiddleware
from oneclaw.web.sign_in import SignInMiddleware


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    """Load at startup what the first answer needs, and save every running answer at shutdown."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            tracing.begin()
            await llm.warm_up()
            descriptions.begin()
            takeover.begin()
            runtime_settings.follow(use_limits)
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await shutdown()
            await descriptions.end()
            for each in mounted.values():
                await each.end()
            await send({"type": "lifespan.shutdown.complete"})
            return


def use_limits() -> None:
    """Let begin what waited, and ask again what was refused, because a limit may have been raised."""
    turn_slots.give_free()
    limited_pages.forget()


# The largest request is a plain form with all files of a message, or a file to import.
MIB_BYTES = 1024 * 1024
FORM_MAX_BYTES = max(settings.FILES.message_max_files * settings.FILES.max_bytes, settings.IMPORT_MEGABYTES * MIB_BYTES)
BODY_MAX_BYTES = FORM_MAX_BYTES + MIB_BYTES

limited_pages = RetryAfterMiddleware(AtOnceMiddleware(MountingMiddleware(get_asgi_application(), mounted)))
application = ProtocolTypeRouter(
    {
        "http": BodyLimitMiddleware(limited_pages, BODY_MAX_BYTES),
        "websocket": SameOriginMiddleware(SignInMiddleware(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
