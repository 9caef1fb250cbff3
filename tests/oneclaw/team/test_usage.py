"""What was spent, as its person, a team's admin and a program see it."""

import csv
import datetime as dt

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Budget, Group, Space, Spend, User
from oneclaw.people.roles import set_role
from oneclaw.spaces import members
from oneclaw.spend.calls import Payer, Spending

pytestmark = pytest.mark.django_db
JUNE = "2026-06"


@pytest.fixture
def spent(ada, stranger, settings):
    """Two people's calls in June 2026, one of them on the first day of July by Ada's clock."""
    settings.PRICES = {"claude": (2.0, 10.0, 0.2, 2.5)}
    Group.objects.create(name="Research").members.create(user=ada)
    space = Space.objects.own_of(ada)

    def spend(user, purpose, model, tokens, at="2026-06-10T10:00Z", space=None):
        spending = Spending(Payer(purpose, user.pk, space_id=space and space.pk))
        spending.add(model, {"input_tokens": tokens, "output_tokens": 1_000})
        for row in spending.rows:
            row.at = dt.datetime.fromisoformat(at)
        spending.store()

    spend(ada, Spend.Purpose.ANSWER, "claude-large", 1_000_000)
    spend(ada, Spend.Purpose.NOTES, "claude-small", 500_000, space=space)
    spend(ada, Spend.Purpose.ANSWER, "other", 10, at="2026-06-11T10:00Z")
    spend(ada, Spend.Purpose.ANSWER, "claude-large", 7_000_000, at="2026-06-30T22:30Z")
    spend(stranger, Spend.Purpose.ANSWER, "=cmd()", 4_000_000)


@pytest.fixture
def biller(stranger):
    stranger.user_permissions.add(Permission.objects.get(codename="view_spend"))
    return stranger


def text_of(page):
    return " ".join(page.content.decode().split())


def test_a_person_sees_what_their_own_calls_and_their_memory_have_cost(client, ada, spent):
    client.force_login(ada)
    page = text_of(client.get(f"/settings/usage/?month={JUNE}"))
    assert "3.02 US dollars for 1,503,010 tokens." in page
    assert "Memory’s share: 33 %." in page
    assert "1 request has no price" in page
    assert "Notes of conversations" in page
    assert "claude-large" in page
    assert "=cmd" not in page
    # The first hours of July by her clock are July's.
    assert "14.01 US dollars" in text_of(client.get("/settings/usage/?month=2026-07"))
    assert "No model was asked in this month." in text_of(client.get("/settings/usage/?month=2026-05"))
    for month in ("never", "9999-12", "0001-01"):
        assert client.get(f"/settings/usage/?month={month}").status_code == 404


def test_only_those_who_may_see_everybodys_usage_find_its_page(client, ada, biller, spent):
    for path in ("/team/usage/", "/team/usage.csv"):
        client.force_login(ada)
        assert client.get(path).status_code == 403
        client.force_login(biller)
        assert client.get(path).status_code == 200
    assert "/team/usage/" in text_of(client.get("/settings/"))
    client.force_login(ada)
    assert "/team/usage/" not in text_of(client.get("/settings/"))


@pytest.mark.parametrize("role", User.Role.values)
def test_each_role_sees_and_changes_what_it_may_of_money(ada, spent, role):
    budget = Budget.objects.create(user=ada, period="month", max_cost=20)
    person = User.objects.create_user("somebody@example.org", "correct horse battery", timezone_chosen=True)
    set_role(person, role)
    person.save()
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": "correct horse battery"})
    sees, changes = role in ("owner", "auditor", "billing"), role == "owner"
    for path in (f"/team/usage/?month={JUNE}", f"/team/usage.csv?month={JUNE}"):
        response = client.get(path)
        assert (response.status_code, b"ada@example.org" in response.content) == ((200, True) if sees else (403, False))
    # Their own usage is for everybody, and theirs alone.
    own = text_of(client.get(f"/settings/usage/?month={JUNE}"))
    assert "No model was asked in this month." in own
    assert ('href="/team/usage/"' in text_of(client.get("/settings/"))) == sees
    statuses = [
        client.post("/team/budgets/", {"period": "day", "max_tokens": "5"}).status_code,
        client.post(f"/team/budgets/{budget.pk}/", {"max_cost": "30"}).status_code,
        client.post(f"/team/budgets/{budget.pk}/", {"do": "delete"}).status_code,
    ]
    assert statuses == [302 if changes else 403] * 3
    left = [(each.user_id, each.period, each.max_cost) for each in Budget.objects.all()]
    assert left == ([(None, "day", None)] if changes else [(ada.pk, "month", 20)])


