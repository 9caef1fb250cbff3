"""The pages under /team/: who may open which, one person's page, budgets, and health."""

import datetime as dt
import re
from decimal import Decimal
from html import unescape

import pytest
from allauth.usersessions.models import UserSession
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from oneclaw import llm
from oneclaw.config.upstreams import Upstream
from oneclaw.llm import KeyRefusedError, UnreachableError
from oneclaw.llm.upstreams import failing
from oneclaw.llm.upstreams.routes import Route
from oneclaw.models import AuditEvent, AuditKind, Budget, Group, InvariantRun, Spend, User
from oneclaw.people import roles, seen
from tests.scripted import key_refused
from tests.spending import NOBODY, Spending

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"

OPEN_TO = {
    "/team/people/": {"owner", "people"},
    "/groups/": {"owner", "people"},
    "/team/budgets/": {"owner"},
    "/team/usage/": {"owner", "auditor", "billing"},
    "/team/models/": {"owner"},
    "/team/settings/": {"owner"},
    "/team/health/": {"owner", "auditor"},
}


def with_role(role):
    person = User.objects.create_user(f"{role or 'member'}@example.org", PASSWORD, timezone_chosen=True)
    roles.set_role(person, role)
    person.save()
    return person


def client_of(person):
    client = Client()
    # Signed in just now, so that rights may be changed.
    assert client.post("/accounts/login/", {"login": person.email, "password": PASSWORD}).status_code == 302
    return client


def test_each_page_is_for_the_roles_that_need_it_and_named_only_to_them(ada):
    person_page = f"/team/people/{ada.pk}/"
    expected = {**OPEN_TO, person_page: {"owner", "people"}}
    for role in User.Role.values:
        client = Client()
        client.force_login(with_role(role))
        for address, allowed in expected.items():
            page = client.get(address)
            assert (page.status_code == 200) == (role in allowed), (role, address, page.status_code)
            if page.status_code == 200:
                assert_named(client, page, {each for each, those in OPEN_TO.items() if role in those})


def assert_named(client, page, expected):
    """Check that the tabs of `page`, and those inside of each, lead to the `expected` pages and to no others."""
    found = set()
    for tab in links_of(page, "Team"):
        found |= {tab} | set(links_of(client.get(tab), "Pages"))
    assert {each for each in OPEN_TO if each in found} == expected


def links_of(page, label):
    navigation = page.content.decode().partition(f'aria-label="{label}">')[2].partition("</nav>")[0]
    return re.findall(r'href="([^"]+)"', navigation)


def test_the_pages_are_in_five_groups_and_the_open_one_is_marked(ada):
    client = client_of(with_role("owner"))
    tabs = ["/team/people/", "/team/usage/", "/team/models/", "/team/audit/", "/team/settings/"]
    inner = {
        f"/team/people/{ada.pk}/": ("People", "Everybody"),
        "/groups/": ("People", "Groups"),
        "/team/budgets/": ("Money", "Budgets"),
        "/team/models/servers/new/": ("Models",),
        "/team/retention/": ("Safety", "Retention"),
        "/team/health/": ("System", "Health"),
    }
    for address, marked in inner.items():
        page = client.get(address)
        assert links_of(page, "Team") == tabs
        assert tuple(re.findall(r'aria-current="\w+">([^<]+)</a>', page.content.decode())) == marked, address
    # Django's admin is one link, at the end of the last group, for those who may open it.
    assert links_of(client.get("/team/health/"), "Pages") == ["/team/settings/", "/team/health/", "/admin/"]
    people_admin = Client()
    people_admin.force_login(with_role("people"))
    assert "/admin/" not in people_admin.get("/team/people/").content.decode()


def test_the_table_of_people_has_what_each_has_used_this_month(ada, admin_person, client):
    client.force_login(admin_person)
    Spend.objects.create(user=ada, model="m", purpose="", input_tokens=1200, cost=Decimal("1.25"))
    Spend.objects.create(user=admin_person, model="m", purpose="", input_tokens=3456)
    page = " ".join(client.get("/team/people/").content.decode().split())
    row = page.partition(ada.email)[2].partition("</tr>")[0]
    assert "$1.25" in row
    assert "3,456 tokens" in page.partition(admin_person.email)[2]
    # A row leads to the acts, and has none itself.
    assert f'href="/team/people/{ada.pk}/"' in page
    assert "<select" not in page
    for act in ("role", "active", "link", "offboard"):
        assert f"/team/people/{ada.pk}/{act}" not in page
        assert f"/team/people/{ada.pk}/{act}" in client.get(f"/team/people/{ada.pk}/").content.decode()
    # What people have used is for those who may see what was spent.
    client.force_login(with_role("people"))
    assert "$1.25" not in client.get("/team/people/").content.decode()


