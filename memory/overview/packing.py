"""Pack circles closely around the first one, for the drawing of topics. Pure.

    for circle in packed([44, 30, 30]): …

Each circle touches two of those before it, as near to the middle as there is room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, sqrt

# How much nearer to the middle one unit across counts than one unit down: the drawing is wider than high.
ACROSS_WEIGHT = 0.6
# Rounding, in units of the drawing.
OVERLAP_MAX_SIZE = 1e-6


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle by its centre and its radius, in units of the drawing."""

    x: float
    y: float
    radius: float

    def overlaps(self, other: "Circle") -> bool:
        """Return whether the two circles have an area in common."""
        return hypot(self.x - other.x, self.y - other.y) < self.radius + other.radius - OVERLAP_MAX_SIZE


@dataclass(frozen=True, slots=True)
class Box:
    """The smallest upright rectangle around circles."""

    x: float
    y: float
    width: float
    height: float


def packed(radii: Sequence[float], gap: float = 0) -> list[Circle]:
    """Return a circle for each of `radii`, in their order, with at least `gap` between any two."""
    # Larger circles first: the small ones fill what is left around them.
    order = sorted(range(len(radii)), key=lambda number: -radii[number])
    laid: list[Circle] = []
    for number in order:
        laid.append(min(_free(laid, radii[number] + gap / 2), key=_distance))
    found = dict(zip(order, laid, strict=True))
    return [
        Circle(circle.x, circle.y, radii[number]) for number, circle in sorted(found.items(), key=lambda pair: pair[0])
    ]


def box_of(circles: Sequence[Circle]) -> Box:
    """Return the box of `circles`, of which there is one at least."""
    left, top = (min(getattr(each, axis) - each.radius for each in circles) for axis in "xy")
    right, bottom = (max(getattr(each, axis) + each.radius for each in circles) for axis in "xy")
    return Box(left, top, right - left, bottom - top)


def _free(laid: Sequence[Circle], radius: float) -> Iterator[Circle]:
    """Yield the circles of `radius` that touch two of `laid` and overlap none."""
    if not laid:
        yield Circle(0, 0, radius)
    elif len(laid) == 1:
        yield Circle(laid[0].x + laid[0].radius + radius, laid[0].y, radius)
    for one, other in combinations(laid, 2):
        for circle in _touching(one, other, radius):
            if not any(circle.overlaps(each) for each in laid):
                yield circle


def _touching(one: Circle, other: Circle, radius: float) -> Iterator[Circle]:
    """Yield the two circles of `radius` that touch `one` and `other`; none when these are too far apart."""
    across, down = other.x - one.x, other.y - one.y
    distance = hypot(across, down)
    from_one, from_other = one.radius + radius, other.radius + radius
    # From the centre of `one`: how far along the line to `other`, and how far to its side.
    along = (distance**2 + from_one**2 - from_other**2) / (2 * distance)
    if abs(along) > from_one:
        return
    aside = sqrt(from_one**2 - along**2)
    for side in (aside, -aside):
        yield Circle(
            one.x + (along * across - side * down) / distance, one.y + (along * down + side * across) / distance, radius
        )


def _distance(circle: Circle) -> float:
    return ACROSS_WEIGHT * circle.x**2 + circle.y**2
