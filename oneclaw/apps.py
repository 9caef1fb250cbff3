from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class OneClawConfig(AppConfig):
    # Without this, Django chooses none of several configurations in one module.
    default = True
    name = "oneclaw"
    label = "oneclaw"
    verbose_name = "People and spaces"

    def ready(self) -> None:
        from oneclaw import domains, wordings
        from oneclaw.audit import receivers as audit_receivers  # noqa: F401 - connects its receivers
        from oneclaw.leaving import account
        from oneclaw.people import invitations, passwords  # noqa: F401 - connect their receivers
        from oneclaw.people.sign_in import single_sign_on  # noqa: F401 - connect their receivers
        from oneclaw.spaces import receivers  # noqa: F401

        domains.register(domains.Domain("oneclaw", wordings.WORDINGS, account.INVARIANTS, account.REFERENCES))


class StaticFilesAppConfig(StaticFilesConfig):
    # Besides Django's own patterns: extensions of django-htmx, which no page uses and whose imports are missing, and
    # type declarations.
    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx/ext/*", "*.d.ts"]
