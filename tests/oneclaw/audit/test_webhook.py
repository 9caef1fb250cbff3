"""The collector gets every event, in order and signed, also after it was away."""

import http.server
import json
import threading

import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from oneclaw.audit import chain, webhook
from oneclaw.audit.record import record
from oneclaw.models import AuditDelivery, AuditKind

pytestmark = pytest.mark.django_db
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def collector(settings):
    """A collector that keeps what it is sent, and answers with `collector.status`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.requests.append((dict(self.headers), body))
            self.send_response(server.status)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.status = [], 204
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings.AUDIT_WEBHOOK = f"http://127.0.0.1:{server.server_port}/audit"
    settings.AUDIT_WEBHOOK_SECRET = SECRET
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_events_arrive_in_order_and_their_signatures_hold(collector, ada):
    for number in range(2):
        record(AuditKind.KEY_MADE, actor=ada, number=number)
    chain.link_all()

    assert webhook.deliver() == 2
    assert webhook.deliver() == 0
    bodies = [Webhook(SECRET).verify(body, headers) for headers, body in collector.requests]
    assert [body["data"]["details"]["number"] for body in bodies] == [0, 1]
    assert bodies[1]["data"]["hash"] == chain.newest().hash.hex()
    assert [headers["webhook-id"] for headers, _ in collector.requests] == ["1", "2"]


def test_after_a_refusal_it_is_tried_again_later(collector, ada):
    record(AuditKind.KEY_MADE, actor=ada)
    chain.link_all()
    collector.status = 503

    assert webhook.deliver() == 0
    delivery = AuditDelivery.objects.get()
    assert "503" in str(delivery.error)
    assert delivery.due_at > timezone.now()
    collector.status = 200
    assert webhook.deliver() == 0
    AuditDelivery.objects.update(due_at=timezone.now())
    assert webhook.deliver() == 1
    assert len({json.loads(body)["data"]["id"] for _, body in collector.requests}) == 1
