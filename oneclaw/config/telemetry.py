"""Settings of what a running installation tells its operators."""

from oneclaw.config import environment

# Who sends this as a bearer token reads /metrics; without it, there is no such page.
METRICS_TOKEN = environment.text("ONECLAW_METRICS_TOKEN")
# Log lines as text, or as JSON objects.
LOG_FORMAT = environment.choice("ONECLAW_LOG_FORMAT", ["text", "json"], "text")
# The standard variable of OpenTelemetry: spans are exported there. Its other variables are read by its own library.
SPANS_ENDPOINT = environment.address("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"])

LOG_LEVEL = environment.choice("ONECLAW_LOG_LEVEL", ["debug", "info", "warning", "error"], "warning").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "oneclaw.telemetry.logs.TextLines"},
        "json": {"()": "oneclaw.telemetry.logs.JsonLines"},
    },
    "filters": {"no_probes": {"()": "oneclaw.telemetry.logs.NoProbes"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # Warnings of missing and forbidden pages are not logged: the browser shows them.
    "loggers": {"django.request": {"level": "ERROR", "filters": ["no_probes"]}},
}
