"""Record what a person does, in the transaction in which it is done.

    record(AuditKind.KEY_MADE, actor=user, name="Backup")

`remembering_request_middleware` keeps the address of the request, so that no function has to hand it on.
"""

import ipaddress
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest, HttpResponse

from oneclaw.models import AuditEvent, AuditKind, Space, User

_address: ContextVar[str | None] = ContextVar("audit_address", default=None)


def record(
    kind: AuditKind,
    *,
    actor: User | None = None,
    person: User | None = None,
    space: Space | None = None,
    **details: Any,
) -> AuditEvent:
    """Store an event of `kind` by `actor`, with `details` of names, codes and numbers.

    It is stored if and only if the transaction is: what was not recorded was not done.
    """
    concerned = person.pk if person is not None and person != actor else None
    return AuditEvent.objects.create(
        kind=kind,
        actor=actor.pk if actor is not None else None,
        person=concerned,
        space=space.pk if space is not None else None,
        address=_address.get(),
        details=details,
    )


def address_of(request: HttpRequest) -> str | None:
    """Return the IP address that `request` came from; None when it came through a Unix socket.

    Behind a trusted proxy, uvicorn has put the one that the proxy names there.
    """
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None


def remembering_request_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Keep the address of each request for the events that it causes."""

    def middleware(request: HttpRequest) -> HttpResponse:
        token = _address.set(address_of(request))
        try:
            return get_response(request)
        finally:
            _address.reset(token)

    return middleware