def test_a_person_is_signed_out_everywhere_by_those_who_may(ada):
    adas, other, owner = client_of(ada), client_of(ada), with_role("owner")
    for client in (adas, other):
        client.get("/")
    admin = client_of(with_role("people"))
    page = admin.get(f"/team/people/{ada.pk}/").content.decode()
    assert page.count('class="device"') == 2
    assert "Signed out on 2 devices." in admin.post(f"/team/people/{ada.pk}/sign-out", follow=True).content.decode()
    assert [client.get("/").status_code for client in (adas, other)] == [302, 302]
    assert not UserSession.objects.filter(user=ada).exists()
    event = AuditEvent.objects.get(kind=AuditKind.SIGNED_OUT, person=ada.pk)
    assert event.details == {"devices": 2}
    # A people admin may not do so to an owner.
    owners = client_of(owner)
    owners.get("/")
    assert "Sign out everywhere" not in admin.get(f"/team/people/{owner.pk}/").content.decode()
    admin.post(f"/team/people/{owner.pk}/sign-out")
    assert owners.get("/").status_code == 200
    # Disabled from the page, which is shown again.
    disabled = admin.post(f"/team/people/{ada.pk}/active", {"active": "no"})
    assert disabled["Location"] == f"/team/people/{ada.pk}/"
    ada.refresh_from_db()
    assert not ada.is_active


def test_models_without_a_price_are_named_beside_budgets_in_dollars(admin_person, client, settings):
    client.force_login(admin_person)
    settings.MODEL, settings.FAST_MODEL, settings.MODELS = "large-1", "small-1", {"large-1": "Large"}
    settings.PRICES = {"small": (1.0, 2.0, 0.1, 1.25)}
    assert "because their price is not known: large-1. " in client.get("/team/budgets/").content.decode()
    settings.PRICES |= {"large": (2.0, 10.0, 0.2, 2.5)}
    assert "price is not known" not in client.get("/team/budgets/").content.decode()


def test_a_budget_in_dollars_is_refused_while_no_model_has_a_price(admin_person, client, settings):
    client.force_login(admin_person)
    settings.PRICES = {}
    refused = client.post("/team/budgets/", {"period": "month", "max_cost": "20"})
    assert refused.status_code == 422
    assert "this budget would never be used up" in refused.content.decode()
    settings.PRICES = {settings.MODEL: (2.0, 10.0, 0.2, 2.5)}
    assert client.post("/team/budgets/", {"period": "month", "max_cost": "20"}).status_code == 302


def test_the_days_of_everybodys_budget_end_at_midnight_of_who_made_it(admin_person, client):
    User.objects.filter(pk=admin_person.pk).update(timezone="Europe/Berlin")
    client.force_login(admin_person)
    page = client.get("/team/budgets/").content.decode()
    assert "---------" not in page
    for period in ("day", "month"):
        client.post("/team/budgets/", {"period": period, "max_tokens": "1000"})
    ends = re.findall(r"· until ([^<]+)<", client.get("/team/budgets/").content.decode())
    assert len(ends) == 2
    assert all("midnight" in each or "00:00" in each or "12:00 a.m." in each for each in ends), ends


def test_a_budget_that_is_used_up_is_said_on_every_page_with_the_way_to_ones_usage(ada, client):
    client.force_login(ada)
    Budget.objects.create(user=ada, period="day", max_tokens=1000)
    assert "is used up" not in client.get("/").content.decode()
    Spend.objects.create(user=ada, model="m", purpose="", input_tokens=1200)
    for address in ("/", "/settings/"):
        page = client.get(address).content.decode()
        assert "Your budget for today is used up. You can go on from" in page
        assert '<a href="/settings/usage/">Your usage</a>' in page


