"""What a running installation tells its operators: metrics.py numbers for Prometheus, tracing.py spans for
OpenTelemetry, logs.py JSON lines. None of it holds anything that a person or a model wrote."""
