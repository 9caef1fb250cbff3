"""The numbers of this process for Prometheus: counters, gauges and histograms, in seconds and in numbers of things.

The numbers of what waits in the database are read with each request for them (oneclaw/ops/waiting.py).
"""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

registry = CollectorRegistry()

# Buckets in seconds: of what a person waits for, and of whole answers.
QUICK_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
ANSWER_SECONDS = (0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600)

requests = Histogram(
    "oneclaw_request_seconds",
    "Requests for pages and of the API, by method and by the first digit of the status.",
    ["method", "status"],
    buckets=QUICK_SECONDS,
    registry=registry,
)
acknowledgements = Histogram(
    "oneclaw_acknowledgement_seconds",
    "From a message on a socket to its acknowledgement, when it is stored.",
    buckets=QUICK_SECONDS,
    registry=registry,
)
turns = Histogram(
    "oneclaw_turn_seconds",
    "Whole turns, by how they ended: complete, stopped, interrupted, failed or lost.",
    ["outcome"],
    buckets=ANSWER_SECONDS,
    registry=registry,
)
turns_running = Gauge("oneclaw_turns_running", "Turns that this process runs.", registry=registry)
turn_errors = Counter(
    "oneclaw_turn_errors", "Turns that failed, by the code of their failure.", ["code"], registry=registry
)
first_events = Histogram(
    "oneclaw_model_first_event_seconds",
    "From a request to the model to the first part of its answer.",
    ["model"],
    buckets=ANSWER_SECONDS,
    registry=registry,
)
model_requests = Counter(
    "oneclaw_model_requests",
    "Requests to the model, by how they ended: ok, abandoned, or the code of the failure.",
    ["model", "outcome"],
    registry=registry,
)
tokens = Counter(
    "oneclaw_tokens",
    "Tokens that the model's server counted: input, output, cache_read and cache_write.",
    ["model", "kind"],
    registry=registry,
)
cost = Counter("oneclaw_cost_dollars", "What calls of models have cost, in US dollars.", ["model"], registry=registry)
lost_leases = Counter("oneclaw_lost_leases", "Turns that another process took from this one.", registry=registry)
sockets = Gauge("oneclaw_sockets", "Open sockets of this process.", registry=registry)

# Methods that have numbers of their own: any word may be sent as one, and each would be kept for ever.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# The names of a count of tokens in the API's usage, and here.
TOKEN_KINDS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def count_request(method: str, status: int, seconds: float) -> None:
    """Count a request that was answered with `status` after so many seconds."""
    requests.labels(method if method in METHODS else "other", f"{status // 100}xx").observe(seconds)


def count_call(model: str, usage: Mapping[str, object], price: float) -> None:
    """Count what one call of `model` took: the tokens of the API's `usage`, and its price in US dollars."""
    cost.labels(model).inc(price)
    for name, kind in TOKEN_KINDS.items():
        count = usage.get(name)
        if isinstance(count, int) and count > 0:
            tokens.labels(model, kind).inc(count)
