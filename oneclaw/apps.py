from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class OneClawConfig(AppConfig):
    # Django takes neither of several in a module unless one says so.
    default = True
    name = "oneclaw"
    label = "oneclaw"
    verbose_name = "People and spaces"

    def ready(self) -> None:
        from oneclaw import reasons, wordings
        from oneclaw.people import invitations  # noqa: F401 - connects its receiver

        reasons.register(wordings.WORDINGS)


class StaticFiles(StaticFilesConfig):
    # Beside the usual: scripts of django-htmx that no page uses and that import what is not there; types of scripts.
    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx/ext/*", "*.d.ts"]
