"""Serve the pages that show and search a person's memory, and its export."""

from django.core.paginator import Paginator
from django.db.models import Case, IntegerField, Q, Value, When
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET

from chat.rendering.incremental import blocks
from memory.access.rights import may_edit, may_forget
from memory.documents import write
from memory.files.missing import documents_without_file
from memory.files.waiting import fault_of, waiting_files
from memory.index.vectors import notice
from memory.models import MemoryDocument
from memory.notes import coverage
from memory.policy import switches
from memory.policy.paths import is_in_skill
from memory.prompt.context import CutFile, cut_files
from memory.skills.catalogue import source_in
from memory.transfer.archive import export_archive
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Space
from oneclaw.people.requests import SignedInRequest

# Documents on a page of the list, and changes on a page of the history.
PAGE_MAX_ROWS = 100
# The longest document that is rendered; a longer one is only shown as Markdown source.
RENDERED_MAX_CHARS = 100_000


@require_GET
def document_list(request: SignedInRequest) -> HttpResponse:
    """List every document that the person may read, curated memory first, then the newest day."""
    kind = Case(
        When(path="MEMORY.md", then=Value(0)),
        When(Q(path__startswith="memory/"), then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    mine = Case(When(space__owner=request.user, space__kind="own", then=Value(0)), default=Value(1))
    readable = MemoryDocument.objects.visible_to(request.user)
    found = MemoryDocument.objects.visible_to(request.user).present().select_related("space")
    ordered = found.order_by(mine, "space", kind, "-path").defer("content")
    page = Paginator(ordered, PAGE_MAX_ROWS).get_page(request.GET.get("page"))
    missing = documents_without_file(Space.objects.own_of(request.user))
    context = {
        "page": page,
        "gone": missing,
        "waiting": waiting_files(Space.objects.own_of(request.user)),
        "notice": notice(readable),
        "cut": cut_files(Space.objects.own_of(request.user), switches.on_for(request.user)),
    }
    return render(request, "memory/list.html", context)


@require_GET
def document(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Show one document, rendered and as Markdown source, with its history."""
    mine = MemoryDocument.objects.visible_to(request.user).select_related("space")
    shown = get_object_or_404(mine, pk=document_id)
    page = Paginator(write.history(shown), PAGE_MAX_ROWS).get_page(request.GET.get("page"))
    rendered = blocks(shown.content) if len(shown.content) <= RENDERED_MAX_CHARS else None
    # Sanitised by the renderer.
    safe = [mark_safe(block) for block in rendered] if rendered is not None else None  # noqa: S308
    context = {
        "document": shown,
        "blocks": safe,
        "lines": list(enumerate(shown.content.split("\n"))),
        "page": page,
        "coverage": coverage.of_document(shown),
        "may_write": may_edit(request.user, shown.space, shown.path),
        "may_forget": may_forget(request.user, shown.space),
        "cut": cut_here(shown),
        "fault": fault_of(shown) if shown.space.is_private else None,
        "skill": skill_address(shown),
    }
    return render(request, "memory/document.html", context)


@require_GET
def export(request: SignedInRequest) -> HttpResponse:
    """Return the own memory of the person, and that of their agents, as a zip file."""
    content = export_archive(request.user)
    record(AuditKind.EXPORTED, actor=request.user, of="memory")
    return zip_response(content, f"memory-{request.user.day()}.zip")


def zip_response(content: bytes, name: str) -> HttpResponse:
    """Return a zip file as a download with this name."""
    return HttpResponse(
        content,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"},
    )


def skill_address(document: MemoryDocument) -> str:
    """Return the URL of the skill that the document belongs to; "" when there is none."""
    if not is_in_skill(document.path) or document.is_deleted or document.space.kind == Space.Kind.AGENT:
        return ""
    return reverse("memory_skill", args=[source_in(document.space), document.path.split("/")[1]])


def cut_here(document: MemoryDocument) -> list[CutFile]:
    """Return what a prompt leaves out of `document`; nothing for a shared one, which is in no prompt."""
    if not document.space.is_private or document.is_deleted:
        return []
    found = cut_files(document.space, switches.on_for(document.space.owner))
    return [cut for cut in found if cut.path == document.path]
