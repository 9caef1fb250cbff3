"""The pages of spaces: what members see, what owners change, and that others find nothing."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import date_format

from chat.library import spaces
from chat.models import ChatSession
from chat.views.spaces import handing_over
from chat.views.spaces.members import PAGE_MEMBERS
from chat.views.spaces.pages import short_moments
from oneclaw.models import Group, Space, User
from oneclaw.people import space_invitations
from oneclaw.spaces import lifecycle, members
from tests.conversations import send, settle


@pytest.fixture
def team(ada):
    return lifecycle.create(ada, lifecycle.checked_draft("Engine room", "What we know of engines"))


def addresses(space: Space) -> list[str]:
    names = ("space", "space_members", "space_memory", "space_instructions", "space_viewers")
    return [reverse(name, args=[space.pk]) for name in names]


def talked_in(space: Space, user, text="Hello") -> ChatSession:
    accepted = send(user, text)
    settle(accepted)
    return spaces.move(user, accepted.message.session_id, space)


def test_a_space_is_made_on_a_page_and_found_in_the_list(client, ada):
    client.force_login(ada)
    assert "No spaces yet." in client.get("/spaces/").content.decode()
    made = client.post("/spaces/new", {"name": " Engine  room ", "description": "Oil", "colour": "4", "kind": "team"})
    space = Space.objects.shared().get()
    assert made.url == f"/spaces/{space.pk}/"
    assert (space.name, space.colour, space.needs_second_person, space.owner) == ("Engine room", 4, False, ada)
    page = client.get("/spaces/").content.decode()
    assert f'href="/spaces/{space.pk}/"' in page
    assert "1 member" in page
    refused = client.post("/spaces/new", {"name": " "})
    assert refused.status_code == 422
    assert "The name is empty" in refused.content.decode()


def test_the_server_may_leave_making_spaces_to_administrators(client, ada, admin_person, settings):
    settings.SPACES = "admins"
    client.force_login(ada)
    assert "On this server administrators make them" in client.get("/spaces/").content.decode()
    assert client.post("/spaces/new", {"name": "Engine room"}).status_code == 403
    assert not Space.objects.shared().exists()
    client.force_login(admin_person)
    assert client.post("/spaces/new", {"name": "Engine room", "kind": "team"}).status_code == 302


def test_everything_of_a_space_is_not_there_for_others(client, team, stranger, admin_person):
    for person in (stranger, admin_person):
        client.force_login(person)
        assert [client.get(address).status_code for address in addresses(team)] == [404] * 5
        assert "Engine room" not in client.get("/spaces/").content.decode()
    own = Space.objects.own_of(stranger)
    client.force_login(stranger)
    assert [client.get(address).status_code for address in addresses(own)] == [404] * 5


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_only_owners_change_a_space(client, team, ada, stranger, role):
    held = members.add_by_email(team, stranger.email, role)
    client.force_login(stranger)
    for name, fields, more in (
        ("edit_space", {"name": "Mine", "kind": "team"}, []),
        ("archive_space", {}, []),
        ("delete_space", {"digest": ""}, []),
        ("add_space_member", {"email": "root@example.org", "role": "owner"}, []),
        ("space_member", {f"role-{held.pk}": "owner"}, [held.pk]),
        ("hand_over_space", {"to": held.pk}, []),
    ):
        assert client.post(reverse(name, args=[team.pk, *more]), fields).status_code == 404, name
    team.refresh_from_db()
    assert (team.name, team.archived_at, team.owner) == ("Engine room", None, ada)
    assert [client.get(address).status_code for address in addresses(team)] == [200] * 5


def test_members_are_added_changed_and_removed_on_the_page(client, team, ada, stranger):
    client.force_login(ada)
    wrong = client.post(f"/spaces/{team.pk}/members/add", {"email": "new", "role": "editor"})
    assert wrong.status_code == 422
    assert "Enter an email address." in wrong.content.decode()
    assert 'value="new"' in wrong.content.decode()
    client.post(f"/spaces/{team.pk}/members/add", {"email": stranger.email, "role": "editor"})
    assert not team.members.filter(user=stranger).exists()
    space_invitations.accept(stranger, team.invitations.get().pk)
    held = team.members.get(user=stranger)
    client.post(f"/spaces/{team.pk}/members/{held.pk}", {f"role-{held.pk}": "reader"})
    held.refresh_from_db()
    assert held.role == "reader"
    last = client.post(f"/spaces/{team.pk}/leave")
    assert last.status_code == 422
    assert "A space needs an owner." in last.content.decode()
    assert client.post(f"/spaces/{team.pk}/hand-over", {"to": held.pk}).status_code == 302
    assert client.post(f"/spaces/{team.pk}/leave").url == "/spaces/"
    assert client.get(f"/spaces/{team.pk}/").status_code == 404


def test_the_new_owner_is_found_by_name_among_many(client, team, ada, stranger):
    client.force_login(ada)
    assert reverse("hand_over_space", args=[team.pk]) not in client.get(f"/spaces/{team.pk}/members").content.decode()
    for number in range(handing_over.OFFERED_MAX_MEMBERS):
        person = User.objects.create_user(f"member{number}@example.org", first_name=f"Anna <{number}>")
        team.members.create(user=person)
    User.objects.filter(pk=stranger.pk).update(first_name="Zoe", last_name="Last")
    held = members.add_by_email(team, stranger.email, "reader")
    assert reverse("hand_over_space", args=[team.pk]) in client.get(f"/spaces/{team.pk}/members").content.decode()
    address = f"/spaces/{team.pk}/hand-over"
    page = client.get(address).content.decode()
    assert "There are more members" in page
    assert "Zoe" not in page
    page = client.get(address, {"q": "last ZOE"}).content.decode()
    assert f'value="{held.pk}"' in page
    assert "Anna" not in page
    assert "No other member has this name." in client.get(address, {"q": "ada"}).content.decode()
    assert client.post(address, {"to": team.members.get(user=ada).pk}).status_code == 404
    assert client.post(address, {"to": held.pk}).status_code == 302
    assert (team.members.get(user=stranger).role, team.members.get(user=ada).role) == ("owner", "editor")


@pytest.mark.parametrize("role", ["owner", "editor"])
def test_the_page_of_members_reads_a_page_of_them_with_few_statements(client, team, ada, stranger, role):
    members.add_by_email(team, stranger.email, "editor")
    for number in range(PAGE_MEMBERS + 1):
        team.members.create(user=User.objects.create_user(f"m{number}@example.org", first_name=f"<b>{number}"))
    client.force_login(ada if role == "owner" else stranger)
    client.get(f"/spaces/{team.pk}/members")
    with CaptureQueriesContext(connection) as captured:
        page = client.get(f"/spaces/{team.pk}/members").content.decode()
    assert page.count('class="kept__row member"') == PAGE_MEMBERS
    assert page.count("&lt;b&gt;") == page.count("@example.org · since")
    assert page.count("<select") == (PAGE_MEMBERS + 1 if role == "owner" else 0)
    # An owner's seventh reads the open invitations, which no other of them can bring: they are rows of their own table,
    # also when there is no further member or group.
    assert len(captured) == (7 if role == "owner" else 6)


def test_a_group_is_a_member_with_all_of_its_people(client, team, ada, stranger):
    group = Group.objects.create(name="night shift")
    group.members.create(user=stranger)
    client.force_login(ada)
    client.post(f"/spaces/{team.pk}/members/add", {"group": group.pk, "role": "reader"})
    page = client.get(f"/spaces/{team.pk}/viewers").content.decode()
    assert "Reader in “Engine room”, through the group “night shift”" in page
    client.force_login(stranger)
    assert client.get(f"/spaces/{team.pk}/").status_code == 200
    group.members.all().delete()
    assert client.get(f"/spaces/{team.pk}/").status_code == 404


def test_a_space_lists_the_own_private_conversations_and_the_shared_ones(client, team, ada, stranger):
    members.add_by_email(team, stranger.email, "reader")
    talked_in(team, ada, "My own plans")
    shared = talked_in(team, ada, "Our plans")
    ChatSession.objects.filter(pk=shared.pk).update(shared_at=shared.created_at)
    client.force_login(ada)
    page = client.get(f"/spaces/{team.pk}/").content.decode()
    assert "My own plans" in page
    assert "Only you" in page
    client.force_login(stranger)
    page = client.get(f"/spaces/{team.pk}/").content.decode()
    assert "Our plans" in page
    assert "My own plans" not in page


def test_the_list_of_conversations_goes_on_page_by_page(client, team, ada, monkeypatch):
    from chat.views.spaces import pages

    monkeypatch.setattr(pages, "PAGE_SESSIONS", 2)
    for number in range(3):
        talked_in(team, ada, f"Talk {number}")
    client.force_login(ada)
    first = client.get(f"/spaces/{team.pk}/")
    second = client.get(f"/spaces/{team.pk}/", {"after": first.context["next"]})
    assert ["Talk 0" in page.content.decode() for page in (first, second)] == [False, True]
    assert not second.context["next"]
    assert client.get(f"/spaces/{team.pk}/?after=x").status_code == 404


def test_times_are_written_in_each_language_as_django_writes_them(settings):
    local = timezone.localtime(dt.datetime(2026, 11, 3, 7, 5, tzinfo=dt.UTC))
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            assert short_moments()(local) == date_format(local, "SHORT_DATETIME_FORMAT")


def test_a_conversation_is_moved_into_a_space_and_back_and_stays_private(client, team, ada, stranger):
    accepted = send(ada)
    settle(accepted)
    session_id = accepted.message.session_id
    client.force_login(ada)
    assert "the conversation stays private to you" in client.get(f"/c/{session_id}/space").content.decode()
    client.post(f"/c/{session_id}/space", {"space": team.pk})
    assert ChatSession.objects.get(pk=session_id).space == team
    viewers = client.get(f"/c/{session_id}/viewers").content.decode()
    assert "Started the conversation" in viewers
    client.post(f"/c/{session_id}/space", {"space": ""})
    assert ChatSession.objects.get(pk=session_id).space is None
    not_hers = lifecycle.create(stranger, lifecycle.checked_draft("Bridge"))
    assert client.post(f"/c/{session_id}/space", {"space": not_hers.pk}).status_code == 404


def test_an_archived_space_is_read_and_nothing_in_it_changes(client, team, ada):
    client.force_login(ada)
    client.post(f"/spaces/{team.pk}/archive")
    assert client.get(f"/spaces/{team.pk}/").status_code == 200
    assert client.post(f"/spaces/{team.pk}/instructions", {"content": "x", "base_version": "0"}).status_code == 404
    assert "Archived" in client.get("/spaces/").content.decode()
    client.post(f"/spaces/{team.pk}/archive", {"undo": "yes"})
    assert client.post(f"/spaces/{team.pk}/instructions", {"content": "x", "base_version": "0"}).status_code == 302
    assert team.documents.get(path="AGENTS.md").content == "x\n"


def test_the_page_of_a_deletion_says_what_goes_and_takes_no_other_yes(client, team, ada):
    client.force_login(ada)
    page = client.get(f"/spaces/{team.pk}/delete")
    assert "1 member" in page.content.decode()
    assert client.post(f"/spaces/{team.pk}/delete", {"digest": "x"}).status_code == 409
    assert client.post(f"/spaces/{team.pk}/delete", {"digest": page.context["plan"].digest}).url == "/spaces/"
    assert not Space.objects.shared().exists()
