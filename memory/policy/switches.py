"""What is switched on for a person: the server's setting first, then the person's own choice.

What is off is neither written, nor read, nor offered as a tool. Switching off deletes nothing.
"""

import datetime as dt
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from memory.models import SwitchChoice
from oneclaw.models import User

Switch = SwitchChoice.Switch
Rows = TypeVar("Rows", bound="models.QuerySet")

# The times within which a switch was off: [from, until); None: since ever, and still.
Period = tuple[dt.datetime | None, dt.datetime | None]


@dataclass(frozen=True)
class State:
    """One switch of one person. `may_choose`: the server lets them."""

    switch: SwitchChoice.Switch
    is_on: bool
    may_choose: bool


def server(switch: SwitchChoice.Switch) -> str:
    """Return the server's setting: disabled, off (unless the person chose on), on (unless the person chose off)."""
    if switch == Switch.RECALL and settings.RECALL == "off":
        return "disabled"
    return settings.SWITCHES[switch]


def states(user: User) -> list[State]:
    """Return every switch of a person, in the order in which a page shows them."""
    rows = SwitchChoice.objects.filter(user=user).order_by("switch", "-pk").distinct("switch")
    chosen = dict(rows.values_list("switch", "on"))
    found = []
    for switch in Switch:
        value = server(switch)
        is_on = value != "disabled" and chosen.get(switch, value == "on")
        found.append(State(switch, is_on, value != "disabled"))
    return found


def on_for(user: User) -> frozenset[str]:
    """Return the switches that are on for this person."""
    return frozenset(state.switch for state in states(user) if state.is_on)


def is_on(user: User, switch: SwitchChoice.Switch) -> bool:
    return switch in on_for(user)


def choose(user: User, switch: SwitchChoice.Switch, on: bool) -> bool:
    """Store the person's choice; return whether it changed anything. Where the server forbids a choice, it does not."""
    state = next(state for state in states(user) if state.switch == switch)
    if not state.may_choose or state.is_on == on:
        return False
    SwitchChoice.objects.create(user=user, switch=switch, on=on)
    return True


def people_without(switch: SwitchChoice.Switch) -> "models.QuerySet[User]":
    """Return all people for whom the switch is off."""
    value = server(switch)
    if value == "disabled":
        return User.objects.all()
    newest = SwitchChoice.objects.filter(user=models.OuterRef("pk"), switch=switch).order_by("-pk").values("on")[:1]
    chosen = User.objects.annotate(chosen=models.Subquery(newest))
    return chosen.filter(Q(chosen=False) | Q(chosen=None)) if value == "off" else chosen.filter(chosen=False)


def off_periods(user: User, switch: SwitchChoice.Switch) -> list[Period]:
    """Return when the switch was off for the person, by their choices; before the first one the server's setting of now
    counts."""
    value = server(switch)
    if value == "disabled":
        return [(None, None)]
    changes = SwitchChoice.objects.filter(user=user, switch=switch).order_by("pk").values_list("at", "on")
    known: list[tuple[dt.datetime | None, bool]] = [(None, value == "on"), *changes]
    ends = [at for at, _ in known[1:]]
    return [(at, until) for (at, on), until in zip(known, [*ends, None], strict=True) if not on]


def said_while_on(messages: Rows, user: User, switch: SwitchChoice.Switch) -> Rows:
    """Return those of these messages that were said while the switch was on: what was said while it was off stays out
    of memory, also when it is on again."""
    within = [
        (Q(created_at__gte=since) if since else Q()) & (Q(created_at__lt=until) if until else Q())
        for since, until in off_periods(user, switch)
    ]
    return messages.exclude(reduce(or_, within)) if within else messages
