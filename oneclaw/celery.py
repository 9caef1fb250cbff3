"""The Celery application. A task is a hint; the row that it names says what to do."""

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

app = Celery("oneclaw")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def keep_logging(**kwargs: Any) -> None:
    """Keep Django's logging: with a receiver of this signal, Celery does not configure its own."""
