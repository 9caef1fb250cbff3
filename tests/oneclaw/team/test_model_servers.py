"""The pages of further model servers: an owner adds, changes, tries and removes one, and nobody ever sees its key."""

import json
import threading

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, connections
from django.test import Client

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams import access, servers
from oneclaw.llm.upstreams.routes import home_of
from oneclaw.models import AuditEvent, Group, GroupMember, ModelRule, ModelServer, Spend, User
from oneclaw.people import roles
from oneclaw.people.sign_in import fresh
from oneclaw.team.model_servers.addresses import AddressError, validated_address
from oneclaw.team.model_servers.offers import OffersError, lines_of, parsed_offers
from tests.scripted import ScriptedModel, answer, error, key_refused

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
KEY = "sk-quince-0123456789"
SERVER = {
    "name": "gateway",
    "url": "https://models.example.org",
    "key": KEY,
    "models": "llama-4, Llama at home, 0/0, claude-haiku-5-5\nother",
    "position": "1",
    "is_enabled": "on",
    "who": "everybody",
}


@pytest.fixture
def owner(admin_person, settings):
    settings.OUTGOING_NETWORKS = ["127.0.0.1"]
    client = Client()
    client.post("/accounts/login/", {"login": admin_person.email, "password": PASSWORD})
    return client


def added(owner, **changes):
    """Add a server on the page; return its row and its address."""
    made = owner.post("/team/models/servers/new/", SERVER | changes)
    assert made.status_code == 302, made.content.decode()
    row = ModelServer.objects.get(name=changes.get("name", SERVER["name"]))
    return row, f"/team/models/servers/{row.pk}/"


def changed(owner, address, **changes):
    """Send the form of a server with `changes`, as it was opened, without the key that it does not show."""
    version = ModelServer.objects.get(pk=address.split("/")[-2]).version
    return owner.post(address, SERVER | {"key": "", "version": version} | changes)


def test_an_owner_adds_a_server_and_all_that_is_kept_of_its_key_is_sealed(owner, settings, caplog):
    caplog.set_level("DEBUG")
    row, address = added(owner)
    assert row.key == KEY
    assert row.offers == [
        {"model": "llama-4", "label": "Llama at home", "price": "0/0", "instead_of": ["claude-haiku-5-5"]},
        {"model": "other"},
    ]
    servers.of_rows.forget()
    assert home_of("llama-4").upstream.key == KEY
    page = owner.get(address).content.decode() + owner.get("/team/models/").content.decode()
    page += owner.get("/team/health/").content.decode() + owner.get("/team/audit/").content.decode()
    assert "Llama at home" in page
    changed(owner, address, url="rubbish", key=KEY + "x")
    assert KEY not in page + caplog.text + everything_stored()


