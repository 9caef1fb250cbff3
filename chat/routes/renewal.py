"""End the current conversations of many routes, which go on in new ones, by a number of statements that does not grow
with theirs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from chat.conversations import lifecycle
from chat.models import ChatSession, SessionRoute
from chat.routes.reset_times import Cause
from chat.signals import sessions_ended
from oneclaw import pubsub


@dataclass(frozen=True)
class DueRoute:
    """A locked route whose locked conversation is to be reset now, and why."""

    route: SessionRoute
    session: ChatSession
    cause: Cause


@transaction.atomic
def renew(routes: Sequence[DueRoute]) -> None:
    """End the conversations of `routes` as `lifecycle.end` does, and let each route go on in a new one."""
    kept = [each for each in routes if not each.session.is_temporary]
    for each in routes:
        if each.session.is_temporary:
            lifecycle.end(each.session, each.cause)
    if not kept:
        return
    followers = ChatSession.objects.bulk_create(lifecycle.successor(each.session) for each in kept)
    for each, follower in zip(kept, followers, strict=True):
        each.route.session = follower
        each.route.started_at = each.route.last_person_at = each.route.check_at = None
    times = ["session", "started_at", "last_person_at", "check_at"]
    SessionRoute.objects.bulk_update([each.route for each in kept], times)
    ended = ChatSession.objects.filter(pk__in=[each.session.pk for each in kept])
    ended.update(ended_at=timezone.now())
    owners = {each.session.owner_id for each in kept}
    pubsub.notify_all([(f"user:{owner}", {"kind": "sessions"}) for owner in sorted(owners)])
    by_cause: defaultdict[Cause, list[ChatSession]] = defaultdict(list)
    for each in kept:
        by_cause[each.cause].append(each.session)
    for cause, sessions in by_cause.items():
        sessions_ended.send_robust(ChatSession, sessions=sessions, reason=cause)
