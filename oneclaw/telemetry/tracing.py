"""Spans for OpenTelemetry, when OTEL_EXPORTER_OTLP_ENDPOINT is set; without it nothing of it is imported.

    with span("tool", tool="memory_search"):
        …

A span carries names, ids and numbers, and nothing that a person or a model wrote. Spans of one request, turn or task
belong to one trace.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from celery import signals
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from oneclaw.outgoing.purposes import TELEMETRY
from oneclaw.telemetry.ids import current_ids

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Attribute = str | int | float | bool


def begin() -> None:
    """Export the spans of this process in the background, if an endpoint is set. Called once a process."""
    if not settings.SPANS_ENDPOINT:
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from oneclaw.outgoing.sessions import session

    provider = TracerProvider(resource=Resource.create({"service.name": "oneclaw"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(session=session(TELEMETRY))))
    trace.set_tracer_provider(provider)


@cache
def _tracer() -> "Tracer | None":
    if not settings.SPANS_ENDPOINT:
        return None
    from opentelemetry import trace

    return trace.get_tracer("oneclaw")


@contextlib.contextmanager
def span(name: str, **attributes: Attribute) -> Iterator[None]:
    """Make a span of the block, with the ids of request and turn; nothing when no endpoint is set."""
    tracer = _tracer()
    if tracer is None:
        yield
        return
    named = {f"oneclaw.{key}": value for key, value in {**current_ids(), **attributes}.items()}
    from opentelemetry.trace import Status, StatusCode

    # The library would keep the message of an exception, as an event and as the description of the status.
    with tracer.start_as_current_span(
        name, attributes=named, record_exception=False, set_status_on_exception=False
    ) as begun:
        try:
            yield
        except Exception as error:
            begun.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def span_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Make a span of each request, named by its method and the name of its URL."""

    def answer(request: HttpRequest) -> HttpResponse:
        with span(f"{request.method} {request.path.split('/')[1] or 'chat'}"):
            return get_response(request)

    return answer


_tasks: dict[str, Any] = {}


@signals.task_prerun.connect
def begin_task(task_id: str, task: Any, **kwargs: Any) -> None:
    """Begin the span of a task of a worker."""
    if settings.SPANS_ENDPOINT:
        _tasks[task_id] = begun = span(task.name)
        begun.__enter__()


@signals.task_postrun.connect
def end_task(task_id: str, **kwargs: Any) -> None:
    """End the span of a task."""
    if begun := _tasks.pop(task_id, None):
        begun.__exit__(None, None, None)
