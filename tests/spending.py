"""A payer for tests of calls that are not about what they cost, and for whom calls were."""

from oneclaw.models import Spend
from oneclaw.spend.calls import Payer, Spending

__all__ = ["NOBODY", "Spending", "paid_for"]

NOBODY = Payer(Spend.Purpose.ANSWER, None)


def paid_for(purpose):
    """The person, the space and the conversation of each call for this purpose, and whether tokens were counted."""
    rows = Spend.objects.filter(purpose=purpose).order_by("at")
    return [(row.user_id, row.space_id, row.session_id, row.tokens > 0) for row in rows]
