"""Invitations by page: one person or many, links that are used once, renewed, revoked, mailed."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, GroupMember, Invitation, SignInAttempt, User, clock
from oneclaw.people import roles
from oneclaw.people.sign_in import sign_up

PASSWORD = "a long and quiet evening"
NEW = {"name": "Grace", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def owner(client, admin_person):
    """The client of an owner who has signed in a moment ago."""
    client.post("/accounts/login/", {"login": admin_person.email, "password": "correct horse battery"})
    return client


def links(response):
    return re.findall(r'value="https?://[^/]+(/invited/[^"]+)"', response.content.decode())


def invite(owner, email="grace@example.org", **fields):
    response = owner.post("/team/invitations/new", {"email": email, "days": "7", **fields})
    return links(response)[0] if response.status_code == 200 else response


def test_an_invited_person_gets_role_and_groups_and_the_link_ends(owner, admin_person):
    group, kept = Group.objects.create(name="Research"), Group.objects.create(name="Directory", managed_by="scim")
    link = invite(owner, role="curator", groups=[group.pk])
    assert "grace@example.org" in owner.get("/team/invitations/").content.decode()
    # A link is shown once, and only its hash is stored.
    assert links(owner.get("/team/invitations/")) == []
    # A group that a directory keeps is none to choose.
    assert (
        owner.post("/team/invitations/new", {"email": "x@example.org", "days": "7", "groups": [kept.pk]}).status_code
        == 422
    )
    guest = Client()
    assert "grace@example.org" in guest.get(link).content.decode()
    assert guest.post(link, NEW)["Location"] == "/"
    grace = User.objects.get(email="grace@example.org")
    assert (grace.role, grace.is_staff, grace.first_name) == ("curator", True, "Grace")
    assert list(GroupMember.objects.filter(user=grace).values_list("group__name", flat=True)) == ["Research"]
    assert Client().get(link).status_code == 410
    assert Client().post(link, NEW).status_code == 410
    assert not EmailAddress.objects.filter(user=grace, verified=True).exists()


def test_a_people_admin_gives_an_account_whose_link_they_see_no_group_that_they_are_not_in(owner, ada):
    own, other = Group.objects.create(name="Reading"), Group.objects.create(name="Research")
    own.members.create(user=ada)
    roles.set_role(ada, User.Role.PEOPLE)
    ada.save()
    hers = Client()
    hers.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    assert (
        hers.post("/team/invitations/new", {"email": "a@example.org", "days": "7", "groups": [other.pk]}).status_code
        == 422
    )
    refused = hers.post("/team/invitations/many", {"many-lines": "a@example.org,,Research", "many-days": "7"})
    assert "You can invite to groups only that you are in." in refused.content.decode()
    assert not Invitation.objects.exists()
    # Nor by a new link for the invitation of an owner.
    invite(owner, groups=[other.pk])
    renewed = hers.post(f"/team/invitations/{Invitation.objects.get().pk}/renew", follow=True)
    assert "You can invite to groups only that you are in." in renewed.content.decode()
    assert Client().post(invite(hers, "b@example.org", groups=[own.pk]), NEW).status_code == 302
    second = User.objects.get(email="b@example.org")
    assert [each.group for each in second.group_memberships.all()] == [own]
    refused = hers.post(f"/groups/{other.pk}", {"do": "add", "email": second.email})
    assert "You have invited or approved this person yourself." in refused.content.decode()
    owner.post(f"/groups/{other.pk}", {"do": "add", "email": second.email})
    assert second.group_memberships.filter(group=other).exists()


def test_a_people_admin_who_approves_a_second_account_does_not_group_it(owner, ada):
    group = Group.objects.create(name="Research")
    roles.set_role(ada, User.Role.PEOPLE)
    ada.save()
    second = User.objects.create(email="second@example.org", is_active=False, awaits_approval=True)
    sign_up.decide(ada, second.pk, approved=True)
    hers = Client()
    hers.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    refused = hers.post(f"/groups/{group.pk}", {"do": "add", "email": second.email})
    assert "You have invited or approved this person yourself." in refused.content.decode()
    assert not second.group_memberships.exists()
    # The end of a suspension is no approval.
    third = User.objects.create(email="third@example.org")
    record(AuditKind.PERSON_ENABLED, actor=ada, person=third)
    hers.post(f"/groups/{group.pk}", {"do": "add", "email": third.email})
    assert third.group_memberships.exists()


def test_a_link_without_an_address_asks_for_it_and_takes_over_no_account(owner, ada):
    link, guest = invite(owner, ""), Client()
    assert guest.post(link, {**NEW, "email": "ADA@example.org"}).status_code == 200
    assert guest.post(link, {**NEW, "email": "Grace@Example.org"}).status_code == 302
    assert User.objects.filter(email="grace@example.org").exists()


def test_who_has_an_account_by_now_is_led_to_the_sign_in(owner):
    link = invite(owner)
    User.objects.create_user("Grace@example.org", PASSWORD)
    for answer in (Client().get(link), Client().post(link, NEW)):
        assert answer.status_code == 410
        assert "Sign in instead." in answer.content.decode()
    assert Invitation.objects.pending().exists()


def test_revoked_renewed_and_expired_links_open_nothing(owner):
    link = invite(owner)
    invitation = Invitation.objects.get()
    again = owner.post("/team/invitations/new", {"email": "Grace@example.org", "days": "7"})
    assert (again.status_code, Invitation.objects.count()) == (422, 1)
    newer = links(owner.post(f"/team/invitations/{invitation.pk}/renew"))[0]
    assert (Client().get(link).status_code, Client().get(newer).status_code) == (410, 200)
    Invitation.objects.update(expires_at=clock.database_now())
    assert Client().get(newer).status_code == 410
    # An expired one is no obstacle.
    last = invite(owner)
    assert Client().get(last).status_code == 200
    owner.post(f"/team/invitations/{Invitation.objects.pending().get().pk}/revoke")
    assert Client().get(last).status_code == 410


def test_a_mailed_link_verifies_the_address(owner, settings):
    settings.MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    assert (
        owner.post("/team/invitations/new", {"email": "grace@example.org", "days": "7", "mailed": "on"}).status_code
        == 302
    )
    [sent] = mail.outbox
    assert sent.to == ["grace@example.org"]
    path = re.search(r"https?://[^/]+(/invited/\S+)", sent.body)[1]
    Client().post(path, NEW)
    assert EmailAddress.objects.get(email="grace@example.org").verified


def test_many_people_are_invited_or_nobody(owner, ada):
    Group.objects.create(name="Research")
    wrong = "email,role,groups\nx@example.org,wizard\nno email\nada@example.org\ny@example.org,,Nobody"
    wrong += "\nz@example.org\nz@example.org"
    refused = owner.post("/team/invitations/many", {"many-lines": wrong, "many-days": "7"})
    told = refused.content.decode()
    assert refused.status_code == 422
    for sentence in ("Line 2: “wizard”", "Line 3: “no email”", "Line 4: ada@", "no group “Nobody”", "Line 7: z@"):
        assert sentence in told
    assert not Invitation.objects.exists()
    right = SimpleUploadedFile(
        "people.csv", "\ufeffemail;role;groups\nA@example.org;billing;research\nb@example.org".encode()
    )
    made = owner.post("/team/invitations/many", {"many-file": right, "many-days": "3"})
    assert len(links(made)) == 2
    assert [
        (each.email, each.role, [str(group) for group in each.groups.all()])
        for each in Invitation.objects.order_by("email")
    ] == [
        ("a@example.org", "billing", ["Research"]),
        ("b@example.org", "", []),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("email,role\ra@example.org,wizard\rb@example.org\r", "Line 2: “wizard”"),
        (f"a@example.org,{'x' * 131_073}", "too long"),
    ],
    ids=["old line ends", "a huge cell"],
)
def test_a_file_that_is_hard_to_read_is_refused_in_a_sentence(owner, text, said):
    file = SimpleUploadedFile("people.csv", text.encode())
    refused = owner.post("/team/invitations/many", {"many-file": file, "many-days": "7"})
    assert (refused.status_code, said in refused.content.decode()) == (422, True)


def test_a_person_without_the_right_sees_and_changes_nothing(client, ada, admin_person):
    client.force_login(ada)
    for path in ("/team/invitations/", "/team/people/"):
        assert client.get(path).status_code == 403
    assert client.post("/team/invitations/new", {"email": "x@example.org", "days": "7"}).status_code == 403
    assert client.post("/team/waiting/1", {"answer": "yes"}).status_code == 403
    assert not Invitation.objects.exists()


# -- Sign-up -------------------------------------------------------------------------------------

SIGN_UP = {"email": "grace@example.org", "password1": PASSWORD, "password2": PASSWORD}


def test_who_signs_up_for_approval_waits_until_an_admin_decides(owner, settings):
    settings.SIGN_UP = "approval"
    guest = Client()
    assert guest.post("/accounts/signup/", SIGN_UP)["Location"] == "/accounts/waiting/"
    entered = {"login": "grace@example.org", "password": PASSWORD}
    assert guest.post("/accounts/login/", entered)["Location"] == "/accounts/waiting/"
    assert "_auth_user_id" not in guest.session
    grace = User.objects.get(email="grace@example.org")
    assert "Approve: grace@example.org" in owner.get("/team/invitations/").content.decode()
    owner.post(f"/team/waiting/{grace.pk}", {"answer": "yes"})
    assert guest.post("/accounts/login/", entered)["Location"] == "/"
    # A late no of another admin deletes nobody.
    owner.post(f"/team/waiting/{grace.pk}", {"answer": "no"})
    assert User.objects.filter(pk=grace.pk).exists()
    assert not SignInAttempt.objects.exists()


def test_only_verified_addresses_of_the_domains_sign_up(db, settings):
    settings.SIGN_UP, settings.SIGN_UP_DOMAINS = "domains", ["example.org"]
    settings.MAIL, settings.ACCOUNT_EMAIL_VERIFICATION = True, "mandatory"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    guest = Client()
    others = ["grace@example.com", "grace@sub.example.org", "grace@notexample.org", "grace@example.org.evil.com"]
    # Letters that look the same: a Cyrillic а, wide letters, a dotless ı for which an I is the capital letter.
    others += ["grace@ex\u0430mple.org", "grace@\uff45xample.org", '"@example.org"@evil.com', "grace@example.\u0131org"]
    for other in others:
        assert "Only addresses" in guest.post("/accounts/signup/", {**SIGN_UP, "email": other}).content.decode()
    for wrong in ("grace@example.org@evil.com", "grace@evil.com\n@example.org", "grace@evil.com,grace@example.org"):
        assert Client().post("/accounts/signup/", {**SIGN_UP, "email": wrong}).status_code == 200
    assert not User.objects.exists()
    assert not mail.outbox
    assert guest.post("/accounts/signup/", SIGN_UP)["Location"] == "/accounts/confirm-email/"
    assert "_auth_user_id" not in guest.session
    path = re.search(r"https?://[^/]+(/accounts/confirm-email/\S+/)", mail.outbox[-1].body)[1]
    assert "grace@example.org" in guest.get(path).content.decode()
    guest.post(path)
    assert Client().post("/accounts/login/", {"login": SIGN_UP["email"], "password": PASSWORD})["Location"] == "/"


def test_with_mail_a_forgotten_password_is_reset_by_a_link(ada, settings):
    settings.MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    guest = Client()
    for email in ("ada@example.org", "nobody@example.org"):
        assert guest.post("/accounts/password/reset/", {"email": email})["Location"] == "/accounts/password/reset/done/"
    [sent] = mail.outbox
    path = re.search(r"https?://[^/]+(/accounts/password/reset/key/\S+/)", sent.body)[1]
    form = guest.get(path, follow=True)
    new = {"password1": PASSWORD, "password2": PASSWORD}
    done = guest.post(form.redirect_chain[-1][0], new)
    assert done["Location"] == "/accounts/password/reset/key/done/"
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
