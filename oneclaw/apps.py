from django.apps import AppConfig


class OneClawConfig(AppConfig):
    name = "oneclaw"
    label = "oneclaw"
    verbose_name = "People and spaces"