def everything_stored():
    """Return the text of all rows of the database but those of sessions, and what the sessions hold."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(f'SELECT row_to_json(row)::text FROM "{table}" AS row')
            found += [text for (text,) in cursor.fetchall()]
    return json.dumps(found) + json.dumps([session.get_decoded() for session in Session.objects.all()])


def test_a_form_that_is_sent_too_late_leaves_its_key_nowhere(owner, monkeypatch):
    monkeypatch.setattr(fresh, "is_fresh", lambda request: False)
    for address in ("/team/models/servers/new/", "/team/models/servers/new/?next=/"):
        late = owner.post(address, SERVER)
        assert (late.status_code, late["Location"]) == (302, "/team/models/servers/new/")
    assert not ModelServer.objects.exists()
    assert KEY not in everything_stored()


def test_a_change_keeps_the_key_and_is_in_the_audit_log(owner, admin_person):
    _row, address = added(owner)
    assert changed(owner, address, url="https://models.example.org/anthropic/v1/messages").status_code == 302
    row = ModelServer.objects.get()
    assert (row.key, row.url, row.version) == (KEY, "https://models.example.org/anthropic", 2)
    changed(owner, address, models="other", memory_stays_home="on", removes_key="on")
    assert ModelServer.objects.get().sealed_key == ""
    owner.post(f"{address}remove")
    events = [event.details for event in AuditEvent.objects.filter(kind="setting.changed").order_by("pk")]
    assert [(event["act"], event.get("changed")) for event in events] == [
        ("added", None),
        ("changed", ["url"]),
        ("changed", ["url", "offers", "memory_stays_home", "key"]),
        ("removed", None),
    ]
    assert not ModelServer.objects.exists()


@pytest.mark.parametrize(
    "url", ["https://evil.example.org", "http://models.example.org", "https://models.example.org:8"]
)
def test_a_stored_key_is_not_sent_to_another_server(owner, url):
    _row, address = added(owner)
    refused = changed(owner, address, url=url)
    assert refused.status_code == 422
    assert "another host or port" in refused.content.decode()
    assert ModelServer.objects.get().url == SERVER["url"]
    assert changed(owner, address, url=url, key="another").status_code == 302
    assert ModelServer.objects.get().key == "another"


def test_of_two_owners_the_second_one_is_told_that_the_first_has_changed_it(owner):
    row, address = added(owner)
    changed(owner, address, url="https://models.example.org/first")
    late = owner.post(address, SERVER | {"version": row.version, "url": "https://models.example.org/second"})
    assert late.status_code == 422
    assert "Somebody else has changed this server" in late.content.decode()
    assert ModelServer.objects.get().url == "https://models.example.org/first"
    owner.post(f"{address}remove")
    assert owner.post(address, SERVER | {"version": 2}).status_code == 404


@pytest.mark.parametrize(
    "rubbish",
    [
        {"version": ""},
        {"version": "9" * 30},
        {"position": "-1"},
        {"position": "1e9"},
        {"models": "a\x00b"},
        {"models": "a" * 50_000},
        {"url": "https://models.example.org/\x00"},
        {"key": "ключ"},
        {"key": "a\x00b"},
    ],
)
def test_rubbish_changes_nothing(owner, rubbish):
    _row, address = added(owner)
    assert changed(owner, address, **rubbish).status_code == 422
    assert [(row.version, row.key) for row in ModelServer.objects.all()] == [(1, KEY)]
    assert owner.get(f"/team/models/servers/{'9' * 30}/").status_code == 404


def test_a_name_is_taken_once_whatever_its_case_and_also_by_the_environment(owner, settings):
    added(owner)
    settings.UPSTREAMS = (Upstream("Backup", "https://backup.example.org", models=("m",)),)
    for name in ("GateWay", "backup", "two words", "<b>", ""):
        assert owner.post("/team/models/servers/new/", SERVER | {"name": name}).status_code == 422, name
    settings.UPSTREAMS = (Upstream("Gateway", "https://backup.example.org", models=("m",)),)
    page = owner.get("/team/models/").content.decode()
    assert "set in the environment" in page
    assert "the environment has a server of this name" in page


def test_only_members_of_its_groups_use_a_server_from_its_first_second_on(owner, ada, stranger):
    group = Group.objects.create(name="Research")
    GroupMember.objects.create(group=group, user=ada)
    # The rules were read before there was the server.
    access.known_rules.forget()
    assert access.may_use(stranger.pk, "great")
    _row, address = added(owner, who="groups", groups=[group.pk])
    servers.of_rows.forget()
    assert (access.may_use(ada.pk, "llama-4"), access.may_use(stranger.pk, "llama-4")) == (True, False)
    assert "Research" in owner.get(address).content.decode()
    changed(owner, address)
    access.known_rules.forget()
    assert access.may_use(stranger.pk, "llama-4")
    assert not ModelRule.objects.exists()


def test_a_trial_says_whether_the_server_answers_and_what_it_costs_is_recorded(owner, admin_person, scripted, caplog):
    caplog.set_level("DEBUG")
    with ScriptedModel() as there:
        _row, address = added(owner, url=there.url, models="llama-4, , 1/2")
        there.script(answer("OK"), key_refused(), error(302, "moved", "There", location=f"{scripted.url}/v1/messages"))
        said = [owner.post(f"{address}try", follow=True).content.decode() for _ in range(3)]
        assert "gateway has answered as llama-4 after" in said[0]
        assert "llama-4 on gateway did not answer: " in said[1]
        assert "llama-4 on gateway did not answer: " in said[2]
        assert there.messages[0].headers["x-api-key"] == KEY
        assert json.dumps(there.messages[0].body).count("Answer with OK") == 1
        assert admin_person.email not in json.dumps(there.messages[0].body)
        assert scripted.requests == []
        assert KEY not in caplog.text + everything_stored()
    [spend] = Spend.objects.all()
    assert (spend.purpose, spend.user, spend.model, int(spend.price[1])) == ("trial", admin_person, "llama-4", 2)
    # What was spent is not changed by another price.
    changed(owner, address, models="llama-4, , 5/50")
    assert int(Spend.objects.get().price[1]) == 2


def test_a_trial_of_a_server_that_never_ends_ends(owner, scripted, monkeypatch):
    monkeypatch.setattr("oneclaw.llm.upstreams.trial.TRIAL_MAX_SECONDS", 0.3)
    with ScriptedModel(answer("OK " * 100, pace=0.05)) as there:
        _row, address = added(owner, url=there.url)
        said = owner.post(f"{address}try", follow=True).content.decode()
        assert "llama-4 on gateway did not answer: " in said


def test_after_a_change_of_the_secret_key_the_pages_say_what_to_do(owner, admin_person, settings):
    _row, address = added(owner)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another secret key of this server"
    servers.of_rows.forget()
    assert "cannot be read" not in owner.get(address).content.decode()
    settings.SECRET_KEY_FALLBACKS = []
    owner = Client()
    owner.post("/accounts/login/", {"login": admin_person.email, "password": PASSWORD})
    servers.of_rows.forget()
    for page in ("/team/models/", address, "/team/health/"):
        assert "Enter it again" in owner.get(page).content.decode(), page
    said = owner.post(f"{address}try", follow=True).content.decode()
    assert "llama-4 on gateway did not answer: The key" in said
    assert changed(owner, address, key="new").status_code == 302
    assert ModelServer.objects.get().key == "new"


@pytest.mark.parametrize("role", [role for role in User.Role.values if role != User.Role.OWNER])
def test_no_other_role_sees_or_changes_a_server(owner, ada, role):
    _row, address = added(owner)
    roles.set_role(ada, role)
    ada.save()
    client = Client()
    client.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    for way in ("/team/models/servers/new/", address):
        assert client.get(way).status_code == 403
        assert client.post(way, SERVER | {"name": "theirs", "version": 1}).status_code == 403
    for way in ("remove", "try"):
        assert client.post(f"{address}{way}").status_code == 403
    assert [row.version for row in ModelServer.objects.all()] == [1]


@pytest.mark.django_db(transaction=True)
def test_of_two_additions_at_once_one_has_the_name(owner, admin_person):
    from oneclaw.team.model_servers import saving

    said = {"name": "gateway", "url": "https://a", "key": "", "models": [{"model": "m"}], "position": 0}
    said |= {"memory_stays_home": False, "is_enabled": True}
    outcomes = []

    def add():
        try:
            outcomes.append(saving.add(admin_person, said, None).name)
        except saving.ServerNameTakenError:
            outcomes.append("taken")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["gateway", "taken", "taken", "taken"]


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        (" https://models.example.org/ ", "https://models.example.org"),
        ("https://models.example.org/v1/messages", "https://models.example.org"),
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://[::1]:11434/anthropic/", "http://[::1]:11434/anthropic"),
        ("http://10.0.0.7", "http://10.0.0.7"),
    ],
)
def test_an_address_is_taken_as_the_client_needs_it(typed, address, settings):
    settings.OUTGOING_NETWORKS = ["127.0.0.0/8", "::1", "10.0.0.0/8"]
    assert validated_address(typed) == address


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "models.example.org",
        "ftp://models.example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://ada:secret@models.example.org",
        "https://models.example.org@evil.example.org",
        "https://models.example.org?key=1",
        "https://models.example.org#there",
        "https://models.example.org\\@evil.example.org",
        "https://models.example.org:99999",
        "https://[models",
        "https://models.exa mple.org",
        "https://models.example.org/\r\nHost: evil",
        "https://mödels.example.org",
        "https://" + "a" * 400,
        "http://169.254.169.254/latest",
        "http://169.254.43518/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://localhost:11434/v1",
        "http://10.0.0.7",
        "http://100.64.0.1",
    ],
)
def test_what_is_no_address_of_a_model_server_is_refused(typed):
    with pytest.raises(AddressError):
        validated_address(typed)


def test_a_refused_address_is_answered_with_the_setting_that_allows_it():
    with pytest.raises(AddressError, match=r"10\.0\.0\.7 is not one of the internet.*ONECLAW_OUTGOING_NETWORKS"):
        validated_address("http://10.0.0.7:11434")


def test_models_are_read_from_lines_and_written_as_the_same_lines():
    text = 'b, "Big, and slow", 2/10/0.1/2.5, a; c\na\n'
    offers = parsed_offers(text)
    assert [offer["model"] for offer in offers] == ["b", "a"]
    assert parsed_offers(lines_of(offers)) == offers
    assert lines_of(offers) == 'b, "Big, and slow", 2/10/0.1/2.5, a; c\na'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "at least one model"),
        ("a\na", "there twice"),
        ("a, b, c, d, e", "too many commas"),
        (",label", "is no name"),
        ("a b", "is no name"),
        ("a" * 101, "is no name"),
        ("a, label, cheap", "price of “a”"),
        ("a, label, nan/1", "price of “a”"),
        ("a, label, -1/1", "price of “a”"),
        ("a, " + "l" * 101, "label of “a” is too long"),
        ("a,,,b c", "is no name"),
        ('"a', "cannot be read"),
        ('a, say ""hello""', "without quotation marks"),
        ("\n".join(f"m{number}" for number in range(101)), "100 models"),
    ],
)
def test_a_mistake_in_the_models_is_named(text, sentence):
    with pytest.raises(OffersError, match=sentence):
        parsed_offers(text)
