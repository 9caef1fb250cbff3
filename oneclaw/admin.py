"""The Django admin of people, spaces and API keys. It uses the sign-in page of all people."""

from typing import Any, ClassVar

import allauth.account.admin
import allauth.idp.oidc.admin
import allauth.mfa.admin
import allauth.socialaccount.admin
import allauth.usersessions.admin  # noqa: F401 - registers what is unregistered below
import django.contrib.auth.admin  # noqa: F401
from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group as DjangoGroup
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import linebreaksbr
from django.utils.translation import gettext_lazy as _

from oneclaw.models import ApiKey, Budget, Group, GroupMember, InvariantRun, Space, SpaceMember, User
from oneclaw.people import addresses
from oneclaw.people.roles import has_role
from oneclaw.people.sign_in import fresh
from oneclaw.spaces import members

admin.site.site_header, admin.site.site_title, admin.site.index_title = "OneClaw", "OneClaw", "Administration"
# Whoever changes these rows, or reads the key of a session, could sign in as somebody else; people change their own in
# the settings.
for model in (EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken, UserSession, Client, Token):
    admin.site.unregister(model)
# Permissions follow from roles (oneclaw/people/roles.py), and people are in the groups of oneclaw/models/groups.py.
admin.site.unregister(DjangoGroup)
# The admin's own sign-in page would have no limit of attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]


class PersonForm(forms.ModelForm):
    class Meta:
        model = User
        fields = ("email", "first_name", "timezone")

    def clean_email(self) -> str:
        return self.cleaned_data["email"].strip().lower()


# What Django's filters append to a field; `year`, `month` and `day` are those of a date hierarchy.
FILTER_LOOKUPS = ("", "__exact", "__id__exact", "__isnull", "__isempty", "__gte", "__lt")
HIERARCHY_LOOKUPS = ("__gte", "__lt", "__year", "__month", "__day")


class DeclaredAdmin(admin.ModelAdmin):
    """The base of every class of the admin: a query string filters only by what its list declares.

    Django lets a query string filter by any column of the row, so that an admin could guess a value that no page shows
    letter by letter (`?content__regex=^-%20C`).
    """

    # The page of a row is its owner's, and an admin finds nothing there.
    view_on_site = False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Return whether `lookup` belongs to a filter that the list shows."""
        assert request is not None
        return lookup in self.declared_lookups(request)

    def declared_lookups(self, request: HttpRequest) -> set[str]:
        """Return the parameters of the filters that the list shows."""
        found = set()
        for shown in self.get_list_filter(request):
            if isinstance(shown, type) and issubclass(shown, admin.SimpleListFilter):
                found.add(str(shown.parameter_name))
            else:
                name = shown[0] if isinstance(shown, list | tuple) else shown
                found |= {f"{name}{suffix}" for suffix in FILTER_LOOKUPS}
        if self.date_hierarchy:
            found |= {f"{self.date_hierarchy}{suffix}" for suffix in HIERARCHY_LOOKUPS}
        return found


class NoAddAdmin(DeclaredAdmin):
    """Rows that only the product creates."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class ReadOnlyAdmin(NoAddAdmin):
    """Rows that only the product writes."""

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class JobAdmin(ReadOnlyAdmin):
    """The list of jobs with their states and errors. A subclass names the columns of its kind of job."""

    columns: ClassVar[list[str]]
    # Of what a job works with, only its list says something; the token is the claim of a worker.
    exclude = ["token", "space", "session", "revision"]
    ordering = ["-created_at"]
    list_select_related = ["owner"]

    def get_list_display(self, request: HttpRequest) -> Any:
        common = ["status", "due_at", "lease_until", "attempts", "created_at", "finished_at", "error"]
        return ["id", "owner", *self.columns, *common]

    def get_list_filter(self, request: HttpRequest) -> Any:
        return ["status", *self.list_filter]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return ["owner__email", "error", *self.search_fields]


