"""Serve `/metrics` in the format of Prometheus, to who has the token, and measure each request."""

import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from oneclaw.ops.waiting import RowsCollector
from oneclaw.telemetry import metrics

rows = CollectorRegistry()
rows.register(RowsCollector())


@login_not_required
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Return the numbers of this process and of the database. Raise Http404 without ONECLAW_METRICS_TOKEN."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    if not settings.METRICS_TOKEN or not secrets.compare_digest(
        request.headers.get("Authorization", "").encode(), expected.encode()
    ):
        raise Http404
    body = generate_latest(metrics.registry) + generate_latest(rows)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def metrics_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Measure each request until its response begins."""

    def answer(request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = get_response(request)
        metrics.count_request(request.method or "", response.status_code, time.monotonic() - began)
        return response

    return answer