def test_the_page_of_the_team_adds_up_by_person_group_space_purpose_and_model(client, biller, ada, spent):
    Budget.objects.create(group=Group.objects.get(), period="month", max_tokens=5)
    client.force_login(biller)
    response = client.get(f"/team/usage/?month={JUNE}")
    found = {str(title): [(row.name, row.sums.calls) for row in rows] for title, rows in response.context["tables"]}
    assert found["By person"] == [("ada@example.org", 4), ("stranger@example.org", 1)]
    assert found["By group"] == [("Research", 4)]
    assert found["By space"] == [("No space", 4), ("Private memory", 1)]
    assert found["By purpose"] == [("Answers", 4), ("Notes of conversations", 1)]
    assert dict(found["By model"])["claude-large"] == 2
    page = text_of(response)
    assert page.partition("usage__chart")[2].count("<rect") == 30
    assert "of 5 tokens" in page


def test_the_names_of_private_agents_are_theirs_alone_and_those_of_teams_are_shown(client, biller, ada, spent):
    agent = Space.objects.create(owner=ada, kind=Space.Kind.AGENT, name="Zyzzyva therapist")
    team = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Labs")
    for space in (agent, team):
        at = dt.datetime.fromisoformat("2026-06-10T10:00Z")
        Spend.objects.create(user=ada, space=space, purpose="notes", model="m", input_tokens=7, at=at)
    client.force_login(biller)
    response = client.get(f"/team/usage/?month={JUNE}")
    (rows,) = [rows for title, rows in response.context["tables"] if title == "By space"]
    assert {row.name: row.sums.calls for row in rows} == {"No space": 4, "Private memory": 2, "Labs": 1}
    file = client.get(f"/team/usage.csv?month={JUNE}").content.decode()
    assert {line["space"] for line in csv.DictReader(file.splitlines())} == {"", "private", "Labs"}
    assert "Zyzzyva" not in file + response.content.decode()


def test_while_curation_is_closed_only_spaces_of_the_reader_have_a_name(client, biller, ada, spent, settings):
    biller.user_permissions.add(Permission.objects.get(codename="view_audit"))
    labs, own = [Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name=name) for name in ("Labs", "Gardening")]
    members.add_by_email(own, biller.email, "reader")
    for space in (labs, own):
        at = dt.datetime.fromisoformat("2026-06-10T10:00Z")
        Spend.objects.create(user=ada, space=space, purpose="notes", model="m", input_tokens=7, at=at)
        record(AuditKind.SPACE_CHANGED, actor=ada, space=space)
    client.force_login(biller)
    for settings.CURATION, name in (("recorded", "Labs"), ("closed", f"Space {labs.pk}")):
        for path in (f"/team/usage/?month={JUNE}", f"/team/usage.csv?month={JUNE}", "/team/audit/"):
            page = text_of(client.get(path))
            assert (name in page, "Labs" in page, "Gardening" in page) == (True, name == "Labs", True), path


def test_a_shared_space_is_not_taken_for_private_memory_whatever_its_name(client, biller, ada, spent):
    shared = [Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="private") for _ in range(2)]
    for space in shared:
        at = dt.datetime.fromisoformat("2026-06-10T10:00Z")
        Spend.objects.create(user=ada, space=space, purpose="notes", model="m", input_tokens=7, at=at)
    client.force_login(biller)
    response = client.get(f"/team/usage/?month={JUNE}")
    (rows,) = [rows for title, rows in response.context["tables"] if title == "By space"]
    assert {(row.key, row.name, row.sums.calls) for row in rows} == {
        *((str(space.pk), "private", 1) for space in shared),
        ("", "Private memory", 1),
        ("", "No space", 4),
    }
    lines = list(csv.DictReader(client.get(f"/team/usage.csv?month={JUNE}").content.decode().splitlines()))
    own = {(line["space"], line["space_id"]) for line in lines}
    assert own == {("", ""), ("private", ""), *(("private", str(space.pk)) for space in shared)}


