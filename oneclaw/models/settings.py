"""Settings that owners change on a page, while the processes run."""

from django.db import models

from oneclaw.models.people import User


class RuntimeSetting(models.Model):
    """The value of a setting that oneclaw/runtime_settings.py declares; without a row it has its default."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.TextField(blank=True)
    changed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name
