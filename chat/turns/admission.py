"""Whether a person may begin a turn now: how many they have sent, how many wait, and what they may spend; and whether
a sub-session may ask its model once more.

What is refused is not stored. A message that is stored already is never refused: its sender has only lost the reply.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext as _

from chat.context.tokens import tokens_after
from chat.models import ChatSession, Message, SubTask, Turn
from chat.turns.slots import TooManyTurnsError, turn_slots
from oneclaw import llm, pubsub, runtime_settings
from oneclaw.llm.budgets import refuse
from oneclaw.models import User
from oneclaw.reasons import Reason
from oneclaw.spend import budgets
from oneclaw.text import UserFacingError
from oneclaw.threads import in_database
from oneclaw.web.rate_limit import TooManyRequestsError, messages

# Seconds after which a program may ask whether the maintenance has ended.
MAINTENANCE_RETRY_SECONDS = 120


class MaintenanceError(UserFacingError):
    """Maintenance is on, and a person who is no owner has sent a message. `text` is what an owner has written about it,
    which people are shown."""

    code = "maintenance"
    retry_after = MAINTENANCE_RETRY_SECONDS

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    @property
    def sentence(self) -> str:
        """Return what an owner has written: why, and when it ends."""
        return f"{_('Maintenance')}: {self.text}"


# What may be tried again later; each has a `sentence`.
NOT_NOW_ERRORS = (TooManyTurnsError, TooManyRequestsError, llm.BudgetUsedUpError, MaintenanceError)

P = ParamSpec("P")
R = TypeVar("R")


async def admit(user: User, client_id: UUID | None) -> None:
    """Raise TooManyTurnsError or TooManyRequestsError when `user` may not begin a turn now."""
    try:
        turn_slots.refuse_if_full(user.pk)
        messages.take(user.pk)
    except (TooManyTurnsError, TooManyRequestsError):
        if not await in_database(_is_stored, user, client_id):
            raise


def within_budgets(user: User, client_id: UUID | None, store: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `store` returns, unless a budget of `user` is used up; tell them once when most of one is. Sync.

    Raise BudgetUsedUpError, or MaintenanceError unless an owner writes.
    """
    maintenance = runtime_settings.value("maintenance")
    if maintenance and not user.is_superuser and not _is_stored(user, client_id):
        raise MaintenanceError(maintenance)
    states = budgets.states_of(user)
    try:
        refuse(user, states)
    except llm.BudgetUsedUpError:
        if not _is_stored(user, client_id):
            raise
    stored = store(*args, **kwargs)
    if warned := budgets.to_warn_of(user, states):
        payload = {"kind": "budget", "scope": warned.scope, "period": warned.budget.period, "percent": warned.percent}
        pubsub.notify(f"user:{user.pk}", payload)
    return stored


def _is_stored(user: User, client_id: UUID | None) -> bool:
    return client_id is not None and Message.objects.visible_to(user).filter(client_id=client_id).exists()


class TokensUsedUpError(llm.ModelRequestError):
    """The sub-sessions of one answer have used as many tokens as they may."""

    reason_code = "turn.tokens_used_up"
    code = "tokens_used_up"

    @property
    def reason(self) -> Reason:
        """Return the reason with the number of tokens."""
        return Reason(self.reason_code, {"tokens": int(self.detail or 0)})


def refuse_if_used_up(turn: Turn) -> None:
    """Raise TokensUsedUpError or BudgetUsedUpError before a request of a sub-session that may use no more. Sync."""
    llm.refuse_if_used_up(turn.session.owner_id)
    task = SubTask.objects.filter(session=turn.session_id).first()
    if task is not None and tokens_of_tree(task.root_turn_id) >= task.token_budget:
        raise TokensUsedUpError(str(task.token_budget))


def tokens_of_tree(root_turn_id: int) -> int:
    """Return how many tokens the requests of all sub-sessions of this turn have read and written."""
    return _total(session__sub_task__root_turn=root_turn_id)


def tokens_of_session(session: ChatSession) -> int:
    """Return how many tokens the requests of the sub-session have read and written."""
    return _total(session=session)


def _total(**wanted: object) -> int:
    # The first messages of a fork are copies.
    own = Message.objects.filter(**wanted, usage__isnull=False, seq__gt=F("session__copied_seq"))
    return sum(tokens_after(usage or {}) for usage in own.values_list("usage", flat=True))
