"""The admin of agents and linked peers, which can be edited, and of conversations, turns, imports and routes, shown
without content."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from chat.models import Agent, ChatSession, ContextRound, IdentityLink, ImportJob, Rating, SessionRoute, Turn
from chat.routes import identities
from oneclaw.admin import DeclaredAdmin, JobAdmin, ReadOnlyAdmin
from oneclaw.models import User
from oneclaw.text import UserFacingError


@admin.register(Agent)
class AgentAdmin(DeclaredAdmin):
    """The server's agents. Agents that people made for themselves are not shown."""

    about = _(
        "Each row is an agent that everyone can choose: change its name, instructions, model and "
        "tools, or add another one. Agents that people created for themselves are not shown."
    )
    list_display = ["name", "slug", "model", "is_default"]
    fields = [
        "name",
        "slug",
        "instructions",
        "model",
        "effort",
        "dm_scope",
        "tools_off",
        "tools_on",
        "own_memory",
        "is_default",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return super().get_queryset(request).filter(owner=None, deleted_at=None)

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> list[str]:
        return ["slug", "own_memory"] if obj else []

    def get_prepopulated_fields(self, request: HttpRequest, obj: Agent | None = None) -> dict[str, Sequence[str]]:
        return {} if obj else {"slug": ["name"]}


@admin.register(ChatSession)
class ChatSessionAdmin(ReadOnlyAdmin):
    """Conversations with their owner and times, without their title and messages."""

    about = _(
        "Each row is a conversation: who has it, with which agent, and when it was active. What was said in it "
        "is its owner's and not shown."
    )
    list_display = ["id", "owner", "agent", "mode", "last_seq", "active_at", "deleted_at"]
    list_filter = ["mode", "agent"]
    search_fields = ["id", "owner__email"]
    fields = ["id", "key", "owner", "agent", "mode", "last_seq", "created_at", "active_at", "ended_at", "deleted_at"]


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    """Turns with their status and error, which say why a person got no answer."""

    about = _("Each row is one attempt to answer a message: the status and the error say why somebody got no answer.")
    list_display = ["id", "session", "kind", "attempt", "status", "error_code", "started_at", "finished_at"]
    list_filter = ["status", "error_code", "kind"]
    fields = ["session_id", "kind", "attempt", "status", "lease_until", "error_code", "error", "started_at"]


@admin.register(ContextRound)
class ContextRoundAdmin(JobAdmin):
    """Summaries and prunings of conversations with their sizes and errors, without their texts."""

    about = _(
        "Each row is a change of what the model is sent for a conversation: a summary of its older messages, or "
        "shortened results. Their texts are not shown."
    )
    columns = [
        "session_id",
        "number",
        "kind",
        "reason",
        "maker",
        "tokens_before",
        "tokens_after",
        "used_at",
        "undone_at",
    ]
    list_filter = ["kind", "maker"]
    fields = [*columns, "owner", "status", "due_at", "lease_until", "attempts", "error", "created_at", "finished_at"]


@admin.register(ImportJob)
class ImportJobAdmin(JobAdmin):
    """Imports with their progress and error, without the name and content of their files."""

    about = _(
        "Each row is an import of conversations: how far it is, and why it failed. The name and the content of its "
        "file are not shown."
    )
    columns = ["total", "done", "brought", "known", "skipped"]
    fields = [*columns, "owner", "status", "due_at", "lease_until", "attempts", "error", "created_at", "finished_at"]


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin):
    """The numbers of good and bad answers by day, agent and model. No page shows a single rating or its reason."""

    about = _(
        "Each row says how many answers people rated good and bad, by day, agent and model. What was said, by whom, "
        "and the reasons are not shown."
    )
    # Rows of numbers that are shown, the newest.
    SHOWN_ROWS = 500

    def get_urls(self) -> list[URLPattern]:
        """Return the list alone: every other page of a model would show its rows."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="chat_rating_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
        """Show the numbers. Raise PermissionDenied for admins who may not see ratings."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": _("Ratings"),
            "opts": self.opts,
            "about": self.about,
            "counts": Rating.objects.counts()[: self.SHOWN_ROWS],
        }
        return TemplateResponse(request, "admin/chat/ratings.html", context)


@admin.register(SessionRoute)
class SessionRouteAdmin(ReadOnlyAdmin):
    """Routes with their owner, channel and times, without their peers."""

    about = _(
        "Each row leads the messages of one channel and sender to their current conversation. The sender is not shown, "
        "because it is private."
    )
    list_display = ["id", "owner", "agent", "channel", "last_person_at", "check_at"]
    list_filter = ["channel"]
    fields = ["owner", "agent", "channel", "session_id", "started_at", "last_person_at", "check_at", "reset"]


class IdentityLinkForm(forms.ModelForm):
    """A link that an admin makes, which no code has proven."""

    class Meta:
        model = IdentityLink
        fields = ("owner", "canonical", "provider", "peer")

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if "owner" in fields and "canonical" in fields:
            try:
                fields["canonical"] = identities.checked_name(fields["owner"], fields["canonical"])
            except UserFacingError as refusal:
                self.add_error("canonical", refusal.sentence)
        return fields


@admin.register(IdentityLink)
class IdentityLinkAdmin(DeclaredAdmin):
    """Linked peers. An admin may make and remove links; a link shows nothing of the conversations."""

    about = _(
        "Each row says that a sender in a channel is a person whom its owner knows by a name. Only the owner's own "
        "programs can bring messages of this sender to the owner's conversations."
    )
    form = IdentityLinkForm
    list_display = ["id", "owner", "canonical", "provider", "peer", "proven_at", "by"]
    search_fields = ["owner__email"]

    def save_model(self, request: HttpRequest, obj: IdentityLink, form: forms.ModelForm, change: bool) -> None:
        """Save the link as one by this admin."""
        obj.by, obj.proven_at = request.user if isinstance(request.user, User) else None, None
        super().save_model(request, obj, form, change)
