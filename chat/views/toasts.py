"""One sentence about an action, with an undo; it is kept for the next page if needed."""

from dataclasses import asdict, dataclass, field

from django.http import HttpRequest

from oneclaw.reasons import Reason

# In the browser's session. What earlier versions kept was called toast and held a sentence.
KEY = "notice"


@dataclass(frozen=True)
class Toast:
    reason: Reason
    # The action of chat/library/organise.py that undoes it, and its conversations.
    undo: str = ""
    ids: list[str] = field(default_factory=list)
    bad: bool = False
    # What apps keep of deleted conversations, and the page that offers to remove it too.
    remains: Reason | None = None
    address: str = ""


def keep(request: HttpRequest, toast: Toast) -> None:
    """Store `toast` for the next page that this browser opens."""
    remains = toast.remains and toast.remains.as_json
    request.session[KEY] = asdict(toast) | {"reason": toast.reason.as_json, "remains": remains}


def take(request: HttpRequest) -> Toast | None:
    """Return and remove the toast stored for this browser; None when there is none."""
    kept = request.session.pop(KEY, None)
    reason = Reason.of(kept["reason"]) if kept else None
    return Toast(**kept | {"reason": reason, "remains": Reason.of(kept.get("remains"))}) if reason else None
