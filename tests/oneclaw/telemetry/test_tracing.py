"""Spans reach a collector when there is one, in a process of their own; otherwise nothing of it is loaded."""

import http.server
import os
import subprocess
import sys
import threading

from tests.stage import ROOT

SPANS = """
import django, sys
django.setup()
from oneclaw.telemetry import ids, tracing
tracing.begin()
ids.turn_id.set(42)
with tracing.span("turn"):
    with tracing.span("tool", tool="memory_search"):
        pass
try:
    with tracing.span("failing"):
        raise LookupError("zyzzyva")
except LookupError:
    pass
if "opentelemetry" in sys.modules:
    from opentelemetry import trace
    trace.get_tracer_provider().shutdown()
print("opentelemetry" in sys.modules)
"""


def in_a_process(**variables: str) -> str:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"} | variables
    done = subprocess.run([sys.executable, "-c", SPANS], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_an_endpoint_nothing_of_it_is_loaded():
    assert in_a_process() == "False"


def test_spans_are_sent_with_names_and_ids():
    bodies: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            said = in_a_process(
                OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.server_port}",
                OTEL_EXPORTER_OTLP_COMPRESSION="none",
            )
        finally:
            server.shutdown()
            thread.join()

    assert said == "True"
    sent = b"".join(bodies)
    for word in (b"turn", b"tool", b"memory_search", b"oneclaw.turn_id", b"failing", b"LookupError"):
        assert word in sent
    assert b"zyzzyva" not in sent, "the message of an exception may quote"
