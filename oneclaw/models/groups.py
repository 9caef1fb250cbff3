"""Groups of people, which hold roles in spaces for all of their members."""

from django.db import models

from oneclaw.models.people import User


class Group(models.Model):
    """A named group of people, kept by admins or by the provider of single sign-on."""

    name = models.CharField(max_length=150, unique=True)
    # What keeps its members: empty (admins), "oidc" or "saml" (each sign-in) or "scim"; admins cannot change those.
    managed_by = models.CharField(max_length=10, blank=True)
    # The provider's id of it.
    external_id = models.CharField(max_length=255, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["managed_by", "external_id"],
                condition=models.Q(external_id__isnull=False),
                name="one_group_of_an_external_id",
            )
        ]

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    """A person in a group."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="group_memberships")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "user"], name="member_once_per_group")]

    def __str__(self) -> str:
        return f"{self.user} in {self.group}"
