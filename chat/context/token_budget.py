"""The tokens that sub-sessions may use: all that belong to one answer of a conversation share them."""

from django.db.models import F

from chat.context.tokens import tokens_after
from chat.models import ChatSession, Message, SubTask, Turn
from oneclaw import llm
from oneclaw.reasons import Reason


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
