"""A team for the pictures of the pages under /team/: people with roles, groups, invitations, spend, budgets, events."""

import datetime as dt
import random
from decimal import Decimal

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from memory.models import MemoryDocument
from memory.policy import curation
from oneclaw import runtime_settings
from oneclaw.audit import chain
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Budget, Group, Heartbeat, InvariantRun, RetentionRule, Space, Spend, User
from oneclaw.people import roles
from oneclaw.people.sign_in import inviting
from oneclaw.spend.prices import exact_price_of

Role, Purpose = User.Role, Spend.Purpose
PASSWORD = "a password of Olga"  # noqa: S105 - of a team that lasts as long as the script
# Name, role, the group, how many minutes ago they were last here (None: never).
PEOPLE: list[tuple[str, str, str, int | None]] = [
    ("Dorothy Vaughan", Role.PEOPLE, "", 35),
    ("Mary Jackson", Role.AUDITOR, "", 60 * 26),
    ("Katherine Johnson", Role.BILLING, "", 60 * 50),
    ("Annie Easley", Role.MEMBER, "Engine room", 4),
    ("Evelyn Boyd", Role.MEMBER, "Research", 60 * 3),
    ("Gladys West", Role.MEMBER, "Research", 60 * 24 * 40),
    ("Valerie Thomas", Role.MEMBER, "Engine room", None),
]
# The directory of the organisation keeps this group.
KEPT_GROUP = "Research"
PRICES = {"claude-sonnet": (3.0, 15.0, 0.3, 3.75), "claude-haiku": (1.0, 5.0, 0.1, 1.25)}
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
# Purpose, model, tokens read and written of one call, and how many times a person makes one on a day of work.
CALLS = [
    (Purpose.ANSWER, SONNET, 9_000, 900, 12),
    (Purpose.NOTES, HAIKU, 4_000, 250, 4),
    (Purpose.TITLE, HAIKU, 900, 20, 6),
    (Purpose.SUMMARY, HAIKU, 22_000, 1_200, 1),
]


def gather(curated: User) -> tuple[User, User]:
    """Make the team, and return its owner and the person whose page is shown; the owner has looked at the memory of
    `curated`."""
    now = timezone.now()
    owner = User.objects.create_user("olga@example.org", PASSWORD, first_name="Olga Ladyzhenskaya")
    roles.set_role(owner, Role.OWNER)
    owner.last_login, owner.timezone_chosen = now, True
    owner.save()
    groups = {name: Group.objects.create(name=name) for name in ("Engine room", KEPT_GROUP)}
    Group.objects.filter(name=KEPT_GROUP).update(managed_by="oidc", external_id="research")
    made = [joined(name, role, groups.get(group), minutes) for name, role, group, minutes in PEOPLE]
    shown = made[3]
    signed_in_on(shown, "Mozilla/5.0 (Macintosh; Intel Mac OS X) Firefox/144.0", "192.0.2.17", now)
    signed_in_on(shown, "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Safari/604.1", "192.0.2.80", now)
    for email, role, group in (
        ("christine@example.org", Role.MEMBER, "Engine room"),
        ("jean@example.org", Role.CURATOR, ""),
        ("", Role.MEMBER, ""),
    ):
        inviting.invite(owner, inviting.Wish(email, role, [groups[group]] if group else []), 7)
    User.objects.create_user(
        "raye@example.org", None, first_name="Raye Montague", is_active=False, awaits_approval=True
    )
    spend([*made[3:6], curated])
    Budget.objects.create(period="month", max_cost=Decimal(60))
    Budget.objects.create(period="month", group=groups["Engine room"], max_cost=Decimal(60))
    Budget.objects.create(period="day", user=shown, max_cost=Decimal("0.35"))
    RetentionRule.objects.create(kind=RetentionRule.Kind.CONVERSATIONS, days=365)
    runtime_settings.change(owner, "person_turns", "2")
    runtime_settings.change(owner, "announcement", "On Friday from 18:00 to 18:15 OneClaw is updated.")
    document = MemoryDocument.objects.get(space=Space.objects.own_of(curated), path="MEMORY.md")
    curation.record_look(owner, document)
    record(AuditKind.SIGN_IN_FAILED, person=shown)
    record(AuditKind.RIGHTS_CHANGED, actor=owner, person=made[0], before="", role="people")
    record(AuditKind.SIGNED_IN, actor=shown)
    chain.link_all()
    Heartbeat.objects.record(Heartbeat.WORKER)
    InvariantRun.objects.create(at=now - dt.timedelta(hours=5), seconds=2.1, checked=48, count=0)
    return owner, shown


def joined(name: str, role: str, group: Group | None, minutes: int | None) -> User:
    """Make an account with a role, in a group, that was last seen so many minutes ago."""
    person = User(email=f"{name.split()[0].lower()}@example.org", first_name=name, timezone_chosen=True)
    roles.set_role(person, role)
    person.set_unusable_password()
    person.last_seen_at = None if minutes is None else timezone.now() - dt.timedelta(minutes=minutes)
    person.save()
    if group is not None:
        group.members.create(user=person)
    return person


def signed_in_on(person: User, agent: str, address: str, at: dt.datetime) -> None:
    """Sign the person in on a device."""
    session = SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(person.pk), person.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session.create()
    UserSession.objects.create(
        user=person, session_key=session.session_key, user_agent=agent, ip=address, created_at=at, last_seen_at=at
    )


def spend(people: list[User]) -> None:
    """Store what the calls of this month have taken."""
    chance = random.Random(7)  # noqa: S311 - a picture is the same each time
    now, rows = timezone.now(), []
    for back in range(now.day):
        day = now - dt.timedelta(days=back)
        for number, person in enumerate(people):
            for purpose, model, read, written, times in CALLS:
                if day.weekday() > 4 and number:
                    continue
                for _ in range(round(times * chance.uniform(0.3, 1.3) * (1 - number / 6))):
                    row = Spend(at=day, user=person, purpose=purpose, model=model)
                    row.input_tokens = round(read * chance.uniform(0.4, 1.6))
                    row.cached_tokens = 3 * row.input_tokens if purpose == Purpose.ANSWER else 0
                    row.output_tokens = round(written * chance.uniform(0.4, 1.6))
                    row.set_price(exact_price_of(model, PRICES))
                    rows.append(row)
    Spend.objects.bulk_create(rows)
