"""Further servers for models, and which groups may use a model or the models of a server."""

from typing import ClassVar
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from oneclaw.models.groups import Group
from oneclaw.models.people import User
from oneclaw.sealing import seal, unseal


class ModelServer(models.Model):
    """A further server for models; oneclaw/llm/upstreams/servers.py reads the enabled ones, in this order."""

    NAME_MAX_CHARS: ClassVar[int] = 40
    URL_MAX_CHARS: ClassVar[int] = 300
    KEY_MAX_CHARS: ClassVar[int] = 1000

    # It never changes: answers and rules name it.
    name = models.CharField(max_length=NAME_MAX_CHARS)
    url = models.CharField(max_length=URL_MAX_CHARS)
    # Encrypted for the origin of `url`; empty: the server needs no key.
    sealed_key = models.TextField(blank=True)
    # Its models in their order: [{"model": …, "label": …, "price": "2/10", "instead_of": […]}].
    offers = models.JSONField(default=list)
    # Whether it is sent nothing of anybody's memory.
    memory_stays_home = models.BooleanField(default=False)
    is_enabled = models.BooleanField(default=True)
    # Servers with a smaller number are asked first.
    position = models.PositiveSmallIntegerField(default=0)
    # Counts the changes: a form that was opened before another change is not saved over it.
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    objects: ClassVar[models.Manager["ModelServer"]] = models.Manager()

    class Meta:
        ordering = ["position", "created_at", "pk"]
        constraints = [models.UniqueConstraint(Lower("name"), name="one_model_server_of_a_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """Return the key of the server, "" if it needs none. Raise UnsealableError when it cannot be read."""
        return unseal(self.sealed_key, context=self._key_context) if self.sealed_key else ""

    def set_key(self, key: str) -> None:
        """Seal `key` for the origin of the address, so that it is of no use for another one; "": none."""
        self.sealed_key = seal(key, context=self._key_context) if key else ""

    @property
    def origin(self) -> str:
        """Return scheme, host and port of the address."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}".lower()

    @property
    def _key_context(self) -> str:
        return f"model server {self.origin}"


class ModelRule(models.Model):
    """The only groups whose members may use a model, or a further server; without groups it is closed.

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
