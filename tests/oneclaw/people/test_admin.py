"""What admins see and change of people and spaces."""

from allauth.account.models import EmailAddress
from django.contrib import admin

from oneclaw.models import Space, SpaceMember, User


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


def test_an_address_that_was_changed_opens_nothing_any_more(client, admin_person, ada):
    EmailAddress.objects.create(user=ada, email="ada@example.org", primary=True)
    client.force_login(admin_person)
    fields = {"email": "Lovelace@Example.org", "timezone": "UTC", "is_active": "on"}
    fields |= {"date_joined_0": "2026-01-01", "date_joined_1": "10:00"}
    assert client.post(f"/admin/oneclaw/user/{ada.pk}/change/", fields).status_code == 302
    client.logout()
    client.post("/accounts/login/", {"login": "ada@example.org", "password": "correct horse battery"})
    assert "_auth_user_id" not in client.session
    assert User.objects.get(pk=ada.pk).email == "lovelace@example.org"


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
    client.force_login(admin_person)
    fields = {
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
    return client.post(f"/admin/oneclaw/space/{space.pk}/change/", fields)


def test_staff_without_permissions_sees_nobody(client, ada, stranger):
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    client.force_login(stranger)
    assert client.get("/admin/oneclaw/user/").status_code == 403
    assert client.get(f"/admin/oneclaw/user/{ada.pk}/change/").status_code == 403
