"""One sentence about what has just been done, with a way back; it waits for the next page if need be."""

from dataclasses import asdict, dataclass, field

from django.http import HttpRequest

from oneclaw.reasons import Reason

# In the browser's session. What earlier versions kept was called toast and held a sentence.
KEY = "notice"


@dataclass(frozen=True)
class Toast:
    reason: Reason
    # The action of chat/library/organise.py that takes it back, and the conversations that it is about.
    undo: str = ""
    ids: list[str] = field(default_factory=list)
    bad: bool = False


def keep(request: HttpRequest, toast: Toast) -> None:
    """For the next page that this browser opens."""
    request.session[KEY] = asdict(toast) | {"reason": toast.reason.as_json}


def take(request: HttpRequest) -> Toast | None:
    """What waits for this browser, once."""
    kept = request.session.pop(KEY, None)
    reason = Reason.of(kept["reason"]) if kept else None
    return Toast(**kept | {"reason": reason}) if reason else None
