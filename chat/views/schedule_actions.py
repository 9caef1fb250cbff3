"""The buttons of schedules: run now, pause, resume, delete, and the answer to a proposed task."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.conversations.message_pages import notify_updated, updated_card_html
from chat.models import Message, Schedule
from chat.schedules import changes, propose
from chat.schedules.wording import sentence_of
from chat.tasks import run_beat
from chat.views.schedule_pages import own_task, refuse_if_disabled
from oneclaw.audit.holds import HeldError
from oneclaw.people.requests import SignedInRequest
from oneclaw.tasks import hint
from oneclaw.text import InvalidTextError


@require_POST
def run_now(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Run a schedule of the person at once, whatever the hour."""
    refuse_if_disabled()
    schedule = get_object_or_404(Schedule.objects.visible_to(request.user).confirmed(), pk=schedule_id)
    hint(run_beat, changes.run_now(schedule).pk)
    messages.success(request, _("It runs now. What comes of it is listed here in a moment."))
    return redirect("schedule_history", schedule.pk)


@require_POST
def switch(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Pause a task of the person, or resume it (`on`)."""
    task = own_task(request.user, schedule_id)
    try:
        changes.set_enabled(task, request.POST.get("on") == "yes")
    except InvalidTextError as error:
        messages.error(request, error.sentence)
    return redirect("schedules")


@require_http_methods(["GET", "POST"])
def delete(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Ask for confirmation (GET), or delete a task of the person (POST)."""
    task = own_task(request.user, schedule_id)
    if request.method == "POST":
        try:
            changes.delete(task)
        except HeldError as refusal:
            messages.error(request, refusal.sentence)
        return redirect("schedules")
    return render(request, "chat/delete_task.html", {"task": task, "sentence": sentence_of(task)})


@require_POST
def answer(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Take the person's yes or no to a proposed task. Return the updated card to htmx, and a redirect to others."""
    refuse_if_disabled()
    try:
        task = changes.answer_proposal(request.user, schedule_id, request.POST.get("answer") == "yes")
    except Schedule.DoesNotExist:
        raise Http404 from None
    except InvalidTextError as error:
        messages.error(request, error.sentence)
        task = get_object_or_404(Schedule.objects.visible_to(request.user), pk=schedule_id)
    message_id, _separator, call_id = (task.proposal_key or "").partition(":")
    message = Message.objects.visible_to(request.user).filter(pk=message_id).first() if message_id.isdecimal() else None
    if message is not None:
        notify_updated(message)
    if request.htmx and message is not None:
        since = propose.since([task.pk], get_token(request))
        return HttpResponse(updated_card_html(message, call_id, since[task.pk]))
    return redirect("schedules")
