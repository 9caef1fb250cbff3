from django.apps import AppConfig


class OneClawConfig(AppConfig):
    name = "oneclaw"
    label = "oneclaw"
    verbose_name = "People and spaces"

    def ready(self) -> None:
        from oneclaw import people  # noqa: F401 - connects its receiver
