"""The Celery application. A task is a hint; the row it names says what is to be done."""

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

app = Celery("oneclaw")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def keep_logging(**kwargs: Any) -> None:
    """That somebody listens keeps Celery from setting up logging of its own beside Django's."""
