"""The shapes of a bar chart, which a template draws as SVG. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

WIDTH, HEIGHT = 620, 160
# Room below for the days, and between two bars.
FOOT, GAP = 18, 4


@dataclass(frozen=True)
class Bar:
    """One bar with its place, and the text below it ("": none)."""

    x: float
    y: float
    width: float
    height: float
    label: str
    middle: float


def bars_of(values: Sequence[tuple[str, Decimal | int]]) -> list[Bar]:
    """Return a bar for each (label, value): together of the whole width, of heights by their values, every fifth with
    its label."""
    most = max((Decimal(value) for _, value in values), default=Decimal(0))
    step = WIDTH / max(1, len(values))
    bars = []
    for number, (label, value) in enumerate(values):
        # What is not nothing can be seen.
        height = max(2.0, float(Decimal(value) / most) * (HEIGHT - FOOT)) if value and most else 0.0
        x, y = number * step + GAP / 2, HEIGHT - FOOT - height
        shown = label if number % 5 == 0 else ""
        bars.append(
            Bar(round(x, 1), round(y, 1), round(step - GAP, 1), round(height, 1), shown, round(x + (step - GAP) / 2, 1))
        )
    return bars
