"""What goes with a space that is deleted, what is said of it before, and what stays."""

import pytest

from chat.library import spaces
from chat.models import ChatSession, SharedLink
from chat.transfer.share import share
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.files.folders import folder_of
from memory.models import MemoryDocument
from oneclaw.models import Space
from oneclaw.spaces import deletion, lifecycle, members
from tests.conversations import send, settle


@pytest.fixture
def team(ada, stranger):
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    members.add_by_email(space, stranger.email, "editor")
    return space


def talked_in(space: Space, user, is_shared=False) -> ChatSession:
    accepted = send(user)
    settle(accepted)
    session = spaces.move(user, accepted.message.session_id, space)
    if is_shared:
        ChatSession.objects.filter(pk=session.pk).update(shared_at=session.created_at)
    return session


@pytest.mark.django_db(transaction=True)
def test_the_dry_run_says_what_goes_and_the_deletion_removes_just_that(team, ada, stranger):
    write.apply(team, "MEMORY.md", Append("- Oil every Friday\n- Valve 3 leaks\n"), Author(Source.PAGE, ada))
    own = write.apply(Space.objects.own_of(ada), "MEMORY.md", Append("- mine\n"), Author(Source.PAGE, ada))
    private, shared = talked_in(team, stranger), talked_in(team, ada, is_shared=True)
    share(ada, shared, "week")
    assert (folder_of(team) / "MEMORY.md").exists()

    plan = deletion.plan(team)

    assert plan.counts == {
        "members": 2,
        "shared_conversations": 1,
        "private_conversations": 1,
        "links": 1,
        "documents": 1,
        "lines": 2,
    }
    assert [reason.in_english for reason in plan.reasons][:3] == [
        "2 members",
        "1 shared conversation",
        "1 private conversation stays with its author, without the space",
    ]
    folder = folder_of(team)
    deletion.delete(team, by=ada, digest=plan.digest)
    private.refresh_from_db()
    assert (private.space, private.deleted_at) == (None, None)
    assert not ChatSession.objects.visible_to(ada).filter(pk=shared.pk).exists()
    assert not SharedLink.objects.live().exists()
    assert list(MemoryDocument.objects.values_list("pk", flat=True)) == [own.document_id]
    assert not folder.exists()
    assert folder_of(Space.objects.own_of(ada)).exists()


def test_what_came_since_the_dry_run_is_not_deleted_unseen(team, ada):
    seen = deletion.plan(team).digest
    write.apply(team, "MEMORY.md", Append("- Oil every Friday\n"), Author(Source.PAGE, ada))
    with pytest.raises(deletion.ChangedPlanError):
        deletion.delete(team, by=ada, digest=seen)
    assert team.documents.count() == 1


def test_only_an_owner_deletes_a_space(team, stranger):
    with pytest.raises(lifecycle.SpaceNotFoundError):
        deletion.delete(team, by=stranger)
    with pytest.raises(lifecycle.SpaceNotFoundError):
        deletion.delete(Space.objects.own_of(stranger), by=stranger)


def test_only_a_person_of_the_space_moves_a_conversation_into_it(team, ada, stranger, admin_person):
    accepted = send(admin_person)
    settle(accepted)
    with pytest.raises(LookupError):
        spaces.move(admin_person, accepted.message.session_id, team)
    with pytest.raises(LookupError):
        spaces.move(ada, accepted.message.session_id, team)
    shared = talked_in(team, ada, is_shared=True)
    with pytest.raises(spaces.SharedConversationError):
        spaces.move(ada, shared.pk, None)
    assert not spaces.visible_in(team, stranger).filter(owner=stranger).exists()
    assert list(spaces.visible_in(team, stranger)) == [shared]
