"""Let admins find and correct documents through the one write path, and view the other rows of memory."""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.index.vectors import notice
from memory.models import (
    DocumentJob,
    EmbeddingModel,
    Flush,
    Forgetting,
    MemoryDocument,
    MemoryRevision,
    Proposal,
    Review,
    Suggestion,
)
from memory.notes import status
from memory.policy import curation
from memory.policy.line_ends import with_line_ends_of
from oneclaw.admin import DeclaredAdmin, JobAdmin, NoAddAdmin, ReadOnlyAdmin
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

# How many revisions the page of a document shows.
SHOWN_REVISIONS = 50


class DocumentForm(forms.ModelForm):
    """The form of a document: the content, and the version that the admin saw."""

    content = forms.CharField(widget=forms.Textarea(attrs={"rows": 24, "cols": 100}), required=False, strip=False)
    base_version = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = MemoryDocument
        fields = ["content"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["base_version"].initial = self.instance.version

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        current = MemoryDocument.objects.get(pk=self.instance.pk)
        cleaned["content"] = with_line_ends_of(current.content, cleaned.get("content", ""))
        if "base_version" in cleaned and cleaned["base_version"] != current.version:
            raise forms.ValidationError(
                "Somebody else has changed this document since you opened it (you saw version %(seen)s, it has "
                "version %(current)s). Nothing was saved, and your text is still in the field: copy it, open the "
                "document again, and make your change in the new version.",
                params={"seen": cleaned["base_version"], "current": current.version},
            )
        try:
            write.check(current.path, cleaned["content"])
        except (write.DocumentError, InvalidTextError) as error:
            raise forms.ValidationError(str(error)) from error
        return cleaned


class KindFilter(admin.SimpleListFilter):
    """A filter of documents by the kind that their path indicates."""

    title = "kind"
    parameter_name = "kind"
    KINDS = {
        "curated": ("curated memory", Q(path="MEMORY.md")),
        "log": ("daily logs", Q(path__regex=r"^memory/\d{4}-\d{2}-\d{2}[^/]*\.md$")),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*((key, label) for key, (label, _) in self.KINDS.items()), ("other", "other files")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryDocument]) -> QuerySet[MemoryDocument]:
        if self.value() == "other":
            for _, condition in self.KINDS.values():
                queryset = queryset.exclude(condition)
        elif self.value() in self.KINDS:
            queryset = queryset.filter(self.KINDS[str(self.value())][1])
        return queryset


class StateFilter(admin.SimpleListFilter):
    """A filter of documents by state; deleted documents are shown only with it."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("deleted", "deleted"), ("behind", "file or index behind")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryDocument]) -> QuerySet[MemoryDocument]:
        if self.value() == "deleted":
            return queryset.exclude(deleted_at=None)
        if self.value() == "behind":
            return queryset.to_mirror() | queryset.to_index()  # type: ignore[attr-defined]
        return queryset.filter(deleted_at=None)


class OfSpaceAdmin(DeclaredAdmin):
    """Rows whose list names spaces or paths: while curation is closed, those of others are only counted."""

    # The lookup from a row to its space.
    space_field: ClassVar[str] = "space"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the list may name."""
        rows = super().get_queryset(request)
        if not curation.is_closed():
            return rows
        open_spaces = Space.objects.filter(curation.open_to(cast(User, request.user)))
        return rows.filter(**{f"{self.space_field}__in": open_spaces.values("pk")})

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list, and how many rows are not in it while curation is closed."""
        more: dict[str, Any] = {}
        if curation.is_closed() and self.has_view_permission(request):
            hidden = self.model._default_manager.count() - self.get_queryset(request).count()
            text = ngettext("%(count)d more is closed to you.", "%(count)d more are closed to you.", hidden)
            more = {"subtitle": text % {"count": hidden}}
        return super().changelist_view(request, more | (extra_context or {}))


class CuratedAdmin(OfSpaceAdmin):
    """Rows that show what people wrote: they open, and are deleted, as ONECLAW_CURATION says, and each look and each
    deletion is recorded. No list of them has a search or a filter of what was written: it would be a look."""

    change_form_template = "admin/memory/curated.html"
    # The foreign key of a row to its document; "" of a row that is one.
    document_field: ClassVar[str] = ""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row. Raise Http404 for a row that is closed or not there."""
        found = super().get_object(request, object_id, from_field)
        if found is None:
            raise Http404
        return found

    def document_of(self, row: Any) -> MemoryDocument:
        """Return the document that `row` shows."""
        return cast(MemoryDocument, getattr(row, self.document_field) if self.document_field else row)

    @transaction.atomic
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the row, or ask for a reason first. Raise Http404 when admins may not open it."""
        row = self.get_object(request, unquote(object_id))
        if row is not None and self.has_view_permission(request, row):
            user, document = cast(User, request.user), self.document_of(row)
            if (asked := self._refused(request, document)) is not None:
                return asked
            if request.method == "GET" and curation.is_of_others(user, document.space):
                curation.record_look(user, document)
        return super().change_view(request, object_id, form_url, extra_context)

    @transaction.atomic
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask whether to delete the row, or for a reason first. Raise Http404 when admins may not open it."""
        row = self.get_object(request, unquote(object_id))
        if row is not None and self.has_delete_permission(request, row):
            asked = self._refused(request, self.document_of(row))
            if asked is not None:
                return asked
        return super().delete_view(request, object_id, extra_context)

    def _refused(self, request: HttpRequest, document: MemoryDocument) -> HttpResponse | None:
        """Return the page that asks for a reason, or the redirect after one was given; None when the document is open.
        Raise Http404 when admins may not open it."""
        user = cast(User, request.user)
        if curation.is_open_for(user, document.space):
            return None
        if curation.is_closed():
            raise Http404
        reason = request.POST.get("reason_to_look", "").strip()[: curation.REASON_MAX_CHARS]
        if reason:
            curation.record_look(user, document, reason=reason)
            return redirect(request.get_full_path())
        title = _("Why do you open this memory?")
        context = {**self.admin_site.each_context(request), "title": title, "document": document}
        return render(request, "admin/memory/reason.html", context)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show nothing: Django's history of a row is in the audit log."""
        raise Http404


