"""What admins see and change of people and spaces."""

import re
from pathlib import Path

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.staticfiles import finders
from django.core import mail

from oneclaw.models import Group, Space, SpaceMember, User
from oneclaw.people import notices

PASSWORD = "correct horse battery"


def sign_in(client, person):
    """Sign in now, so that rights may be changed."""
    client.post("/accounts/login/", {"login": person.email, "password": PASSWORD})


def test_the_admin_shows_people_and_spaces(client, admin_person, ada):
    Space.objects.own_of(ada)
    client.force_login(admin_person)
    for path in ("user/", f"user/{ada.pk}/change/", "space/", f"space/{Space.objects.get().pk}/change/"):
        response = client.get(f"/admin/oneclaw/{path}")
        assert response.status_code == 200
        assert "ada@example.org" in response.content.decode()


def test_every_list_says_what_a_row_is(client, admin_person):
    client.force_login(admin_person)
    ours = [model for model in admin.site._registry if model._meta.app_label in ("oneclaw", "chat", "memory")]
    assert len(ours) > 10
    for model in ours:
        page = client.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/").content.decode()
        assert page.count('<p class="help">Each row ') == 1, model


def test_an_address_that_was_changed_opens_nothing_any_more_and_its_person_is_told(
    client, admin_person, ada, settings, django_capture_on_commit_callbacks
):
    settings.MAIL = True
    EmailAddress.objects.create(user=ada, email="ada@example.org", primary=True)
    sign_in(client, admin_person)
    fields = {"email": "Lovelace@Example.org", "timezone": "UTC", "is_active": "on"}
    fields |= {"date_joined_0": "2026-01-01", "date_joined_1": "10:00"}
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(f"/admin/oneclaw/user/{ada.pk}/change/", fields).status_code == 302
    client.logout()
    client.post("/accounts/login/", {"login": "ada@example.org", "password": "correct horse battery"})
    assert "_auth_user_id" not in client.session
    ada.refresh_from_db()
    assert ada.email == "lovelace@example.org"
    (notice,) = notices.sentences(ada)
    assert notice.startswith(
        f"{admin_person} has changed the email address of your account from ada@example.org to lovel"
    )
    assert {mailed.to[0] for mailed in mail.outbox} == {"ada@example.org", "lovelace@example.org"}
    assert all(notice in mailed.body for mailed in mail.outbox)


def test_a_member_is_given_a_role_by_hand(client, admin_person, ada, stranger):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Ada")
    space.members.create(user=ada, role="owner")
    response = given_a_reader(client, admin_person, space, stranger)
    assert response.status_code == 302
    assert SpaceMember.objects.get(user=stranger).role == "reader"


def test_nobody_becomes_a_member_of_a_persons_own_space(client, admin_person, ada, stranger):
    given_a_reader(client, admin_person, Space.objects.own_of(ada), stranger)
    assert not SpaceMember.objects.filter(user=stranger).exists()


def given_a_reader(client, admin_person, space, reader):
    member = space.members.get()
    sign_in(client, admin_person)
    return client.post(f"/admin/oneclaw/space/{space.pk}/change/", reader_of(space, member, reader))


def reader_of(space, member, reader):
    return {
        "name": "Ada",
        "members-TOTAL_FORMS": "2",
        "members-INITIAL_FORMS": "1",
        "members-0-id": member.pk,
        "members-0-space": space.pk,
        "members-0-user": space.owner_id,
        "members-0-role": "owner",
        "members-1-space": space.pk,
        "members-1-user": reader.pk,
        "members-1-role": "reader",
    }


def test_rows_that_say_who_may_do_what_change_after_a_fresh_sign_in_only(client, admin_person, ada, stranger):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Ada")
    member = space.members.create(user=ada, role="owner")
    group = Group.objects.create(name="Research")
    client.force_login(admin_person)
    changes = {
        f"/admin/oneclaw/user/{ada.pk}/change/": {"email": "lovelace@example.org", "timezone": "UTC"},
        f"/admin/oneclaw/group/{group.pk}/delete/": {"post": "yes"},
        "/admin/oneclaw/group/": {"action": "delete_selected", "_selected_action": group.pk, "post": "yes"},
        f"/admin/oneclaw/space/{space.pk}/change/": reader_of(space, member, stranger),
    }
    for address, fields in changes.items():
        assert client.get(address).status_code == 200
        asked = client.post(address, fields)
        assert asked["Location"].startswith("/accounts/reauthenticate/"), address
    ada.refresh_from_db()
    assert (ada.email, Group.objects.count()) == ("ada@example.org", 1)
    assert not SpaceMember.objects.filter(user=stranger).exists()
    # The last one is carried out then.
    client.post(asked["Location"], {"password": PASSWORD}, follow=True)
    assert SpaceMember.objects.get(user=stranger).role == "reader"


def test_a_group_of_a_provider_has_no_members_by_hand_and_stays(client, admin_person, ada):
    group = Group.objects.create(name="Research", managed_by="oidc", external_id="Research")
    sign_in(client, admin_person)
    fields = {"name": "Mine", "members-TOTAL_FORMS": "1", "members-INITIAL_FORMS": "0", "members-0-user": ada.pk}
    client.post(f"/admin/oneclaw/group/{group.pk}/change/", fields)
    client.post(f"/admin/oneclaw/group/{group.pk}/delete/", {"post": "yes"})
    client.post("/admin/oneclaw/group/", {"action": "delete_selected", "_selected_action": group.pk, "post": "yes"})
    group.refresh_from_db()
    assert (group.name, group.members.count()) == ("Research", 0)


def test_staff_without_permissions_sees_nobody(client, ada, stranger):
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    client.force_login(stranger)
    assert client.get("/admin/oneclaw/user/").status_code == 403
    assert client.get(f"/admin/oneclaw/user/{ada.pk}/change/").status_code == 403


def test_the_administration_wears_the_colours_of_the_other_pages(client, admin_person):
    client.force_login(admin_person)
    page = client.get("/admin/").content.decode()
    assert re.search(r"css/tokens(\.\w+)?\.css.*css/admin(\.\w+)?\.css", page, re.DOTALL)
    ours, djangos = (Path(finders.find(name)).read_text() for name in ("css/admin.css", "admin/css/base.css"))
    named = [set(re.findall(r"^\s+(--[\w-]+):", sheet, re.MULTILINE)) for sheet in (ours, djangos)]
    # Each of Django's colours, by the name that this release of Django gives it, besides the one that is ours as well.
    assert named[0] == named[1] - {"--accent"}
