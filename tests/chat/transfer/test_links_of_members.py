"""Who began a shared conversation does not publish its members' words, unless the space allows it and they are told."""

import pytest
from django.test import Client

from chat.conversations import forking
from chat.conversations.shared import share as shared_with_space
from chat.library import spaces
from chat.models import ChatSession, SharedLink
from chat.transfer import link_copies, share
from oneclaw.models import Space, User
from oneclaw.spaces import lifecycle, members
from tests.conversations import send, settle
from tests.programs import Program, refusal


@pytest.fixture
def team(ada, stranger) -> Space:
    space = lifecycle.create(ada, lifecycle.checked_draft("Kitchen", kind="team"))
    members.add_by_email(space, stranger.email, "editor")
    return space


@pytest.fixture
def session(ada, stranger, team):
    accepted = send(ada, "Hello")
    settle(accepted, "Hi")
    session = shared_with_space.share(ada, accepted.message.session, team)
    settle(send(stranger, "The oven is my secret.", session.pk), "Fine")
    session.refresh_from_db()
    return session


def scope_of(team: Space, scope: str) -> int | None:
    return team.pk if scope == "space" else None


def test_their_words_leave_the_space_by_no_link(ada, session, team):
    other = lifecycle.create(ada, lifecycle.checked_draft("Elsewhere", kind="team"))
    for scope, space in (("everybody", None), ("signed_in", None), ("space", other.pk)):
        with pytest.raises(share.NotForOutsideError):
            share.share(ada, session, "week", scope, space)
    client = Client()
    client.force_login(ada)
    refused = client.post(f"/c/{session.pk}/share", {"scope": "everybody", "period": "week"})
    assert refused.status_code == 422
    assert refusal(Program(ada).post(f"/sessions/{session.pk}/links", scope="everybody")) == (422, "not_shared")
    assert not SharedLink.objects.exists()
    assert share.share(ada, session, "week", "space", team.pk)


def test_nor_after_the_conversation_is_private_again(ada, session, team):
    shared_with_space.unshare(ada, session)
    session.refresh_from_db()
    assert not session.is_shared
    with pytest.raises(share.NotForOutsideError):
        share.share(ada, session, "week", "everybody")


def test_nor_by_a_way_through_another_space_that_allows_it(ada, stranger, session, team):
    elsewhere = lifecycle.create(ada, lifecycle.checked_draft("Elsewhere", kind="team"))
    Space.objects.filter(pk=elsewhere.pk).update(links_for_everybody=True)
    mine = forking.fork(ada, session.messages.order_by("seq").last().pk)
    spaces.move(ada, mine.pk, elsewhere)
    mine = ChatSession.objects.get(pk=mine.pk)
    assert mine.space_id == elsewhere.pk
    for scope, space in (("everybody", None), ("space", elsewhere.pk)):
        with pytest.raises(share.NotForOutsideError):
            share.share(ada, mine, "week", scope, space)
    # Who has written is in that space as well.
    members.add_by_email(elsewhere, stranger.email, "reader")
    assert share.share(ada, ChatSession.objects.get(pk=mine.pk), "week", "everybody")


def test_nor_by_a_copy_of_a_link_for_the_members(ada, stranger, session, team):
    link, _ = share.share(ada, session, "week", "space", team.pk)
    copied = link_copies.copy_link(stranger, link)
    of_copy, _ = share.share(stranger, copied, "week", "space", team.pk)
    for person, holding in (
        (stranger, copied),
        (stranger, forking.fork(stranger, copied.messages.order_by("seq").last().pk)),
        (ada, link_copies.copy_link(ada, of_copy)),
    ):
        with pytest.raises(share.NotForOutsideError):
            share.share(person, holding, "week", "everybody")
    elsewhere = lifecycle.create(stranger, lifecycle.checked_draft("Elsewhere", kind="team", links_for_everybody=True))
    with pytest.raises(share.NotForOutsideError):
        share.share(stranger, shared_with_space.share(stranger, copied, elsewhere), "week", "everybody")


def test_nor_by_the_copy_of_who_has_left_a_space_that_allows_it(ada, stranger, session, team):
    Space.objects.filter(pk=team.pk).update(links_for_everybody=True)
    copied = link_copies.copy_link(stranger, share.share(ada, session, "week", "space", team.pk)[0])
    assert share.share(stranger, copied, "week", "everybody")
    members.remove(team.members.get(user=stranger), ada)
    with pytest.raises(share.NotForOutsideError):
        share.share(stranger, ChatSession.objects.get(pk=copied.pk), "week", "everybody")


def test_where_the_space_allows_it_its_members_are_told(ada, stranger, session, team):
    client = Client()
    client.force_login(ada)
    fields = {"name": team.name, "kind": "team", "links_for_everybody": "on"}
    assert client.post(f"/spaces/{team.pk}/edit", fields).status_code == 302
    session.refresh_from_db()
    assert share.share(ada, session, "week", "everybody")
    client.force_login(stranger)
    assert "with people outside of the space “Kitchen”" in client.get("/settings/").content.decode()
    assert User.objects.get(pk=ada.pk).notices == []


def test_a_conversation_of_one_person_is_shared_as_before(ada):
    accepted = send(ada, "Hello")
    settle(accepted, "Hi")
    assert share.share(ada, accepted.message.session, "week", "everybody")