@admin.register(MemoryDocument)
class MemoryDocumentAdmin(CuratedAdmin, NoAddAdmin):
    about = _(
        "Each row is a file of somebody's memory: search it, open it to correct its text, or delete it. Every "
        "change is kept and can be undone."
    )
    form = DocumentForm
    list_display = ["path", "space", "owner", "version", "updated_at"]
    list_filter = [KindFilter, StateFilter, "space__kind", "updated_at", ("space", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["space__owner"]
    # Not the content: a search would say what others have written.
    search_fields = ["path", "space__name", "space__owner__email"]
    ordering = ["space", "path"]
    date_hierarchy = "updated_at"
    readonly_fields = ["space", "path", "version", "mirrored_version", "indexed_version", "updated_at", "history"]
    fields = [
        "path",
        "space",
        "content",
        "base_version",
        ("version", "mirrored_version", "indexed_version"),
        "updated_at",
        "history",
    ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "GET" and (sentence := notice()):
            messages.warning(request, sentence)
        return super().changelist_view(request, extra_context)

    @admin.display(ordering="space__owner__email")
    def owner(self, document: MemoryDocument) -> str:
        return document.space.owner.email

    @admin.display(description="history")
    def history(self, document: MemoryDocument) -> SafeString:
        revisions = write.history(document)[:SHOWN_REVISIONS]
        earlier = max(0, document.version - SHOWN_REVISIONS)
        return render_to_string("admin/memory/history.html", {"revisions": revisions, "earlier": earlier})

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> MemoryDocument | None:
        found = super().get_object(request, object_id, from_field)
        if found is not None and request.method == "POST":
            # Locked until the end of the transaction that Django's admin has opened: no other write can come between
            # the check of the version and the save.
            MemoryDocument.objects.select_for_update().get(pk=found.pk)
            found.refresh_from_db()
        return found

    def get_fields(self, request: HttpRequest, obj: MemoryDocument | None = None) -> Any:
        if self.has_change_permission(request, obj):
            return self.fields
        return [field for field in self.fields or [] if field != "base_version"]

    def save_model(self, request: HttpRequest, obj: MemoryDocument, form: Any, change: bool) -> None:
        operation = Replace(form.cleaned_data["content"], form.cleaned_data["base_version"])
        saved = write.apply(obj.space, obj.path, operation, author_of(request, Reason("change.admin_edited")))
        record_change(request, obj, saved)

    def delete_model(self, request: HttpRequest, obj: MemoryDocument) -> None:
        """Delete the document by a revision, and record it. Raise PermissionDenied for one that is not open."""
        if not curation.is_open_for(cast(User, request.user), obj.space):
            raise PermissionDenied
        if not obj.is_deleted:
            author = author_of(request, Reason("change.admin_deleted"))
            record_change(request, obj, write.apply(obj.space, obj.path, Delete(obj.version), author))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[MemoryDocument]) -> None:
        for document in queryset:
            try:
                self.delete_model(request, document)
            except write.DocumentError as error:
                messages.error(request, str(error))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return only the documents `objs`: their revisions stay, so that the documents can be restored. Those that the
        admin may not open, or only after giving a reason, may not be deleted."""
        if not self.has_delete_permission(request):
            raise PermissionDenied
        spaces = {document.space_id: document.space for document in objs}
        is_open = {pk: curation.is_open_for(cast(User, request.user), space) for pk, space in spaces.items()}
        rows = [(f"{document.path} of {document.space}", is_open[document.space_id]) for document in objs]
        return [row for row, _ in rows], {"documents": len(rows)}, {row for row, may in rows if not may}, []


def record_change(request: HttpRequest, document: MemoryDocument, revision: MemoryRevision | None) -> None:
    """Record that the admin of `request` has changed `document` of others; None: nothing was different."""
    user = cast(User, request.user)
    if revision is not None and curation.is_of_others(user, document.space):
        curation.record_change(user, document, version=revision.number)


def author_of(request: HttpRequest, reason: Reason) -> Author:
    """Return the admin of `request` as the author of a change."""
    return Author(Source.ADMIN, request.user, reason=reason)  # type: ignore[arg-type]


@admin.register(MemoryRevision)
class MemoryRevisionAdmin(CuratedAdmin, ReadOnlyAdmin):
    document_field = "document"
    about = _(
        "Each row is one change of a file of memory: who made it, how, and why. It can be looked at, not changed."
    )
    list_display = ["document", "space", "number", "kind", "source", "author", "why", "created_at"]
    list_filter = ["source", "kind", "created_at"]
    list_select_related = ["document", "space", "author"]
    search_fields = ["document__path", "space__owner__email", "author__email"]
    exclude = ["content_hash", "operation_key"]
    ordering = ["-created_at"]

    @admin.display(description="why")
    def why(self, revision: MemoryRevision) -> str:
        """Return the reason without titles and words of a conversation: only the page of one row has them."""
        return revision.reason.without_texts if revision.reason is not None else ""


@admin.register(Flush)
class FlushAdmin(JobAdmin):
    """The flushes: which are done, which are pending, and why one failed."""

    about = _(
        "Each row is a part of a conversation whose notes go to a daily log. Status and error "
        "say what is pending and why."
    )
    columns = ["reason", "day", "messages"]
    list_filter = ["reason", "summarised", "day"]
    search_fields = ["session__id"]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        backlog = " ".join(status.in_words(status.status(None))[2:])
        return super().changelist_view(request, {"subtitle": backlog} | (extra_context or {}))

    @admin.display(description="messages")
    def messages(self, flush: Flush) -> str:
        return "" if flush.after_seq is None else f"{flush.after_seq + 1}–{flush.through_seq}"


@admin.register(DocumentJob)
class DocumentJobAdmin(JobAdmin):
    """The other jobs for conversations: which are pending, and why one failed."""

    about = _(
        "Each row is another job for a conversation, such as its summary. Without an end it is "
        "still pending, and the error says why."
    )
    columns = ["kind", "through_seq"]
    list_filter = ["kind"]
    search_fields = ["session__id"]


@admin.register(Forgetting)
class ForgettingAdmin(OfSpaceAdmin, ReadOnlyAdmin):
    """The receipts of forgettings: how much, for whom, and whether it is completed."""

    about = _("Each row records that lines were forgotten: how many, for whom, and whether it is completed.")
    list_display = ["id", "space", "author", "created_at", "finished_at"]
    # The hash of a short line says what was forgotten.
    exclude = ["hashes"]
    list_filter = [("finished_at", admin.EmptyFieldListFilter)]
    list_select_related = ["space", "author"]
    search_fields = ["space__owner__email", "author__email"]
    ordering = ["-created_at"]


@admin.register(Suggestion)
class SuggestionAdmin(OfSpaceAdmin, ReadOnlyAdmin):
    """The suggestions: how many wait, and from what kind of source, without their texts."""

    about = _(
        "Each row is a text that waits, or waited, for a person's yes before it becomes memory: where it came from, "
        "and what became of it."
    )
    list_display = ["id", "space", "kind", "status", "created_at", "decided_at"]
    list_filter = ["status", "kind", "created_at"]
    list_select_related = ["space"]
    search_fields = ["space__owner__email"]
    fields = ["space", "path", "kind", "status", "created_at", "decided_at"]
    ordering = ["-created_at"]


@admin.register(Proposal)
class ProposalAdmin(OfSpaceAdmin, ReadOnlyAdmin):
    """The proposals for shared memories: how many wait, and who decided, without their texts."""

    about = _(
        "Each row is a line that a member proposed for the memory of a shared space: who proposed it, and who decided."
    )
    list_display = ["id", "space", "kind", "state", "author", "decided_by", "created_at", "decided_at"]
    list_filter = ["state", "kind", "created_at"]
    list_select_related = ["space", "author", "decided_by"]
    search_fields = ["space__name", "author__email", "decided_by__email"]
    fields = ["space", "kind", "state", "author", "decided_by", "created_at", "decided_at"]
    ordering = ["-created_at"]


@admin.register(Review)
class ReviewAdmin(OfSpaceAdmin, ReadOnlyAdmin):
    """The questions whether lines are still true: which are open, without the lines."""

    space_field = "document__space"

    about = _("Each row is a question to a person whether a line of their memory is still true, and when they said so.")
    list_display = ["id", "document", "kind", "asked_at", "answered_at"]
    exclude = ["line_hash", "newer_hash"]
    list_filter = ["kind", ("answered_at", admin.EmptyFieldListFilter)]
    list_select_related = ["document__space"]
    search_fields = ["document__space__owner__email"]
    ordering = ["-asked_at"]


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    """The embedding models, and why one makes no vectors at the moment."""

    about = _(
        "Each row is a model that turns memory into vectors for the search: its error says why it makes none now."
    )
    list_display = ["name", "error"]
    ordering = ["name"]
