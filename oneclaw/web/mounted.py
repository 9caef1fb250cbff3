"""ASGI applications of other apps that answer an address which is no page of Django, such as /mcp.

An app registers one in its AppConfig.ready(); it is behind the same limits as the pages (oneclaw/asgi.py).
"""

from collections.abc import Mapping
from typing import Protocol

from oneclaw.web.limits.early_refusal import Application, Message, Receive, Send


class MountedApplication(Protocol):
    """An ASGI application with a beginning and an end of its own."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None: ...

    async def end(self) -> None:
        """End what it runs in the background, because the process ends."""


mounted: dict[str, MountedApplication] = {}


class MountingMiddleware:
    """An ASGI middleware that hands a request for the path of one of `applications` to it, and others on."""

    def __init__(self, application: Application, applications: Mapping[str, MountedApplication]) -> None:
        self._application, self._applications = application, applications

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        found = self._applications.get(scope["path"].rstrip("/"))
        await (found or self._application)(scope, receive, send)
