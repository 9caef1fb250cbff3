"""What beats came to, as the pages of schedules show it."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from chat.models import Beat, BeatQuerySet
from oneclaw.spend.prices import cost_of
from oneclaw.spend.usage import counts_of


@dataclass(frozen=True)
class BeatRow:
    """One beat with its outcome in words, its cost in US dollars (None without a price), the URL of its message, and
    that of the hidden conversation in which the model was asked; "" without one."""

    beat: Beat
    outcome: str
    cost: float | None
    address: str
    transcript: str


def beat_rows(beats: BeatQuerySet) -> list[BeatRow]:
    """Return `beats` as rows of a list, in their order."""
    rows = beats.select_related("schedule", "message", "turn")
    return [BeatRow(beat, _outcome(beat), cost_of_beat(beat), _address(beat), _transcript(beat)) for beat in rows]


def cost_of_beat(beat: Beat) -> float | None:
    """Return what the requests of `beat` cost; None when a price is missing or nothing was asked."""
    costs = [cost_of(model, counts_of(usage), settings.PRICES) for model, usage in beat.usage]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _outcome(beat: Beat) -> str:
    words = {
        Beat.Outcome.SENT: _("Told you something"),
        Beat.Outcome.QUIET: _("Stayed quiet"),
        Beat.Outcome.SKIPPED: _("Asked no model"),
        Beat.Outcome.FAILED: _("Failed"),
    }
    return words.get(Beat.Outcome(beat.outcome), "") if beat.outcome else ""


def _address(beat: Beat) -> str:
    return f"/c/{beat.message.session_id}#message-{beat.message_id}@{beat.message.seq}" if beat.message else ""


def _transcript(beat: Beat) -> str:
    return reverse("conversation", args=[beat.turn.session_id]) if beat.turn else ""
