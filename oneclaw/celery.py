"""The Celery application. A task is a hint; the row it names says what is to be done."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

app = Celery("oneclaw")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
