"""Words of the server that a message of the person brings to the model: how full the window is, and what must be kept.

They are stored with the message, so that they are sent again as they are.
"""

from collections.abc import Sequence

from django.db import transaction

from chat.context.meter import Meter
from chat.context.rounds import RoundsInView
from chat.context.view import META_KEY
from chat.models import ChatSession, Turn

# The model gets a note once when this share of the window is used, in percent.
NOTED_PERCENTS = (50, 70, 85)


def is_new(turn: Turn) -> bool:
    """Return whether the message of `turn` was never sent before, so that words may be added to it."""
    return turn.kind == Turn.Kind.SEND and turn.attempt == 1 and META_KEY not in turn.prompt.meta


def fullness_note(session: ChatSession, meter: Meter, rounds: RoundsInView) -> dict[str, object]:
    """Return what is stored with the next message of `session` about the used share of its window; {} when the model
    had such a note before."""
    percent = reached(meter.used_tokens, meter.window_tokens)
    if percent <= noted_percent(session, rounds):
        return {}
    return {"percent": percent, "notes": [f"[Context: {meter.percent} % of {meter.window_tokens:,} tokens used.]"]}


@transaction.atomic
def store(turn: Turn, sent: dict[str, object]) -> None:
    """Store `sent` with the message of `turn`."""
    if sent:
        turn.prompt.meta = {**turn.prompt.meta, META_KEY: {**turn.prompt.meta.get(META_KEY, {}), **sent}}
        turn.prompt.save(update_fields=["meta"])


def reached(used: int, window: int, percents: Sequence[int] = NOTED_PERCENTS) -> int:
    """Return the highest of `percents` that `used` tokens of `window` reach; 0 for none. Pure."""
    return max((percent for percent in percents if 100 * used >= percent * window), default=0)


def noted_percent(session: ChatSession, rounds: RoundsInView) -> int:
    """Return the highest share of the window that the model had a note about since the summary in use; 0 for none."""
    since = rounds.compact.used_after_seq if rounds.compact else 0
    noted = session.messages.shown().filter(seq__gt=since, **{f"meta__{META_KEY}__has_key": "percent"})
    return max((int(meta[META_KEY]["percent"]) for meta in noted.values_list("meta", flat=True)), default=0)
