"""The page of health: which parts of the installation work, which work is behind, and what to do about it."""

import datetime as dt
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.db.models import Min
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from oneclaw.llm.upstreams import failing
from oneclaw.llm.upstreams.failing import ServerState
from oneclaw.llm.upstreams.servers import upstreams
from oneclaw.models import AuditDelivery, AuditLink, Heartbeat, InvariantRun, User, clock
from oneclaw.ops.health import is_migrated
from oneclaw.ops.waiting import jobs_by_kind
from oneclaw.people.requests import SignedInRequest

# A kind of job is behind when its oldest one is due for so long.
BEHIND = dt.timedelta(minutes=10)
# The invariants are checked once a day.
INVARIANTS_LATE = dt.timedelta(days=2)
# Events are linked every five seconds.
UNLINKED_MAX_EVENTS = 100
VIOLATIONS_MAX_COUNT = 20


@dataclass(frozen=True)
class HealthCheck:
    """One part of the installation: how it is, and what to do unless it works. `waits`: there is nothing to say yet."""

    title: str
    is_good: bool
    text: str
    remedy: str = ""
    waits: bool = False


@require_GET
@permission_required("oneclaw.view_invariantrun", raise_exception=True)
def health(request: SignedInRequest) -> HttpResponse:
    """Show the parts, the work that waits, and what the last check of the invariants has found."""
    now, run = clock.read_database_time(), InvariantRun.objects.first()
    jobs = [(each, each.since is not None and now - each.since > BEHIND) for each in jobs_by_kind()]
    context = {
        "checks": [worker(), migrations(), *model_servers(), invariants(run, now), audit_log(), *collector()],
        "jobs": [(each, is_behind) for each, is_behind in jobs if each.due or each.failed],
        "violations": run.violations[:VIOLATIONS_MAX_COUNT] if run else [],
    }
    return render(request, "team/health.html", context)


def worker() -> HealthCheck:
    last = Heartbeat.objects.filter(name=Heartbeat.WORKER).first()
    return HealthCheck(
        _("Worker"),
        Heartbeat.objects.has_worker(),
        _("Last heard of: {when}").format(when=shown(last.at) if last else _("never")),
        _("Start a worker: manage.py serve worker. With REDIS_URL, check that Redis answers."),
    )


def migrations() -> HealthCheck:
    is_done = is_migrated()
    text = _("The database fits this version.") if is_done else _("The database is older than this version.")
    return HealthCheck(_("Database"), is_done, text, _("Run manage.py migrate."))


def model_servers() -> list[HealthCheck]:
    """Return whether each model server answered the last request of this process, and whether its key can be read."""
    lacking = {each.name for each in upstreams() if each.lacks_key}
    return [keyless_server(each) if each.name in lacking else model_server(each) for each in failing.states()]


def model_server(state: ServerState) -> HealthCheck:
    return HealthCheck(
        server_title(state.name),
        state.failure is None,
        f"{shown(state.at)}: {state.failure.sentence}"
        if state.failure and state.at
        else _("It has answered the last request of this process, or was not asked yet."),
        _("It is asked again with the next request. Meanwhile other servers answer, if there are further ones."),
    )


def keyless_server(state: ServerState) -> HealthCheck:
    return HealthCheck(
        server_title(state.name),
        False,
        _("Its key cannot be read, because ONECLAW_SECRET_KEY was changed."),
        _("Enter it again under Models, or name the secret key of before in ONECLAW_SECRET_KEY_FALLBACKS."),
    )


def server_title(name: str) -> str:
    return _("Model server {name}").format(name=name) if name else _("Model server")


def invariants(run: InvariantRun | None, now: dt.datetime) -> HealthCheck:
    title = _("Consistency of the data")
    remedy = _("Run manage.py check_invariants. What it finds is a defect: keep a backup, and report it.")
    if run is None:
        first = User.objects.aggregate(joined=Min("date_joined"))["joined"]
        is_new = first is None or now - first < INVARIANTS_LATE
        text = _("It is checked each day, for the first time within an hour of the start.")
        never = _(
            "It has never been checked. This needs a worker and beat: manage.py serve worker, manage.py serve beat."
        )
        return HealthCheck(title, is_new, text, never, waits=is_new)
    if run.count:
        text = _("{when}: violations found: {count}").format(when=shown(run.at), count=run.count)
    else:
        text = _("{when}: nothing found").format(when=shown(run.at))
    return HealthCheck(title, not run.count and now - run.at < INVARIANTS_LATE, text, remedy)


def audit_log() -> HealthCheck:
    count = AuditLink.objects.filter(position=None).count()
    return HealthCheck(
        _("Audit log"),
        count <= UNLINKED_MAX_EVENTS,
        _("Events that are not linked yet: {count}").format(count=count),
        _("A worker links them: see above."),
    )


def collector() -> list[HealthCheck]:
    """Return how the collector of the audit log is; nothing when there is none."""
    if not settings.AUDIT_WEBHOOK:
        return []
    delivery = AuditDelivery.objects.first()
    failures = delivery.failures if delivery else 0
    text = f"{delivery.error}" if delivery and failures else _("It has all events that it was sent.")
    remedy = _("Check ONECLAW_AUDIT_WEBHOOK. Nothing is lost: the events are sent when it answers again.")
    return [HealthCheck(_("Collector of the audit log"), not failures, text, remedy)]


def shown(moment: dt.datetime) -> str:
    """Return `moment` as a page writes it."""
    return date_format(localtime(moment), "SHORT_DATETIME_FORMAT")
