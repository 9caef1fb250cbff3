"""Answer a request that was just refused with 429, and that is repeated before its Retry-After, without Django: to find
out each time that it is too early takes most of the work of the request itself."""

import math
import time

from oneclaw.web.limits.at_once import ADDRESS, TOO_MANY, asker_of
from oneclaw.web.limits.early_refusal import Application, Message, Receive, Send, refuse

# Refusals that are remembered; beyond, those that have ended are dropped, and then all.
REFUSALS_MAX_COUNT = 10_000
# A refusal for longer is not remembered: its sentence says more, such as that a budget is used up.
REMEMBERED_MAX_SECONDS = 60
# Only what changes nothing is remembered: one address takes the messages of a page and what stops an answer, and a
# message that is stored already is never refused.
REMEMBERED_METHODS = ("GET", "HEAD")

# Who asked, by which method, for which path.
Asked = tuple[str, str, str]


class RetryAfterMiddleware:
    """An ASGI middleware that remembers until when a request of a sign-in or key was refused."""

    def __init__(self, application: Application) -> None:
        self._application = application
        # By the monotonic clock.
        self._until: dict[Asked, float] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        asker = asker_of(scope)
        asked = asker, scope["method"], scope["path"]
        left = self._until.get(asked, 0.0) - time.monotonic()
        if left > 0:
            await refuse(scope, send, 429, "too_many_requests", TOO_MANY, math.ceil(left))
            return

        async def observed_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 429:
                self._remember(asked, message)
            await send(message)

        # Many people may have one address.
        is_remembered = scope["method"] in REMEMBERED_METHODS and not asker.startswith(ADDRESS)
        await self._application(scope, receive, observed_send if is_remembered else send)

    def forget(self) -> None:
        """Let every request through again that was refused for a while, because a limit may have been raised."""
        self._until.clear()

    def _remember(self, asked: Asked, response: Message) -> None:
        # Django keeps the case of the names.
        seconds = {name.lower(): value for name, value in response["headers"]}.get(b"retry-after", b"")
        if not seconds.isdigit() or int(seconds) > REMEMBERED_MAX_SECONDS:
            return
        now = time.monotonic()
        if len(self._until) >= REFUSALS_MAX_COUNT:
            self._until = {each: until for each, until in self._until.items() if until > now}
        if len(self._until) >= REFUSALS_MAX_COUNT:
            self._until.clear()
        self._until[asked] = now + int(seconds)
