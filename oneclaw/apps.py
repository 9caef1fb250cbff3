from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class OneClawConfig(AppConfig):
    name = "oneclaw"
    label = "oneclaw"
    # Of the configurations in this file it is the app's own.
    default = True
    verbose_name = "People and spaces"

    def ready(self) -> None:
        from oneclaw import reasons, wordings
        from oneclaw.people import invitations  # noqa: F401 - connects its receiver

        reasons.register(wordings.WORDINGS)


class StaticFiles(StaticFilesConfig):
    # Beside the usual: scripts of django-htmx that no page uses, and that import what is not there.
    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx/ext/*"]
