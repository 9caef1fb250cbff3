"""Serve the page on which owners of memory see which admins have opened it, and what they have changed."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.models import Forgetting, MemoryDocument
from memory.policy import curation
from oneclaw.models import AuditKind, Space, User
from oneclaw.people.requests import SignedInRequest

PAGE_LOOKS = 50


@require_GET
def looks_page(request: SignedInRequest) -> HttpResponse:
    """Show who has opened or changed the person's memories, newest first."""
    page = Paginator(curation.looks_at(request.user), PAGE_LOOKS).get_page(request.GET.get("page"))
    people = User.objects.in_bulk({look.actor for look in page if look.actor})
    spaces = Space.objects.in_bulk({look.space for look in page})
    documents = MemoryDocument.objects.visible_to(request.user).in_bulk(
        {look.details["document"] for look in page if "document" in look.details}
    )
    forgotten = {look.details["forgetting"] for look in page if "forgetting" in look.details}
    receipts = Forgetting.objects.visible_to(request.user).in_bulk(forgotten)
    looks = [
        {
            "at": look.at,
            "who": people.get(look.actor),
            "space": spaces.get(look.space),
            "command": look.details.get("command", ""),
            "path": look.details.get("path", ""),
            "document": documents.get(look.details.get("document", 0)),
            "receipt": receipts.get(look.details.get("forgetting", 0)),
            "reason": look.details.get("reason", ""),
            "by_link": look.kind == AuditKind.RESET_LINK_USED,
            "is_change": look.kind == AuditKind.MEMORY_CURATED,
            "version": look.details.get("version"),
        }
        for look in page
    ]
    return render(request, "memory/looks.html", {"looks": looks, "page": page})
