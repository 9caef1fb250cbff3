"""The pages on which owners say who may use a model or a server."""

import pytest
from django.test import Client

from oneclaw.config.upstreams import Upstream
from oneclaw.models import Group, ModelRule, User
from oneclaw.people import roles

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
FAR = Upstream(
    "far", "https://far.example.org", models=("llama/4",), labels={"llama/4": "Llama"}, memory_stays_home=True
)


@pytest.fixture(autouse=True)
def models(settings):
    settings.MODEL, settings.MODELS, settings.UPSTREAMS = "usual", {"usual": "Usual", "great": "Great"}, (FAR,)


@pytest.fixture
def owner(admin_person):
    client = Client()
    client.post("/accounts/login/", {"login": admin_person.email, "password": PASSWORD})
    return client


def test_an_owner_limits_a_model_and_a_server_and_opens_them_again(owner):
    research, _sales = (Group.objects.create(name=name) for name in ("Research", "Sales"))
    page = owner.get("/team/models/").content.decode()
    assert "Everybody, always: the default" in page
    assert page.count("answers without memory") == 2
    for query, name in (("model=llama/4", "Llama"), ("server=far", "far")):
        about = dict([query.split("=")])
        assert f"<h1>{name}</h1>" in owner.get(f"/team/models/one/?{query}").content.decode()
        owner.post("/team/models/change", {**about, "who": "groups", "groups": [research.pk, "x", "999"]})
        form = owner.get(f"/team/models/one/?{query}").content.decode()
        assert [form.count(" checked")] == [2]
    page = owner.get("/team/models/").content.decode()
    assert page.count("Research") == 2
    owner.post("/team/models/change", {"server": "far", "who": "groups"})
    assert "Nobody" in owner.get("/team/models/").content.decode()
    owner.post("/team/models/change", {"server": "far", "who": "everybody"})
    assert [(rule.server, rule.model) for rule in ModelRule.objects.all()] == [("", "llama/4")]


def test_the_default_has_no_rule_and_neither_has_what_is_unknown(owner):
    for query in ("model=usual", "model=unknown", "server=unknown", ""):
        assert owner.get(f"/team/models/one/?{query}").status_code == 404
        about = dict([query.split("=")]) if query else {}
        assert owner.post("/team/models/change", {**about, "who": "groups"}).status_code == 404
    assert not ModelRule.objects.exists()


@pytest.mark.parametrize("role", [role for role in User.Role.values if role != User.Role.OWNER])
def test_no_other_role_changes_who_may_use_what(ada, role):
    roles.set_role(ada, role)
    ada.save()
    client = Client()
    client.force_login(ada)
    assert client.post("/team/models/change", {"model": "great", "who": "groups"}).status_code == 403
    assert not ModelRule.objects.exists()


def test_a_change_needs_a_fresh_sign_in(admin_person):
    client = Client()
    client.force_login(admin_person)
    assert client.post("/team/models/change", {"model": "great", "who": "groups"}).status_code == 302
    assert not ModelRule.objects.exists()
