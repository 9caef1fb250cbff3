"""Circles are packed closely, without overlapping."""

import random
from itertools import combinations
from math import hypot

import pytest

from memory.overview.packing import OVERLAP_MAX_SIZE, Circle, box_of, packed


def distance(one, other):
    return hypot(one.x - other.x, one.y - other.y) - one.radius - other.radius


@pytest.mark.parametrize("seed", range(20))
def test_circles_keep_their_order_their_size_and_the_gap(seed):
    chance = random.Random(seed)
    radii = [chance.uniform(20, 50) for _ in range(chance.randrange(1, 9))]
    circles = packed(radii, gap=3)
    assert [circle.radius for circle in circles] == radii
    for one, other in combinations(circles, 2):
        assert distance(one, other) > 3 - 2 * OVERLAP_MAX_SIZE


@pytest.mark.parametrize("seed", range(20))
def test_each_circle_touches_another_one(seed):
    chance = random.Random(seed)
    circles = packed([chance.uniform(20, 50) for _ in range(8)])
    for one in circles:
        assert min(distance(one, other) for other in circles if other is not one) < 1e-6


def test_the_largest_is_in_the_middle_and_eight_fill_a_box():
    circles = packed([30, 30, 50, 30, 30, 30, 30, 30])
    assert (circles[2].x, circles[2].y) == (0, 0)
    box = box_of(circles)
    assert sum(3.15 * circle.radius**2 for circle in circles) > 0.5 * box.width * box.height
    assert box.width > box.height


def test_none_and_one():
    assert packed([]) == []
    assert packed([7]) == [Circle(0, 0, 7)]
    assert box_of([Circle(1, 2, 7)]).width == 14
