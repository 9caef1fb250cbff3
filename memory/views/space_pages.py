"""The tabs of a space that memory adds, and who can see a document."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from chat.views.spaces.frame import frame, own_role, tab_page, writable_space
from memory.access.rights import may_edit
from memory.files.waiting import waiting_files
from memory.models import MemoryDocument
from memory.overview.space import space_overview
from memory.policy.paths import AGENTS, CURATED
from memory.policy.tombstones import LineForgottenError
from memory.policy.viewers import viewers
from memory.tools.proposals import ProposalError, propose_instructions
from memory.transfer.archive import zip_space
from memory.views.changes import form_number
from memory.views.documents import zip_response
from memory.views.settings.instructions import edited
from memory.views.space_proposals import forgotten_in
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError

# Documents of one page.
PAGE_DOCUMENTS = 100


def overview_html(user: User, space: Space) -> SafeString:
    """Return what the first page of `space` shows `user`, a member, of its memory."""
    known = space_overview(space, user)
    return render_to_string("memory/spaces/overview.html", {"known": known, "user": user})


@require_GET
def space_memory(request: SignedInRequest, space_id: int) -> HttpResponse:
    """List the documents of a space, curated memory first, then the last changed; and to who may edit them the files
    in its folder that wait for an answer."""
    held = own_role(request.user, space_id)
    curated = Case(When(path=CURATED, then=Value(0)), default=Value(1), output_field=IntegerField())
    found = MemoryDocument.objects.visible_to(request.user).present().filter(space=held.space)
    ordered = found.order_by(curated, "-updated_at", "path").defer("content")
    page = Paginator(ordered, PAGE_DOCUMENTS).get_page(request.GET.get("page"))
    waiting = waiting_files(held.space) if may_edit(request.user, held.space, CURATED) else []
    return tab_page(request, held, "memory", "memory/spaces/memory.html", {"page": page, "waiting": waiting})


@require_GET
def space_memory_zip(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Return the documents of a space as a zip file."""
    space = own_role(request.user, space_id).space
    record(AuditKind.EXPORTED, actor=request.user, space=space, of="memory")
    return zip_response(zip_space(space), f"memory-{space.pk}-{request.user.day()}.zip")


@require_http_methods(["GET", "POST"])
def space_instructions(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Show the instructions of a space, to owners and editors in a form; POST saves them."""
    held = own_role(request.user, space_id)
    space = writable_space(request.user, space_id) if request.method == "POST" else held.space
    if request.method == "POST" and not may_edit(request.user, space, AGENTS):
        return proposed_instructions(request, space)
    return edited(request, space, AGENTS, "memory/spaces/instructions.html", frame(held, "instructions"))


def proposed_instructions(request: SignedInRequest, space: Space) -> HttpResponse:
    """Propose the instructions of the form, which another owner or editor has to approve; go back to the page."""
    base_version = form_number(request, "base_version")
    if base_version is None:
        return HttpResponseBadRequest()
    try:
        propose_instructions(space, request.POST.get("content", ""), request.user, base_version)
    except (ProposalError, InvalidTextError) as refusal:
        messages.error(request, str(refusal))
    except LineForgottenError:
        messages.error(request, forgotten_in(space))
    else:
        words = _("Proposed to “%(space)s”. Another owner or editor decides.")
        messages.success(request, words % {"space": space.name})
    return redirect(request.path)


@require_GET
def document_viewers(request: SignedInRequest, document_id: int) -> HttpResponse:
    """Show who can see a document and its lines, and why."""
    readable = MemoryDocument.objects.visible_to(request.user).select_related("space__owner")
    document = get_object_or_404(readable, pk=document_id)
    return render(request, "memory/viewers.html", {"document": document, "viewers": viewers(document)})
