"""Slots of running turns: how many turns of this process, and of one person in it, may ask the model at once.

A turn without a slot waits. A free slot goes to the person with the fewest running turns, and among several to the one
who was served longest ago (oneclaw/fair_slots.py).
"""

from django.utils.translation import gettext_lazy as _

from oneclaw.fair_slots import FairSlots
from oneclaw.runtime_settings import limit
from oneclaw.text import UserFacingError

# For each running turn, a person may have this many that wait.
WAITING_FACTOR = 5


class TooManyTurnsError(UserFacingError):
    """The person has as many waiting turns as may be."""

    wording = _("Too many of your messages wait for an answer. Wait for some of them, then send this one again.")


class TurnSlots(FairSlots[int]):
    """The slots of one process, whose holders are people."""

    def __init__(self) -> None:
        super().__init__(lambda: limit("upstream_streams"), lambda _: limit("person_turns"), prefers_idle=True)

    def refuse_if_full(self, user_id: int) -> None:
        """Raise TooManyTurnsError when no further turn of the person may wait."""
        if self.waiting_count(user_id) >= WAITING_FACTOR * limit("person_turns"):
            raise TooManyTurnsError


turn_slots = TurnSlots()
