"""The call of a program that is carried out now."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, transaction
from django.utils import translation

from memory.access.programs import ProgramAccess, UnreadableSpaceError
from memory.documents.write import DocumentError
from memory.policy.tombstones import LineForgottenError
from oneclaw.audit.record import from_address, record
from oneclaw.models import AuditKind, Space
from oneclaw.people.programs.grants import Grant, ScopeError
from oneclaw.text import InvalidTextError, UserFacingError
from oneclaw.threads import in_tool_thread

P = ParamSpec("P")
R = TypeVar("R")

FORGOTTEN = "Nothing was saved: the person has had this forgotten."
# The resource that lists what was forgotten.
FORGOTTEN_URI = "memory://forgotten"
NO_SPACE = "There is no such space, or this program may not read it."


class CallError(Exception):
    """What a program asked for was refused; the message is for its model."""


@dataclass
class ProgramCall:
    """One request of a program: what it may, under which address its person opens pages, and whether the database did
    not answer, so that the response must not look like an empty memory."""

    grant: Grant
    # The origin of the page, without a slash at its end.
    base: str
    address: str | None = None
    is_busy: bool = False

    def link(self, path: str) -> str:
        """Return the address of a page of this server."""
        return f"{self.base}{path}"


def uri_of(access: ProgramAccess, space: Space, path: str) -> str:
    """Return the address of a document as a resource. Pure."""
    return f"memory://own/{path}" if access.is_own(space) else f"memory://space/{space.pk}/{path}"


_call: ContextVar[ProgramCall] = ContextVar("program_call")


def begin(call: ProgramCall) -> None:
    """Make `call` the one of this context."""
    _call.set(call)


def present() -> ProgramCall:
    """Return the call that is carried out in this context."""
    return _call.get()


async def carried_out(
    name: str, function: Callable[Concatenate[ProgramCall, ProgramAccess, P], R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Return what sync `function` returns for the present call and its access, in a thread; `name` is that of the tool
    for the audit log. Raise CallError with a sentence for the model when it is refused."""
    call = present()
    try:
        return await in_tool_thread(recorded, call, name, lambda access: function(call, access, *args, **kwargs))
    except UnreadableSpaceError as error:
        raise CallError(NO_SPACE) from error
    except ScopeError as error:
        raise CallError(f"{error} The person can change it on the page “Connected programs”.") from error
    except LineForgottenError as error:
        raise CallError(FORGOTTEN) from error
    except (UserFacingError, DocumentError, InvalidTextError) as error:
        with translation.override("en"):
            raise CallError(str(error)) from error
    except (InterfaceError, OperationalError) as error:
        call.is_busy = True
        raise CallError("The memory does not answer now. Try again in a moment; it is not empty.") from error


def recorded(call: ProgramCall, name: str, function: Callable[[ProgramAccess], R]) -> R:
    """Return what `function` returns for the access of `call`, and record the call without its text, in one
    transaction."""
    user, key = call.grant.user, call.grant.key.pk
    with translation.override("en"), from_address(call.address):
        try:
            with transaction.atomic():
                outcome = function(ProgramAccess.of(call.grant))
                record(AuditKind.PROGRAM_CALLED, actor=user, key=key, tool=name)
        except (UnreadableSpaceError, ScopeError, LineForgottenError, UserFacingError, DocumentError):
            record(AuditKind.PROGRAM_CALLED, actor=user, key=key, tool=name, refused=True)
            raise
    return outcome
