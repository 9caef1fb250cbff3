"""The pages of leaving: a person deletes their account, an admin removes somebody, sets rules and holds."""

import json
import re

import pytest
from django.test import Client

from oneclaw.audit import holds
from oneclaw.leaving import offboard
from oneclaw.models import AuditEvent, LegalHold, Offboarding, RetentionRule, Space, SpaceMember, User
from oneclaw.people import roles
from oneclaw.spaces import lifecycle, members

PASSWORD = "correct horse battery"


def signed_in(person: User) -> Client:
    """Return a client in which `person` has signed in a moment ago."""
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": PASSWORD})
    return client


@pytest.fixture
def team(ada, stranger) -> Space:
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room", kind="team"))
    members.add_by_email(space, stranger.email, SpaceMember.Role.READER)
    return space


def test_a_person_says_what_becomes_of_their_spaces_and_deletes_the_account(ada, stranger, admin_person, team):
    client, elsewhere = signed_in(ada), signed_in(ada)
    page = client.get("/settings/delete/").content.decode()
    assert "Only you own “Engine room”" in page
    assert "1 shared space has no other owner" in page
    # Without an answer, and with one that the page does not offer.
    for choice in ("", str(admin_person.pk)):
        refused = client.post("/settings/delete/", {f"space-{team.pk}": choice})
        assert refused.status_code == 422
        assert "Engine room" in refused.content.decode()
    said = client.post("/settings/delete/", {f"space-{team.pk}": str(stranger.pk)})
    assert "is being deleted" in said.content.decode()
    for each in (client, elsewhere, signed_in(ada)):
        assert each.get("/settings/").status_code == 302
    assert offboard.run(Offboarding.objects.get().pk)
    team.refresh_from_db()
    assert team.owner == stranger
    assert not User.objects.filter(pk=ada.pk).exists()


def test_a_space_goes_with_the_account_by_choice(ada, stranger, admin_person, team):
    signed_in(ada).post("/settings/delete/", {f"space-{team.pk}": "delete"})
    assert offboard.run(Offboarding.objects.get().pk)
    assert not Space.objects.shared().exists()


def test_an_old_sign_in_is_asked_first(ada, admin_person):
    client = Client()
    client.force_login(ada)
    for answer in (client.get("/settings/delete/"), client.post("/settings/delete/")):
        assert "/accounts/reauthenticate/" in answer["Location"]
    assert not Offboarding.objects.exists()


def test_an_admin_removes_a_person_and_downloads_the_receipt(ada, stranger, admin_person, team):
    client = signed_in(admin_person)
    address = f"/team/people/{ada.pk}/offboard"
    assert address in client.get(f"/team/people/{ada.pk}/").content.decode()
    assert "Engine room" in client.get(address).content.decode()
    assert client.post(address, {"to": "nobody@example.org"}).status_code == 422
    receipt = client.post(address, {"to": stranger.email, "digest": offboard.plan(ada).digest})["Location"]
    assert "A worker removes the rest" in client.get(receipt).content.decode()
    offboard.run(Offboarding.objects.get().pk)
    assert "Done" in client.get(receipt).content.decode()
    sent = json.loads(client.get(f"{receipt}.json").content)
    assert (sent["person"], sent["receiver"], sent["counts"]["spaces"]) == (ada.pk, stranger.pk, 1)
    assert ada.email not in client.get("/team/retention/").content.decode()


def test_a_person_is_removed_only_with_the_digest_of_what_was_shown(ada, stranger, admin_person, team):
    client = signed_in(admin_person)
    address = f"/team/people/{ada.pk}/offboard"
    assert client.post(address, {"to": stranger.email}).status_code == 422
    shown = re.search(r'name="digest" value="(\w+)"', client.get(address).content.decode())[1]
    Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Bridge").members.create(user=ada, role="owner")
    answer = client.post(address, {"to": stranger.email, "digest": shown})
    assert answer.status_code == 422
    assert "has changed since the page was shown" in answer.content.decode()
    assert (User.objects.get(pk=ada.pk).is_active, Offboarding.objects.count()) == (True, 0)
    again = re.search(r'name="digest" value="(\w+)"', answer.content.decode())[1]
    assert client.post(address, {"to": stranger.email, "digest": again}).status_code == 302


def test_who_manages_no_people_sees_none_of_it(ada, stranger):
    client = signed_in(ada)
    for address in (f"/team/people/{stranger.pk}/offboard", "/team/retention/", "/team/offboardings/1"):
        assert client.get(address).status_code == 403
    for address in ("rules/set", "holds/set"):
        assert client.post(f"/team/retention/{address}", {}).status_code == 403


def test_who_may_not_change_somebody_may_not_remove_them(ada, admin_person):
    ada.role = User.Role.PEOPLE
    ada.save()
    client = signed_in(ada)
    assert client.get(f"/team/people/{admin_person.pk}/offboard").status_code == 404
    assert client.get(f"/team/people/{ada.pk}/offboard").status_code == 404


def test_a_people_admin_does_not_get_the_spaces_of_whom_they_remove(ada, stranger, admin_person, team):
    roles.set_role(stranger, User.Role.PEOPLE)
    stranger.save()
    for person, said in ((stranger, 422), (admin_person, 302)):
        said_yes = {"to": person.email, "digest": offboard.plan(ada).digest}
        refused = signed_in(person).post(f"/team/people/{ada.pk}/offboard", said_yes)
        assert (refused.status_code, Offboarding.objects.count()) == (said, int(said == 302))


def test_rules_and_holds_are_set_and_recorded(ada, admin_person, team):
    client = signed_in(admin_person)
    for days in ("30", "60"):
        client.post("/team/retention/rules/set", {"rule-kind": "conversations", "rule-days": days, "rule-space": ""})
    rule = RetentionRule.objects.get()
    assert (rule.days, rule.space) == (60, None)
    for data in ({}, {"hold-email": ada.email, "hold-space": team.pk, "hold-reason": "x"}):
        assert client.post("/team/retention/holds/set", data).status_code == 422
    client.post("/team/retention/holds/set", {"hold-email": ada.email, "hold-reason": "Case 7"})
    page = client.get("/team/retention/").content.decode()
    assert "Case 7" in page
    assert "60 days" in page
    with pytest.raises(holds.HeldError):
        offboard.begin(ada, by=admin_person)
    client.post(f"/team/retention/holds/{LegalHold.objects.get().pk}/end")
    client.post(f"/team/retention/rules/{rule.pk}/remove")
    assert not RetentionRule.objects.exists()
    assert LegalHold.objects.get().ended_at
    kinds = list(
        AuditEvent.objects.exclude(kind="sign_in")
        .exclude(kind__startswith="space.")
        .order_by("pk")
        .values_list("kind", flat=True)
    )
    assert kinds == ["setting.changed", "setting.changed", "hold.set", "hold.ended", "setting.changed"]
