"""Limit how many requests a person may make, by a token bucket for each person in each process.

A person may use the requests of a minute at once, and then as many as come back with the time.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator

from django.utils.translation import ngettext

from oneclaw.fair_slots import NoSlotError, ThreadSlots
from oneclaw.runtime_settings import limit
from oneclaw.text import UserFacingError

# Buckets that are kept; beyond, full ones are dropped.
BUCKETS_MAX_COUNT = 10_000


class TooManyRequestsError(UserFacingError):
    """The person has made too many requests; the next one may follow in `retry_after` seconds."""

    code = "too_many_requests"

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after

    @property
    def sentence(self) -> str:
        """Return the sentence with the seconds, in the active language."""
        return ngettext(
            "Too many requests. Try again in %(number)d second.",
            "Too many requests. Try again in %(number)d seconds.",
            self.retry_after,
        ) % {"number": self.retry_after}


class TokenBuckets:
    """One bucket for each person, which holds the requests of a minute and fills up steadily."""

    def __init__(self, per_minute: Callable[[], int]) -> None:
        self._per_minute = per_minute
        self._lock = threading.Lock()
        # For each person the tokens that were left, and when.
        self._buckets: dict[int, tuple[float, float]] = {}

    def take(self, user_id: int) -> None:
        """Use up one request of the person. Raise TooManyRequestsError when none is left; 0 a minute is no limit."""
        size, now = self._per_minute(), time.monotonic()
        if not size:
            return
        with self._lock:
            if len(self._buckets) >= BUCKETS_MAX_COUNT:
                self._drop_full(size, now)
            left = self._left(user_id, size, now)
            self._buckets[user_id] = (left - 1 if left >= 1 else left), now
        if left < 1:
            raise TooManyRequestsError(math.ceil((1 - left) * 60 / size))

    def _left(self, user_id: int, size: int, now: float) -> float:
        tokens, at = self._buckets.get(user_id, (size, now))
        return min(size, tokens + (now - at) * size / 60)

    def _drop_full(self, size: int, now: float) -> None:
        self._buckets = {
            user_id: bucket for user_id, bucket in self._buckets.items() if self._left(user_id, size, now) < size
        }


api_requests = TokenBuckets(lambda: limit("api_requests_per_minute"))
searches = TokenBuckets(lambda: limit("searches_per_minute"))
messages = TokenBuckets(lambda: limit("messages_per_minute"))
uploads = TokenBuckets(lambda: limit("uploads_per_minute"))
# The searches of each person that run.
_running: ThreadSlots[int] = ThreadSlots(math.inf, lambda: limit("person_searches"))
# Until a search that is refused because others run may be tried again.
RUNNING_SECONDS = 1


@contextlib.contextmanager
def searching(user_id: int) -> Iterator[None]:
    """Count a search of the person while the block runs. Raise TooManyRequestsError when too many run, or have begun in
    this minute: each takes a connection to the database, and they would leave none to others."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_running.slot(user_id, 0))
        except NoSlotError:
            raise TooManyRequestsError(RUNNING_SECONDS) from None
        searches.take(user_id)
        yield
