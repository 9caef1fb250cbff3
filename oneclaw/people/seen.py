"""Record when people were last here, so that admins see which accounts are used.

A page that a person opens, a message that they send, and a request with their key count; a page that only stays open
does not. It is one UPDATE of each person in SEEN_INTERVAL, and nothing in between: the time is read with the person.
"""

import datetime as dt
import logging
from collections.abc import Callable

from django.db import Error
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from oneclaw.models import User, clock

logger = logging.getLogger(__name__)

SEEN_INTERVAL = dt.timedelta(minutes=10)


def is_due(user: User) -> bool:
    """Return whether `user`, as they were read, were last seen so long ago that it is worth an UPDATE."""
    last = user.last_seen
    return last is None or last <= timezone.now() - SEEN_INTERVAL


def record_seen(user: User) -> None:
    """Record that `user` are here now, unless another process did so meanwhile. Sync.

    What they did is done by then: it is not answered by an error when this cannot be stored.
    """
    now = clock.database_now()
    long_ago = Q(last_seen_at=None) | Q(last_seen_at__lte=now - SEEN_INTERVAL)
    try:
        User.objects.filter(long_ago, pk=user.pk).update(last_seen_at=now)
    except Error:
        logger.warning("When a person was last here was not stored.", exc_info=True)
    # Of this row as a socket keeps it.
    user.last_seen_at = timezone.now()


def seen_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that records the signed-in person of each request that was answered."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        user = request.user
        if isinstance(user, User) and is_due(user):
            record_seen(user)
        return response

    return answer
