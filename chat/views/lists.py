"""Pages on which conversations are organised: fetch, call one thing, render."""

import uuid

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat import extensions
from chat.context.meter import read_meters
from chat.conversations import lifecycle
from chat.library import organise as organising
from chat.library import sidebar
from chat.models import ChatSession, ChatSessionQuerySet, Folder, SessionRoute, placed
from chat.views import pages, toasts
from chat.views.own import is_closed_to, managed_session, own_session
from chat.views.toasts import Toast
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError, validated_text

# Conversations of one page.
PAGE_SIZE = 100
# The actions that undo those that remove a conversation from the list.
UNDO = {"delete": "restore", "archive": "unarchive"}


@require_GET
def all_conversations(request: SignedInRequest) -> HttpResponse:
    """Show every conversation of the person for selection; with `show` also archived and deleted ones."""
    show, folder, route = request.GET.get("show", ""), None, None
    if show.startswith("folder-"):
        folder = get_object_or_404(request.user.folders, pk=_number(show.removeprefix("folder-")))
    if show.startswith("route-"):
        own_routes = SessionRoute.objects.visible_to(request.user)
        route = get_object_or_404(own_routes, pk=_number(show.removeprefix("route-")))
    sessions = shown(request.user, show, folder, route).select_related("agent", "route")
    page = Paginator(sessions, PAGE_SIZE).get_page(request.GET.get("page"))
    meters = read_meters(list(page.object_list))
    context = {
        "page": page,
        "groups": [
            (when, [(session, meters[session.pk]) for session in of_then])
            for when, of_then in sidebar.by_day(page.object_list, request.user)
        ],
        "show": show,
        "route": route,
        "channel": show.removeprefix("channel-") if show.startswith("channel-") else "",
        "channels": channels_of(request.user),
        "folder": folder,
        "folders": request.user.folders.all(),
        "toast": toasts.take(request),
        "deleted_days": settings.DELETED_DAYS,
    }
    return render(request, "chat/conversations.html", context)


def channels_of(user: User) -> list[str]:
    """Return the channels of the person's routes."""
    return list(SessionRoute.objects.visible_to(user).values_list("channel", flat=True).distinct().order_by("channel"))


def shown(user: User, show: str, folder: Folder | None, route: SessionRoute | None) -> ChatSessionQuerySet:
    if show == "deleted":
        return placed(ChatSession.objects.managed_by(user), user).exclude(deleted_at=None).written()
    own = placed(ChatSession.objects.visible_to(user), user).written()
    if show == "archived":
        return own.filter(Q(my_archived_at__isnull=False))
    listed = own.filter(Q(my_archived_at=None))
    if show.startswith("channel-"):
        return listed.filter(route__channel=show.removeprefix("channel-"))
    if route:
        return listed.filter(route=route)
    return listed.filter(Q(my_folder=folder.pk)) if folder else listed


