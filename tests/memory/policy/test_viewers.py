"""Who can see a space, a document, a conversation and a file, why, and since when."""

import pytest

from chat.library import spaces
from chat.models import ChatSession
from chat.transfer.share import share
from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Group, Space, User
from oneclaw.spaces import lifecycle, members
from oneclaw.spaces.viewers import viewers
from tests.conversations import send, settle


@pytest.fixture
def team(ada, stranger) -> Space:
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    members.add_by_email(space, stranger.email, "reader")
    return space


def named(of: object) -> dict[str, list[str]]:
    return {viewer.name: [ground.reason.in_english for ground in viewer.grounds] for viewer in viewers(of)}


def talked(user: User, space: Space) -> ChatSession:
    accepted = send(user)
    settle(accepted)
    return spaces.move(user, accepted.message.session_id, space)


def test_a_space_is_seen_by_its_members_and_the_people_of_its_groups(team, ada, stranger, admin_person):
    group = Group.objects.create(name="night shift")
    joined = group.members.create(user=admin_person)
    group.members.create(user=stranger)
    held = members.add_group(team, group, "editor")
    through = "Editor in “Engine room”, through the group “night shift”"
    assert named(team) == {
        ada.email: ["Owner of “Engine room”"],
        stranger.email: ["Reader in “Engine room”", through],
        admin_person.email: [through],
    }
    since = {viewer.person: viewer.since for viewer in viewers(team)}
    assert since[admin_person] == max(held.since, joined.since)
    assert since[stranger] == team.members.get(user=stranger).since
    # Who cannot sign in any more sees nothing.
    User.objects.filter(pk=stranger.pk).update(is_active=False)
    assert stranger.email not in named(team)


def test_a_document_is_seen_by_its_space_and_by_administrators(team, ada, stranger, admin_person):
    author = Author(Source.PAGE, ada)
    shared = write.apply(team, "MEMORY.md", Append("- oil\n"), author).document
    own = write.apply(Space.objects.own_of(ada), "MEMORY.md", Append("- tea\n"), author).document
    administrator = "Administrator of this server, on the pages of its administration"
    assert named(shared) == {
        ada.email: ["Owner of “Engine room”"],
        stranger.email: ["Reader in “Engine room”"],
        admin_person.email: [administrator],
    }
    assert named(own) == {ada.email: ["Owner"], admin_person.email: [administrator]}


def test_a_conversation_is_its_authors_until_it_is_shared_or_has_a_link(team, ada, stranger):
    session = talked(ada, team)
    assert named(session) == {ada.email: ["Started the conversation"]}
    ChatSession.objects.filter(pk=session.pk).update(shared_at=session.active_at)
    share(session.owner, session, "week")
    session.refresh_from_db()
    assert named(session) == {
        ada.email: ["Started the conversation", "Owner of “Engine room”"],
        stranger.email: ["Reader in “Engine room”"],
        "Others": ["Everybody who has the link to a copy"],
    }
    # Not before it was shared, and not before they were there.
    [reader] = [viewer for viewer in viewers(session) if viewer.person == stranger]
    assert reader.since == max(session.shared_at, team.members.get(user=stranger).since)
    assert viewers(session)[-1].name == "Others"


def test_a_row_of_which_nobody_says_it_is_an_error(ada):
    with pytest.raises(TypeError):
        viewers(ada)


def test_strangers_are_not_told_who_can_see_something(client, team, ada, admin_person):
    session = talked(ada, team)
    document = write.apply(team, "MEMORY.md", Append("- oil\n"), Author(Source.PAGE, ada)).document
    client.force_login(admin_person)
    for path in (f"/spaces/{team.pk}/viewers", f"/c/{session.pk}/viewers", f"/memory/{document.pk}/viewers"):
        assert client.get(path).status_code == 404
    client.force_login(ada)
    assert "Administrator of this server" in client.get(f"/memory/{document.pk}/viewers").content.decode()
