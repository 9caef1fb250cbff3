"""Who may only read changes nothing, at any address; and no role gets more than it has, or locks out the last owner."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse

from oneclaw.leaving import offboard
from oneclaw.models import ApiKey, Budget, Group, Invitation, ModelServer, Offboarding, Space, SpaceMember, User
from oneclaw.people import keys, roles
from oneclaw.people.sign_in import inviting
from oneclaw.team.urls import urlpatterns
from tests.access.fingerprint import fingerprint
from tests.oneclaw.team.test_pages import client_of, with_role

Role = User.Role
# What everybody does for themselves, and what leads to the first page.
OWN = {"dismiss_announcement", "team"}
# What each sign-in and each page writes.
BY_COMING = {"User", "AuditEvent", "AuditLink", "Presence", "ApiKey", "SignInAttempt"}


@pytest.fixture
def rows(db, admin_person):
    """A person, a group, a budget, an invitation and a key, which somebody would like to change."""
    ada = User.objects.create_user("ada@example.org", "correct horse battery", timezone_chosen=True)
    group = Group.objects.create(name="Research")
    group.members.create(user=ada)
    budget = Budget.objects.create(period="month", max_tokens=1000)
    invitation, _link = inviting.invite(admin_person, inviting.Wish("grace@example.org", Role.OWNER), 7)
    key, _token = keys.make(ada, "Backup", "year")
    Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Labs").members.create(user=ada, role="owner")
    server = ModelServer.objects.create(name="far", url="http://127.0.0.1:9", offers=[{"model": "m"}])
    return {"ada": ada, "group": group, "budget": budget, "invitation": invitation, "key": key, "server": server}


def addresses(rows):
    """The addresses to which something can be posted, with ids of the rows."""
    ids = {"budget_id": rows["budget"].pk, "invitation_id": rows["invitation"].pk, "person_id": rows["ada"].pk}
    ids |= {"name": "maintenance", "rule_id": 1, "hold_id": 1, "offboarding_id": 1, "server_id": rows["server"].pk}
    for pattern in urlpatterns:
        if pattern.name not in OWN:
            yield reverse(pattern.name, kwargs={name: ids[name] for name in pattern.pattern.converters})
    yield reverse("groups")
    yield reverse("group", args=[rows["group"].pk])


def forms(rows):
    """What could be posted to some of them."""
    return {
        "role": "owner", "active": "no", "answer": "yes", "value": "yes", "do": "add", "email": "x@example.org",
        "days": "7", "many-lines": "y@example.org,owner", "many-days": "7", "name": "Mine", "period": "day",
        "max_tokens": "1", "model": "", "to": "", "member": rows["group"].members.get().pk,
    }  # fmt: skip


@pytest.mark.parametrize("role", [Role.MEMBER, Role.AUDITOR, Role.BILLING, Role.CURATOR])
def test_a_role_that_reads_changes_nothing(rows, role):
    person = with_role(role)
    client = client_of(person)
    client.get("/settings/")
    before = fingerprint(BY_COMING)
    people = list(User.objects.order_by("pk").values_list("pk", "email", "role", "is_active", "password"))
    for address in addresses(rows):
        assert client.post(address, forms(rows)).status_code in (403, 404, 405), address
    for model, row in ((User, rows["ada"]), (Group, rows["group"]), (ApiKey, rows["key"]), (Budget, rows["budget"])):
        if model not in admin.site._registry:
            continue
        for what, fields in (("change", {"email": "x@example.org", "name": "x"}), ("delete", {"post": "yes"})):
            address = reverse(f"admin:oneclaw_{model._meta.model_name}_{what}", args=[row.pk])
            assert client.post(address, fields).status_code in (302, 403), address
    assert fingerprint(BY_COMING) == before
    assert ApiKey.objects.filter(pk=rows["key"].pk).exists()
    assert list(User.objects.order_by("pk").values_list("pk", "email", "role", "is_active", "password")) == people


# What takes rights away, or gives none: money, a group without people, and a request that tries a server.
WITHOUT_PROOF = {"revoke_invitation", "team_budgets", "team_budget", "groups", "try_model_server"}
# Forms with a secret, which does not wait in the session: they are shown again, which asks.
WITH_SECRET = {"new_model_server", "model_server"}
# What an owner says with a second factor only.
WITH_SECOND_FACTOR = {"confirm_password"}


def test_every_change_of_rights_takes_a_fresh_sign_in(rows, admin_person):
    client = Client()
    client.force_login(admin_person)
    User.objects.filter(pk=rows["ada"].pk).update(awaits_owner=True)
    before = fingerprint(BY_COMING)
    people = list(User.objects.order_by("pk").values_list("pk", "role", "is_active", "awaits_owner"))
    with_second_factor = []
    for address in addresses(rows):
        name = resolve(address).url_name
        if name in WITHOUT_PROOF:
            continue
        if name in WITH_SECOND_FACTOR:
            with_second_factor.append(address)
            answer = client.post(address, forms(rows))
            assert answer["Location"] == reverse("team_person", args=[rows["ada"].pk])
            continue
        answer = client.post(address, forms(rows))
        if name in WITH_SECRET:
            assert answer["Location"] == address
            answer = client.get(address)
            assert answer["Location"].startswith("/accounts/reauthenticate/")
            continue
        is_asked = "/accounts/reauthenticate/?next=%2Fconfirmed%2F" in answer.get("Location", "")
        assert is_asked or answer.status_code == 405, (name, answer.status_code)
    assert fingerprint(BY_COMING) == before
    assert len(with_second_factor) == len(WITH_SECOND_FACTOR)
    Authenticator.objects.create(user=admin_person, type=Authenticator.Type.TOTP, data={"secret": "x"})
    for address in with_second_factor:
        answer = client.post(address, forms(rows))
        assert answer["Location"].startswith("/accounts/second-factor/reauthenticate/?next=%2Fconfirmed%2F"), address
    assert list(User.objects.order_by("pk").values_list("pk", "role", "is_active", "awaits_owner")) == people


def test_a_people_admin_finds_people_by_words_and_sees_who_they_are(rows):
    client = client_of(with_role(Role.PEOPLE))
    User.objects.create_user("grace@example.org", first_name="Grace Hopper")
    found = {}
    for words in ("ADA@", "hopper", "nobody has this"):
        page = client.get("/team/people/", {"q": words}).content.decode()
        found[words] = [email for email in ("ada@example.org", "grace@example.org") if f">{email}<" in page]
    assert found == {"ADA@": ["ada@example.org"], "hopper": ["grace@example.org"], "nobody has this": []}
    page = client.get(f"/team/people/{rows['ada'].pk}/").content.decode()
    # Groups, keys by their number and without their names, and whether they were ever here.
    assert "Research" in page
    assert "Backup" not in page


def test_a_people_admin_gets_no_more_rights_by_any_address_and_touches_no_owner(rows, admin_person):
    person = with_role(Role.PEOPLE)
    client = client_of(person)
    invitation = rows["invitation"]
    # A new link of an owner's invitation would make an owner of who has it.
    renewed = client.post(f"/team/invitations/{invitation.pk}/renew", follow=True)
    assert "/invited/" not in renewed.content.decode()
    assert Invitation.objects.get(pk=invitation.pk).token_hash == invitation.token_hash
    told = client.post("/team/invitations/many", {"many-lines": "x@example.org,owner", "many-days": "7"})
    assert "Your role does not permit this." in told.content.decode()
    acts = ("role", "active", "link", "sign-out", "offboard")
    for target, act in itertools.product((admin_person, person), acts):
        client.post(f"/team/people/{target.pk}/{act}", {"role": "owner", "active": "no", "to": ""})
    for address in ("budgets/", f"budgets/{rows['budget'].pk}/", "settings/sign_up", "models/change"):
        assert client.post(f"/team/{address}", forms(rows)).status_code == 403, address
    for each, role in ((admin_person, Role.OWNER), (person, Role.PEOPLE)):
        before = each.password
        each.refresh_from_db()
        assert (each.role or Role.OWNER, each.is_active, each.password) == (role, True, before)
    assert not Offboarding.objects.exists()
    assert Invitation.objects.count() == 1
    assert not SpaceMember.objects.filter(user=person).exists()


def test_the_last_owner_is_neither_lowered_nor_disabled_nor_removed(db):
    owner = with_role(Role.OWNER)
    # One who is disabled does not count.
    other = User.objects.create_user("other@example.org", role=Role.OWNER, is_superuser=True, is_active=False)
    client = client_of(owner)
    client.post(f"/team/people/{owner.pk}/role", {"role": "auditor"})
    client.post(f"/team/people/{owner.pk}/active", {"active": "no"})
    client.post("/settings/delete/")
    owner.refresh_from_db()
    assert (owner.role, owner.is_superuser, owner.is_active) == (Role.OWNER, True, True)
    assert not Offboarding.objects.exists()
    with pytest.raises(offboard.OffboardingError):
        offboard.begin(owner, by=owner)
    roles.set_active(owner, other, True)
    client.post(f"/team/people/{owner.pk}/role", {"role": "auditor"})
    owner.refresh_from_db()
    assert owner.role == Role.AUDITOR


def test_two_owners_who_lower_each_other_at_once_leave_one(transactional_db):
    ada, eve = (User.objects.create_superuser(f"{name}@example.org") for name in ("ada", "eve"))

    def lower(actor, person):
        try:
            roles.change_role(actor, person, Role.MEMBER)
        except (roles.OnlyOwnerError, roles.MayNotError):
            # The second one, if the first was done already.
            return "refused"
        finally:
            connection.close()
        return "lowered"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(lower, (ada, eve), (eve, ada))) == ["lowered", "refused"]
    assert User.objects.owners().count() == 1


def test_a_link_that_is_revoked_while_it_is_used_opens_nothing_or_is_used(transactional_db, rows, admin_person):
    invitation, link = inviting.invite(admin_person, inviting.Wish("late@example.org"), 7)
    fields = {"name": "Late", "password1": "a long and quiet evening", "password2": "a long and quiet evening"}

    def use(number):
        try:
            return Client().post("/invited/" + link.partition("/invited/")[2], fields).status_code
        finally:
            connection.close()

    def revoke():
        try:
            return inviting.revoke(admin_person, invitation.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        used, revoked = [pool.submit(use, number) for number in range(2)], pool.submit(revoke)
        answers, was_revoked = sorted(each.result() for each in used), revoked.result()
    assert answers == ([410, 410] if was_revoked else [302, 410])
    assert User.objects.filter(email="late@example.org").count() == (0 if was_revoked else 1)
    invitation.refresh_from_db()
    assert bool(invitation.accepted_at) != bool(invitation.revoked_at)
