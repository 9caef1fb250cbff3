"""One sentence about what has just been done, with a way back; it waits for the next page if need be."""

from dataclasses import asdict, dataclass, field

from django.http import HttpRequest

KEY = "toast"


@dataclass(frozen=True)
class Toast:
    sentence: str
    # The action of chat/library/organise.py that takes it back, and the conversations that it is about.
    undo: str = ""
    ids: list[str] = field(default_factory=list)
    bad: bool = False


def keep(request: HttpRequest, toast: Toast) -> None:
    """For the next page that this browser opens."""
    request.session[KEY] = asdict(toast)


def take(request: HttpRequest) -> Toast | None:
    """What waits for this browser, once."""
    kept = request.session.pop(KEY, None)
    return Toast(**kept) if kept else None
