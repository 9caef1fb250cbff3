"""Decide which parts of memory are switched on for a person: by the server's setting, then by the person's choice.

A part that is off is neither written, nor read, nor offered as a tool. Switching off deletes nothing.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeVar

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Q, QuerySet

from memory.models import SwitchChoice
from oneclaw.models import User

Switch = SwitchChoice.Switch
Rows = TypeVar("Rows", bound="models.QuerySet")

# A period in which a switch was off: [from, until). None: without a beginning, or without an end.
Period = tuple[dt.datetime | None, dt.datetime | None]


@dataclass(frozen=True)
class SwitchState:
    """One switch of one person. `may_choose`: whether the server allows the person to change it."""

    switch: SwitchChoice.Switch
    is_on: bool
    may_choose: bool


def server_setting(switch: SwitchChoice.Switch) -> str:
    """Return the server's setting of `switch`: "disabled", or the default "off" or "on", which people may change."""
    if switch == Switch.RECALL and settings.RECALL == "off":
        return "disabled"
    return settings.SWITCHES[switch]


def states(user: User) -> list[SwitchState]:
    """Return every switch of `user`, in the order in which a page shows them."""
    on = on_for(user)
    return [SwitchState(switch, switch in on, server_setting(switch) != "disabled") for switch in Switch]


def on_for(user: User) -> frozenset[str]:
    """Return the switches that are on for `user`."""
    return on_with(dict(newest_choices(user.pk).values_list("switch", "on")))


def on_with(chosen: Mapping[str, bool]) -> frozenset[str]:
    """Return the switches that are on for a person who chose `chosen`, {switch: whether it is on}."""
    values = {switch: server_setting(switch) for switch in Switch}
    return frozenset(each for each, value in values.items() if value != "disabled" and chosen.get(each, value == "on"))


def newest_choices(user_id: int | OuterRef) -> QuerySet[SwitchChoice]:
    """Return the newest choice of the person for each switch that they ever chose."""
    return SwitchChoice.objects.filter(user=user_id).order_by("switch", "-pk").distinct("switch")


def of_spaces() -> frozenset[str]:
    """Return the switches that are on in shared conversations, where no person's choices count: those that the server
    has on. The summaries of recent conversations are a person's own."""
    return frozenset(switch for switch in Switch if switch != Switch.RECENT and server_setting(switch) == "on")


def is_on(user: User, switch: SwitchChoice.Switch) -> bool:
    """Return whether `switch` is on for `user`."""
    return switch in on_for(user)


def choose(user: User, switch: SwitchChoice.Switch, on: bool) -> bool:
    """Store the choice of `user`; return whether it changed anything.

    Nothing changes when the server disables the switch, or when it is already as chosen.
    """
    state = next(state for state in states(user) if state.switch == switch)
    if not state.may_choose or state.is_on == on:
        return False
    SwitchChoice.objects.create(user=user, switch=switch, on=on)
    return True


def people_without(switch: SwitchChoice.Switch) -> "models.QuerySet[User]":
    """Return all people for whom `switch` is off."""
    value = server_setting(switch)
    if value == "disabled":
        return User.objects.all()
    newest = SwitchChoice.objects.filter(user=models.OuterRef("pk"), switch=switch).order_by("-pk").values("on")[:1]
    chosen = User.objects.annotate(chosen=models.Subquery(newest))
    return chosen.filter(Q(chosen=False) | Q(chosen=None)) if value == "off" else chosen.filter(chosen=False)


def off_periods(user: User, switch: SwitchChoice.Switch) -> list[Period]:
    """Return the periods in which `switch` was off for `user`, by their choices.

    The server's present setting counts for the time before the first choice.
    """
    value = server_setting(switch)
    if value == "disabled":
        return [(None, None)]
    changes = SwitchChoice.objects.filter(user=user, switch=switch).order_by("pk").values_list("at", "on")
    known: list[tuple[dt.datetime | None, bool]] = [(None, value == "on"), *changes]
    ends = [at for at, _ in known[1:]]
    return [(at, until) for (at, on), until in zip(known, [*ends, None], strict=True) if not on]


def was_off(user: User, switch: SwitchChoice.Switch, at: dt.datetime) -> bool:
    """Return whether `switch` is off for `user`, or was at the time `at`."""
    periods = off_periods(user, switch)
    return any(until is None or ((since is None or since <= at) and at < until) for since, until in periods)


def said_while_on(messages: Rows, user: User, switch: SwitchChoice.Switch) -> Rows:
    """Return those of `messages` that were created while `switch` was on for `user`.

    Messages from a time when it was off stay out of memory, even when it is switched on again.
    """
    within = [
        (Q(created_at__gte=since) if since else Q()) & (Q(created_at__lt=until) if until else Q())
        for since, until in off_periods(user, switch)
    ]
    return messages.exclude(reduce(or_, within)) if within else messages
