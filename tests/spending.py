"""A payer for tests of calls that are not about what they cost."""

from oneclaw.models import Spend
from oneclaw.spend.calls import Payer, Spending

__all__ = ["NOBODY", "Spending"]

NOBODY = Payer(Spend.Purpose.ANSWER, None)
