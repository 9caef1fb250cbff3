"""Send the audit log to a collector: each linked event once or more, in order, signed as Standard Webhooks say.

`webhook-id` is the position of the event in the chain, by which the collector recognises one that comes again.
"""

import datetime as dt
import json
import logging
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import F

from oneclaw.jobs import BACKOFF_SECONDS
from oneclaw.models import AuditDelivery, AuditLink, clock
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import AUDIT_COLLECTOR
from oneclaw.reasons import Reason

if TYPE_CHECKING:
    # At run time, deliver imports it: few installations have a collector.
    import httpx2

logger = logging.getLogger(__name__)

# Events that one run sends, each by a request of its own.
BATCH_EVENTS = 50


def deliver() -> int:
    """Send the events that the collector does not have, and return how many it has confirmed.

    Another process that sends at the same time does nothing. After a failure the rest waits for a backoff.
    """
    if not settings.AUDIT_WEBHOOK:
        return 0
    from oneclaw.outgoing.client import client as guarded_client

    AuditDelivery.objects.get_or_create(pk=AuditDelivery.ONLY)
    with transaction.atomic(), guarded_client(AUDIT_COLLECTOR) as client:
        due = AuditDelivery.objects.select_for_update(skip_locked=True).filter(due_at__lte=clock.database_now())
        delivery = due.first()
        if delivery is None:
            return 0
        links = AuditLink.objects.filter(position__gt=delivery.position).order_by("position")
        sent = 0
        for link in links.select_related("event")[:BATCH_EVENTS]:
            reason = _send(client, link)
            if reason is not None:
                wait = BACKOFF_SECONDS[min(delivery.failures, len(BACKOFF_SECONDS) - 1)]
                AuditDelivery.objects.update(
                    failures=F("failures") + 1, error=reason, due_at=clock.database_now() + dt.timedelta(seconds=wait)
                )
                break
            AuditDelivery.objects.update(position=link.position, failures=0, error=None)
            sent += 1
    return sent


def _send(client: "httpx2.Client", link: AuditLink) -> Reason | None:
    """Send one event. Return why it has failed; None when the collector has it."""
    import httpx2
    from standardwebhooks.webhooks import Webhook

    event, number = link.event, str(link.position)
    data = event.as_json | {"position": link.position, "hash": bytes(link.hash or b"").hex()}
    body = json.dumps({"type": event.kind, "timestamp": event.at.isoformat(), "data": data}, ensure_ascii=False)
    now = dt.datetime.now(dt.UTC)
    headers = {
        "content-type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(settings.AUDIT_WEBHOOK_SECRET).sign(number, now, body),
    }
    try:
        response = client.post(settings.AUDIT_WEBHOOK, content=body.encode(), headers=headers)
    except RefusedError as refused:
        return refused.reason
    except httpx2.HTTPError as error:
        logger.warning("The collector of the audit log cannot be reached: %s", type(error).__name__)
        return Reason("audit.unreachable")
    if response.is_success:
        return None
    logger.warning("The collector of the audit log answered %s.", response.status_code)
    return Reason("audit.refused", {"status": response.status_code})
