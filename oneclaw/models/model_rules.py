"""Which groups may use a model, or the models of a server."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from oneclaw.models.groups import Group


class ModelRule(models.Model):
    """The only groups whose members may use a model, or a server of ONECLAW_UPSTREAMS; without groups it is closed.

    What has no rule is for everybody. A rule outlives its last group, so that nothing is opened by a deletion.
    """

    # One of both: the name of a server, or of a model wherever it is.
    server = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["ModelRule"]] = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["server", "model"], name="one_rule_of_a_model"),
            models.CheckConstraint(
                condition=(Q(server="") & ~Q(model="")) | (~Q(server="") & Q(model="")),
                name="rule_of_a_model_or_server",
            ),
        ]

    def __str__(self) -> str:
        return f"rule of {self.model or self.server}"