def test_budgets_are_made_changed_and_deleted_and_each_change_is_recorded(ada, admin_person, client, settings):
    settings.PRICES = {settings.MODEL: (2.0, 10.0, 0.2, 2.5)}
    client.force_login(admin_person)
    group = Group.objects.create(name="Research")

    def make(**fields):
        return client.post("/team/budgets/", {"period": "month", "max_cost": "20", **fields}).status_code

    assert make(email="ADA@example.org") == 302
    assert make(group=group.pk) == 302
    assert make(period="day", max_cost="", max_tokens="1000") == 302
    # One of the kind is enough; a stranger, a person and a group, and no limit are mistakes.
    wrong = [{"group": group.pk}, {"email": "nobody@example.org"}, {"email": ada.email, "group": group.pk}]
    assert [make(**fields) for fields in [*wrong, {"period": "day", "email": ada.email, "max_cost": ""}]] == [422] * 4
    adas = Budget.objects.get(user=ada)
    page = client.get("/team/budgets/").content.decode()
    assert "ada@example.org, Month" in page
    assert "Everybody, Day" in page
    assert client.post(f"/team/budgets/{adas.pk}/", {"max_cost": "", "max_tokens": ""}).status_code == 422
    client.post(f"/team/budgets/{adas.pk}/", {"max_cost": "30", "max_tokens": "500"})
    adas.refresh_from_db()
    assert (adas.max_cost, adas.max_tokens) == (30, 500)
    client.post(f"/team/budgets/{adas.pk}/", {"do": "delete"})
    assert Budget.objects.count() == 2
    events = AuditEvent.objects.filter(kind=AuditKind.SETTING_CHANGED, person=ada.pk).order_by("pk")
    assert [(each.actor, each.details["dollars"], each.details.get("deleted")) for each in events] == [
        (admin_person.pk, "20.00", None),
        (admin_person.pk, "30.00", None),
        (admin_person.pk, "30.00", True),
    ]


def test_health_says_what_does_not_work_and_what_to_do(admin_person, client):
    client.force_login(admin_person)
    page = client.get("/team/health/").content.decode()
    assert "Start a worker" in page
    # A new installation has not been checked, and nothing is wrong with that.
    assert page.count("Needs attention") == 1
    assert "for the first time within an hour" in page
    User.objects.update(date_joined=timezone.now() - dt.timedelta(days=3))
    assert "It has never been checked." in client.get("/team/health/").content.decode()
    assert "The database fits this version." in page
    # What is not set up is no part of it.
    assert "Collector of the audit log" not in page
    assert "Run manage.py migrate." not in page
    violation = {"invariant": "a space has an owner", "text": "space 7 has none"}
    InvariantRun.objects.create(at=timezone.now(), seconds=1, checked=9, count=1, violations=[violation])
    page = client.get("/team/health/").content.decode()
    assert "violations found: 1" in page
    assert "space 7 has none" in page


def test_health_names_the_model_server_that_does_not_answer(admin_person, client, scripted, settings):
    settings.UPSTREAMS = (Upstream("second", "http://127.0.0.1:9", models=("llama",)),)
    client.force_login(admin_person)
    scripted.script(key_refused())
    for model, failure in (("claude-haiku-5-5", KeyRefusedError), ("llama", UnreachableError)):
        request = llm.Request(model, [], [{"role": "user", "content": "Hello?"}])
        with pytest.raises(failure):
            async_to_sync(llm.complete)(request, Spending(NOBODY))
    page = client.get("/team/health/").content.decode()
    assert str(KeyRefusedError().reason) in unescape(page)
    assert "Model server second" in page
    failing.has_answered(Route(""))
    page = client.get("/team/health/").content.decode()
    assert str(KeyRefusedError().reason) not in unescape(page)


def test_a_page_tells_when_a_person_was_last_here_and_writes_it_rarely(ada):
    adas = client_of(ada)
    adas.get("/settings/")
    ada.refresh_from_db()
    # Who has just signed in is here.
    assert ada.last_seen_at is None
    long_ago = timezone.now() - 2 * seen.SEEN_INTERVAL
    User.objects.filter(pk=ada.pk).update(last_login=long_ago)
    adas.get("/settings/")
    ada.refresh_from_db()
    assert ada.last_seen == ada.last_seen_at > long_ago
    with CaptureQueriesContext(connection) as queries:
        adas.get("/settings/")
    assert not [each for each in queries.captured_queries if each["sql"].startswith("UPDATE")]


def test_who_uses_a_key_only_was_here_too_which_is_written_rarely(adas, ada):
    User.objects.filter(pk=ada.pk).update(last_login=None)
    assert adas.get("/me").status_code == 200
    ada.refresh_from_db()
    assert ada.last_seen == ada.last_seen_at is not None
    with CaptureQueriesContext(connection) as queries:
        adas.get("/me")
    assert not [each for each in queries.captured_queries if each["sql"].startswith("UPDATE")]


def test_a_page_is_answered_although_when_its_person_was_here_cannot_be_stored(ada, client, monkeypatch, caplog):
    def fail(*arguments, **fields):
        raise OperationalError("the table is locked")

    client.force_login(ada)
    User.objects.filter(pk=ada.pk).update(last_seen_at=None, last_login=None)
    monkeypatch.setattr(type(User.objects.all()), "update", fail)
    assert client.get("/settings/").status_code == 200
    assert "was not stored" in caplog.text
