"""Agents for admins to edit; conversations to look up by number, without their content."""

from django.contrib import admin
from django.http import HttpRequest

from chat.models import Agent, ChatSession, Turn


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "model", "is_default"]
    prepopulated_fields = {"slug": ["name"]}


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the product writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(ChatSession)
class ChatSessionAdmin(ReadOnlyAdmin):
    """That a conversation exists and when it was active; what was said in it stays its owner's."""

    list_display = ["id", "owner", "agent", "mode", "last_seq", "active_at", "deleted_at"]
    list_filter = ["mode", "agent"]
    search_fields = ["id", "owner__email"]
    # What may be asked for in the address: every other column could be guessed letter by letter.
    FILTERS = ("mode__exact", "agent__id__exact")
    fields = ["id", "key", "owner", "agent", "mode", "last_seq", "created_at", "active_at", "ended_at", "deleted_at"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup in self.FILTERS


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    """How answers ended: for finding out why somebody got none."""

    list_display = ["id", "session", "kind", "attempt", "status", "error_code", "started_at", "finished_at"]
    list_filter = ["status", "error_code", "kind"]
    fields = ["session_id", "kind", "attempt", "status", "lease_until", "error_code", "error_text", "started_at"]
