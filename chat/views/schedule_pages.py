"""The pages of schedules: all of them, the form of a task, and what the beats of one came to."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.dates import WEEKDAYS
from django.views.decorators.http import require_GET, require_http_methods

from chat.models import Agent, Beat, ChatSession, Schedule
from chat.schedules import changes
from chat.schedules.beat import used_on_day
from chat.schedules.grants import grantable_tools
from chat.schedules.history import beat_rows
from chat.schedules.planning import heartbeat_of
from chat.schedules.quiet import DAY_MAX_BEATS
from chat.schedules.wording import clock_time, sentence_of
from oneclaw.models import User, clock
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError

# Beats on the first page and on one of a schedule, and the conversations to choose from.
RECENT_BEATS, PAGE_BEATS = 10, 50
MAX_CONVERSATIONS = 50


@require_http_methods(["GET", "POST"])
def schedule_list(request: SignedInRequest) -> HttpResponse:
    """Show the heartbeat, the tasks, and what came of the newest beats; POST saves the heartbeat."""
    if not changes.is_offered():
        return render(request, "chat/no_schedules.html")
    user, refusal = request.user, ""
    heartbeat = heartbeat_of(user)
    if request.method == "POST":
        form = request.POST
        try:
            changes.checked_options(user, form.dict(), form.getlist("tools")).fill(heartbeat)
            changes.change_heartbeat(
                heartbeat, "enabled" in form, form.get("every"), form.get("first"), form.get("until")
            )
        except InvalidTextError as error:
            refusal = error.sentence
        else:
            return redirect("schedules")
    tasks = Schedule.objects.visible_to(user).tasks().order_by("-created_at")
    shown = request.POST if refusal else {}
    context = {
        "heartbeat": heartbeat,
        "heartbeat_sentence": sentence_of(heartbeat),
        "every": shown.get("every", heartbeat.every_minutes),
        "first": shown.get("first", clock_time(heartbeat.from_time)),
        "until": shown.get("until", clock_time(heartbeat.until_time)),
        "refusal": refusal,
        "tasks": [(task, sentence_of(task)) for task in tasks.confirmed()],
        "proposed": [(task, sentence_of(task)) for task in tasks.proposed()],
        **news_context(user),
        **options_context(user, heartbeat),
    }
    return render(request, "chat/schedules.html", context, status=422 if refusal else 200)


@require_GET
def news(request: SignedInRequest) -> HttpResponse:
    """Return what the newest beats came to, as the page shows it; 204 when that is what it shows already (`seen`)."""
    refuse_if_disabled()
    context = news_context(request.user)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "chat/_schedule_news.html", context)


def news_context(user: User) -> dict[str, Any]:
    """Return what the page shows of the newest beats and of today, with a text `seen` that identifies it."""
    asked, tokens = used_on_day(user, clock.read_database_time())
    beats = beat_rows(Beat.objects.visible_to(user).listed().exclude(outcome="skipped")[:RECENT_BEATS])
    newest = beats[0].beat.pk if beats else 0
    seen = f"{newest}-{asked}-{tokens}"
    return {"beats": beats, "asked": asked, "most_asked": DAY_MAX_BEATS, "tokens": tokens, "seen": seen}


@require_http_methods(["GET", "POST"])
def new_task(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new task, or save it."""
    refuse_if_disabled()
    return edited(request, None)


@require_http_methods(["GET", "POST"])
def edit_task(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Show the form of a task of the person, or save it."""
    return edited(request, own_task(request.user, schedule_id))


def edited(request: SignedInRequest, task: Schedule | None) -> HttpResponse:
    refusal, values = "", fields_of(task)
    shown = task or Schedule(owner=request.user)
    if request.method == "POST":
        form = request.POST
        values = {name: form.get(name, "") for name in values} | {"days": form.getlist("days")}
        options = changes.checked_options(request.user, form.dict(), form.getlist("tools"))
        try:
            draft = changes.checked_task(*(values[name] for name in ("text", "repeat", "at", "days", "day", "on")))
            changes.save_task(request.user, draft, options, task)
        except InvalidTextError as error:
            refusal = error.sentence
            options.fill(shown)
        else:
            return redirect("schedules")
    context = {
        "task": shown,
        "is_new": task is None,
        "given": values,
        "refusal": refusal,
        "weekdays": [(str(number), name) for number, name in WEEKDAYS.items()],
        "today": request.user.day().isoformat(),
        **options_context(request.user, shown),
    }
    return render(request, "chat/edit_task.html", context, status=422 if refusal else 200)


def fields_of(task: Schedule | None) -> dict[str, Any]:
    """Return the values of the form of `task`, or of a new one."""
    if task is None:
        return {"text": "", "repeat": "daily", "at": "08:00", "days": [], "day": "1", "on": ""}
    return {
        "text": task.text,
        "repeat": task.repeat or "once",
        "at": clock_time(task.at) if task.at else "",
        "days": [str(day) for day in task.days],
        "day": str(task.month_day or 1),
        "on": task.on.isoformat() if task.on else "",
    }


@require_GET
def history(request: SignedInRequest, schedule_id: int) -> HttpResponse:
    """Show what the beats of a schedule came to; with `show=quiet` those without a message, each with its reason."""
    refuse_if_disabled()
    schedule = get_object_or_404(Schedule.objects.visible_to(request.user).confirmed(), pk=schedule_id)
    is_quiet = request.GET.get("show") == "quiet"
    beats = Beat.objects.visible_to(request.user).filter(schedule=schedule).listed()
    if is_quiet:
        beats = beats.exclude(outcome=Beat.Outcome.SENT)
    page = Paginator(beats, PAGE_BEATS).get_page(request.GET.get("page"))
    context = {
        "schedule": schedule,
        "sentence": sentence_of(schedule),
        "is_quiet": is_quiet,
        "page": page,
        "beats": beat_rows(page.object_list),  # type: ignore[arg-type]
    }
    return render(request, "chat/schedule_history.html", context)


def options_context(user: User, schedule: Schedule) -> dict[str, Any]:
    """Return what the fields of agent, conversation and tools of a form show."""
    own = ChatSession.objects.private_to(user)
    conversations = list(own.listed().only("title")[:MAX_CONVERSATIONS])
    chosen = own.filter(pk=schedule.conversation_id).first() if schedule.conversation_id else None
    if chosen is not None and chosen not in conversations:
        conversations.insert(0, chosen)
    return {
        "agents": Agent.objects.visible_to(user),
        "agent_id": schedule.agent_id,
        "conversations": conversations,
        "conversation_id": schedule.conversation_id,
        "tools": [(name, label, name in schedule.tools) for name, label in grantable_tools().items()],
    }


def own_task(user: User, schedule_id: int) -> Schedule:
    """Return the person's task. Raise Http404 when there is none."""
    refuse_if_disabled()
    return get_object_or_404(Schedule.objects.visible_to(user).tasks().confirmed(), pk=schedule_id)


def refuse_if_disabled() -> None:
    """Raise Http404 when this server has no schedules."""
    if not changes.is_offered():
        raise Http404