class RightsAdmin(DeclaredAdmin):
    """Rows that say who may do what, or who signs in with which address: they change after a fresh sign-in only."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return after_proof(request) or super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return after_proof(request) or super().delete_view(request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return after_proof(request) or super().changelist_view(request, *args, **kwargs)


def after_proof(request: HttpRequest) -> HttpResponse | None:
    """Return where the person proves who they are before `request` changes something; None when they need not."""
    return None if request.method != "POST" or fresh.is_fresh(request) else fresh.to_proof(request)


@admin.register(User)
class PersonAdmin(RightsAdmin, NoAddAdmin):
    """People as rows. Roles, invitations and links are on the pages of the team, and passwords are not set here."""

    about = _(
        "Each row is a person with an account. Their roles, invitations and links for a forgotten password are on the "
        "page People."
    )
    form = PersonForm
    list_display = ["email", "first_name", "role", "is_active", "last_login"]
    list_filter = ["is_active", "role"]
    search_fields = ["email", "first_name"]
    ordering = ["email"]
    readonly_fields = ["role", "is_active", "last_login", "date_joined"]
    fieldsets = [
        (None, {"fields": ["email", "first_name", "timezone", "role", "is_active"]}),
        ("When", {"fields": ["date_joined", "last_login"]}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Return the fields that cannot be changed; the address of another person with a role is one: who has the
        address can have the password reset."""
        is_protected = obj is not None and has_role(obj) and obj != request.user
        return [*self.readonly_fields, *(["email"] if is_protected else [])]

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the person, and tell them of a new email address."""
        super().save_model(request, obj, form, change)
        former = form.initial.get("email", obj.email)
        if obj.email != former:
            assert isinstance(request.user, User)
            addresses.after_change(obj, former, by=request.user)


class MemberFormSet(BaseInlineFormSet):
    """The members of a space, which keeps an owner."""

    def clean(self) -> None:
        super().clean()
        kept = [form.cleaned_data for form in self.forms if getattr(form, "cleaned_data", None)]
        if not any(data.get("role") == SpaceMember.Role.OWNER and not data.get("DELETE") for data in kept):
            raise ValidationError("A space needs an owner.")


class MemberInline(admin.TabularInline):
    model = SpaceMember
    formset = MemberFormSet
    fields = ["user", "role"]
    extra = 0
    autocomplete_fields = ["user"]

    def has_add_permission(self, request: HttpRequest, obj: Space | None = None) -> bool:
        return is_shared(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Space | None = None) -> bool:
        return is_shared(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Space | None = None) -> bool:
        return is_shared(obj) and super().has_delete_permission(request, obj)


def is_shared(space: Space | None) -> bool:
    """Return whether `space` may have members besides its owner; True for a new space."""
    return space is None or not space.is_private


@admin.register(Space)
class SpaceAdmin(RightsAdmin, NoAddAdmin):
    about = _(
        "Each row says whose a memory is: a person's own, what one agent knows of one person, or the space of a "
        "project or a team with its members."
    )
    list_display = ["name", "kind", "owner", "created_at", "archived_at"]
    list_filter = ["kind"]
    search_fields = ["name", "owner__email"]
    fields = ["name", "description", "kind", "owner", "needs_second_person", "created_at", "archived_at"]
    readonly_fields = ["kind", "owner", "created_at", "archived_at"]
    inlines = [MemberInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the members, and set one of the owners in the row of a shared space."""
        super().save_related(request, form, formsets, change)
        if not form.instance.is_private:
            members.choose_owner(form.instance)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class GroupMemberInline(admin.TabularInline):
    model = GroupMember
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["since"]

    def has_add_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return is_kept_here(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return is_kept_here(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return is_kept_here(obj) and super().has_delete_permission(request, obj)


def is_kept_here(group: Group | None) -> bool:
    """Return whether admins change the members of `group`; True for a new one."""
    return group is None or not group.managed_by


@admin.register(Group)
class GroupAdmin(RightsAdmin):
    about = _("Each row is a group of people, which is a member of spaces with all of them.")
    list_display = ["name", "managed_by", "created_at"]
    list_filter = ["managed_by"]
    search_fields = ["name"]
    fields = ["name", "managed_by", "external_id", "created_at"]
    readonly_fields = ["managed_by", "external_id", "created_at"]
    inlines = [GroupMemberInline]

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return is_kept_here(obj) and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        return self.readonly_fields if is_kept_here(obj) else self.fields


@admin.register(ApiKey)
class ApiKeyAdmin(NoAddAdmin):
    """API keys: whose they are and when they were used. Deleting a key revokes it; its token is never shown."""

    about = _("Each row is an API key with which a program acts for a person. Delete it to revoke it.")
    list_display = ["__str__", "user", "created_at", "last_used_at", "expires_at"]
    list_select_related = ["user"]
    search_fields = ["user__email", "ending"]
    fields = ["user", "ending", "created_at", "last_used_at", "expires_at"]

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(InvariantRun)
class InvariantRunAdmin(ReadOnlyAdmin):
    """The checks of the invariants with their violations, newest first."""

    about = _(
        "Each row is one check that no data is lost, doubled or visible to the wrong person. "
        "Open it to see what it found."
    )
    list_display = ["at", "count", "checked", "seconds"]
    fields = ["at", "seconds", "checked", "count", "found"]
    readonly_fields = ["at", "seconds", "checked", "count", "found"]

    @admin.display(description="violations")
    def found(self, run: InvariantRun) -> str:
        lines = (f"{violation['invariant']}: {violation['text']}" for violation in run.violations)
        return linebreaksbr("\n".join(lines)) or "none"


@admin.register(Budget)
class BudgetAdmin(DeclaredAdmin):
    about = _("Each row says how much everybody, a group or a person may spend in a day or a month.")
    list_display = ["period", "user", "group", "max_cost", "max_tokens"]
    list_filter = ["period"]
    autocomplete_fields = ["user"]
    fields = ["period", "user", "group", "max_cost", "max_tokens"]