@pytest.mark.parametrize("path", ["/settings/usage/", "/team/usage/"])
def test_no_page_leads_to_a_month_that_has_not_begun(client, ada, biller, path, monkeypatch):
    # In Zurich it is December for an hour already, in UTC it is not.
    monkeypatch.setattr(User, "day", lambda self: dt.date(2026, 12, 1) if self.pk == ada.pk else dt.date(2026, 11, 30))
    client.force_login(biller)
    page = text_of(client.get(f"{path}?month=2026-11"))
    assert "?month=2026-10" in page
    assert "?month=2026-12" not in page
    assert "?month=2026-11" in text_of(client.get(f"{path}?month=2026-10"))
    # A month of the future that somebody has asked for.
    assert "?month=2027-02" not in text_of(client.get(f"{path}?month=2027-01"))
    assert "?month=1999-12" not in text_of(client.get(f"{path}?month=2000-01"))
    ada.user_permissions.add(Permission.objects.get(codename="view_spend"))
    client.force_login(ada)
    assert "?month=2026-12" in text_of(client.get(f"{path}?month=2026-11"))


def test_the_file_has_every_line_and_no_formulas(client, biller, spent):
    client.force_login(biller)
    response = client.get(f"/team/usage.csv?month={JUNE}")
    lines = list(csv.DictReader(response.content.decode().splitlines()))
    assert len(lines) == 5
    assert {line["model"] for line in lines} == {"claude-large", "claude-small", "other", "'=cmd()"}
    first = next(line for line in lines if line["model"] == "claude-small")
    assert (first["day"], first["person"], first["purpose"]) == ("2026-06-10", "ada@example.org", "notes")
    assert (first["input_tokens"], float(first["cost"])) == ("500000", 1.01)


def test_a_person_sees_what_is_left_of_the_budgets_that_apply_to_them(client, ada, adas, stranger):
    group, other = (Group.objects.create(name=name) for name in ("Research", "Zyzzyva"))
    group.members.create(user=ada)
    Budget.objects.create(user=ada, period="month", max_cost=20)
    Budget.objects.create(group=group, period="day", max_tokens=500_000)
    Budget.objects.create(period="day", max_tokens=900_000)
    Budget.objects.create(user=stranger, period="day", max_tokens=111_222)
    Budget.objects.create(group=other, period="day", max_tokens=333_444)
    Spend.objects.create(user=ada, purpose="answer", model="m", input_tokens=7, cost=5)
    client.force_login(ada)
    page = text_of(client.get("/settings/usage/"))
    for shown in (
        "Yours, Month: 5.00 of 20.00 US dollars",
        "Research, Day: 7 of 500,000",
        "Everybody, Day: 7 of 900,000",
    ):
        assert shown in page
    assert "111,222" not in page
    assert "Zyzzyva" not in page
    told = {(each["scope"], each["used_tokens"], each["max_tokens"]) for each in adas.get("/usage").json()["budgets"]}
    assert told == {("person", 7, None), ("group", 7, 500_000), ("all", 7, 900_000)}


def test_a_program_reads_what_its_person_has_spent(adas, strangers, spent):
    told = adas.get("/usage", month=JUNE).json()
    assert (told["total"]["calls"], told["total"]["cost"], told["memory"]["cost"]) == (3, 3.02, 1.01)
    assert [day["day"] for day in told["days"]] == ["2026-06-10", "2026-06-11"]
    assert {row["name"] for row in told["purposes"]} == {"answer", "notes"}
    assert {row["name"] for row in strangers.get("/usage", month=JUNE).json()["models"]} == {"=cmd()"}
    assert [adas.get("/usage", month=month).status_code for month in ("June", "9999-12")] == [422, 422]