@require_GET
def menu(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the actions of one conversation: in the menu of the list, in that of its header (`head`), or on a page."""
    session = own_session(request.user, session_id)
    is_managed = ChatSession.objects.managed_by(request.user).filter(pk=session.pk).exists()
    context = {
        "session": session,
        "is_managed": is_managed,
        "is_own": session.owner_id == request.user.pk,
        # It leads to a new conversation: offered where the conversation is open, or on a page of its own.
        "may_end": ("head" in request.GET or not request.htmx)
        and not (session.is_shared or is_closed_to(request.user, session)),
        "is_shareable": is_managed and (session.is_shared or (session.kind == "" and session.route_id is None)),
        "is_shared": session.shared_links.live().exists(),
        "folders": request.user.folders.all(),
        "session_id": request.GET.get("current", ""),
        # Its row may be out of sight: it is renamed on a page.
        "of_head": "head" in request.GET,
    }
    return render(request, "chat/_menu.html" if request.htmx else "chat/menu.html", context)


@require_POST
def organise(request: SignedInRequest) -> HttpResponse:
    """Apply the action `do` to the conversations `id`, and show a toast with an undo."""
    action = request.POST.get("do", "")
    if action not in organising.ACTIONS:
        raise SuspiciousOperation("do is not an action")
    try:
        ids = {uuid.UUID(value) for value in request.POST.getlist("id")}
    except ValueError:
        raise SuspiciousOperation("id is not a UUID") from None
    try:
        folder = folder_meant(request) if action == "move" else None
    except (InvalidTextError, organising.TooManyFoldersError) as refusal:
        return answered(request, Toast(folder_refused(refusal), bad=True))
    changed = organising.organise(request.user, ids, action, folder)
    undo = UNDO.get(action, "") if changed else ""
    remains = extensions.memory().remains(request.user, ids) if action == "delete" and changed else None
    toast = Toast(
        said(action, changed),
        undo,
        [str(session_id) for session_id in ids] if undo else [],
        remains=remains.reason if remains else None,
        address=remains.address if remains else "",
    )
    is_deleted = action == "delete" and request.POST.get("current", "") in toast.ids
    return answered(request, toast, is_deleted=is_deleted)


def folder_meant(request: SignedInRequest) -> Folder | None:
    """Return the folder to move to: a new one by its name, or `folder`; None removes from every folder."""
    if request.POST.get("new_folder", "").strip():
        return organising.get_or_create_folder(request.user, request.POST["new_folder"])
    chosen = request.POST.get("folder", "")
    return get_object_or_404(request.user.folders, pk=_number(chosen)) if chosen else None


def said(action: str, changed: int) -> Reason:
    """Return the sentence that `action` changed `changed` conversations."""
    if not changed:
        return Reason("conversations.unchanged")
    return Reason(f"conversations.{action}", {"number": changed})


def folder_refused(refusal: InvalidTextError | organising.TooManyFoldersError | organising.FolderExistsError) -> Reason:
    """Return why the name of a folder is refused."""
    match refusal:
        case InvalidTextError():
            lengths = {name: value for name, value in refusal.named.items() if isinstance(value, int)}
            return Reason(f"folder.name_{refusal.code}", lengths)
        case organising.TooManyFoldersError():
            return Reason("folder.too_many")
        case organising.FolderExistsError():
            return Reason("folder.exists")


def answered(request: SignedInRequest, toast: Toast, *, is_deleted: bool = False) -> HttpResponse:
    """Return the sidebar's list with the toast to htmx, unless the shown session is deleted (`is_deleted`) or a page
    that lists conversations itself names where to go back (`next`); redirect otherwise, and store the toast for the
    next page."""
    current, back = request.POST.get("current", ""), request.POST.get("next", "")
    if request.htmx and not is_deleted and (current or not back):
        return pages.listed(request, current, toast)
    toasts.keep(request, toast)
    target = "/" if is_deleted or not url_has_allowed_host_and_scheme(back, allowed_hosts=None) else back
    return HttpResponseClientRedirect(target) if request.htmx else redirect(target)


@require_http_methods(["GET", "POST"])
def rename(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the form, on a page or in place of the list's row (GET), or save the new title (POST)."""
    session = managed_session(request.user, session_id)
    refusal = ""
    if request.method == "POST":
        try:
            lifecycle.rename(session, validated_text(request.POST.get("title"), max_chars=200, name=_("The title")))
        except InvalidTextError as error:
            refusal = error.sentence
        else:
            return pages.listed(request, request.POST.get("current", "")) if request.htmx else redirect(session)
    context = {"session": session, "session_id": request.GET.get("current", ""), "refusal": refusal}
    template = "chat/_rename.html" if request.htmx and not refusal else "chat/rename.html"
    return render(request, template, context, status=422 if refusal else 200)


@require_POST
def rename_folder(request: SignedInRequest, folder_id: int) -> HttpResponse:
    folder = get_object_or_404(request.user.folders, pk=folder_id)
    try:
        organising.rename_folder(folder, request.POST.get("name"))
    except (InvalidTextError, organising.FolderExistsError) as refusal:
        toasts.keep(request, Toast(folder_refused(refusal), bad=True))
    return redirect(f"/conversations?show=folder-{folder.pk}")


@require_POST
def delete_folder(request: SignedInRequest, folder_id: int) -> HttpResponse:
    """Delete a folder and keep its conversations."""
    organising.delete_folder(get_object_or_404(request.user.folders, pk=folder_id))
    toasts.keep(request, Toast(Reason("folder.deleted")))
    return redirect("conversations")


@require_POST
def read(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Record that a page has shown the messages up to `seq`."""
    organising.mark_read(request.user, session_id, _number(request.POST.get("seq", "")))
    return HttpResponse(status=204)


def _number(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise SuspiciousOperation("not a number")
    return int(value)
