"""Allow WebSockets from pages of this server's own origin and of ONECLAW_ORIGINS only."""

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class SameOriginMiddleware:
    """An ASGI middleware that denies a WebSocket whose Origin is not the address that the request was sent to.

    A browser always sends the origin; a page of another site can forge neither it nor the Host header.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if is_allowed_origin(headers.get(b"origin", ""), headers.get(b"host", "")):
            return await self.application(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


def is_allowed_origin(origin: str, host: str) -> bool:
    """Return whether a page of `origin` may open a socket on `host` (with its port)."""
    if not origin:
        return False
    if origin in settings.ORIGINS:
        return True
    try:
        page, server = urlsplit(origin), urlsplit(f"//{host}")
        named = (page.hostname, page.port or DEFAULT_PORTS.get(page.scheme))
        own = (server.hostname, server.port or DEFAULT_PORTS.get(page.scheme))
    except ValueError:
        return False
    return page.scheme in ("http", "https") and named == own and validate_host(bracketed(host), settings.ALLOWED_HOSTS)


def bracketed(host: str) -> str:
    """Return `host` without its port; an IPv6 address keeps its brackets, as in ALLOWED_HOSTS."""
    return split_domain_port(host)[0]
