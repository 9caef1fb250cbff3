"""Record what a person does, in the transaction in which it is done.

    record(AuditKind.KEY_MADE, actor=user, name="Backup")

`remembering_request_middleware` keeps the address of the request and who has sent it, so that no function has to hand
them on.
"""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest, HttpResponse

from oneclaw.models import AuditEvent, AuditKind, Space, User

_address: ContextVar[str | None] = ContextVar("audit_address", default=None)
# Who has sent the request, as far as that is known.
_sender: ContextVar[Callable[[], User | None]] = ContextVar("audit_sender", default=lambda: None)


def record(
    kind: AuditKind,
    *,
    actor: User | None = None,
    person: User | int | None = None,
    space: Space | int | None = None,
    **details: Any,
) -> AuditEvent:
    """Store an event of `kind` by `actor`, with `details` of names, codes and numbers.

    Without `actor` it is by who has sent the request. `person` and `space` are rows, or ids of rows that may be gone.
    It is stored if and only if the transaction is: what was not recorded was not done.
    """
    actor = actor or _sender.get()()
    concerned = person.pk if isinstance(person, User) else person
    return AuditEvent.objects.create(
        kind=kind,
        actor=actor.pk if actor is not None else None,
        person=concerned if actor is None or concerned != actor.pk else None,
        space=space.pk if isinstance(space, Space) else space,
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


@contextmanager
def from_address(address: str | None) -> Iterator[None]:
    """Keep `address` for the events that the block causes: of a request that Django does not see."""
    token = _address.set(address)
    try:
        yield
    finally:
        _address.reset(token)


def remembering_request_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Keep the address and the sender of each request for the events that it causes."""

    def middleware(request: HttpRequest) -> HttpResponse:
        address, sender = _address.set(address_of(request)), _sender.set(lambda: signed_in(request))
        try:
            return get_response(request)
        finally:
            _sender.reset(sender)
            _address.reset(address)

    return middleware


def signed_in(request: HttpRequest) -> User | None:
    """Return who has sent `request`: with a sign-in, or with an API key."""
    sender = getattr(request, "auth", None) or request.user
    return sender if isinstance(sender, User) and sender.is_authenticated else None
