"""Who deletes their own account leaves shared conversations to their space, and takes the others along."""

import uuid

import pytest

from chat.conversations import transcript
from chat.conversations.shared import share
from chat.library import search
from chat.models import ChatSession, Message
from chat.transfer import link_copies
from chat.transfer import share as links
from oneclaw import invariants
from oneclaw.leaving import offboard
from oneclaw.models import Offboarding, SpaceMember
from tests.chat.shared.cast import give, shared_conversation
from tests.conversations import send, settle
from tests.oneclaw.leaving.test_pages import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(ada, scripted):
    """What Ada has shared and others go on with; and what is hers alone, in the same space."""
    cast = shared_conversation(ada)
    settle(transcript.accept(cast.ed, cast.session.pk, uuid.uuid4(), "At noon, says Ed."), "Noon it is.")
    private = send(ada, "My own plans")
    settle(private)
    ChatSession.objects.filter(pk=private.message.session_id).update(space=cast.space)
    return cast


def delete_account(person):
    """Delete the account on its page; return what the page said before."""
    client = signed_in(person)
    page = client.get("/settings/delete/").content.decode()
    assert "is being deleted" in client.post("/settings/delete/").content.decode()
    assert offboard.run(Offboarding.objects.latest("pk").pk)
    return page


def test_the_team_goes_on_with_it_and_nothing_names_who_has_left(cast, ada, admin_person):
    page = delete_account(ada)
    assert "1 shared conversation stays in its space and is handed over to an owner" in page
    assert "1 conversation is deleted" in page
    assert "Conversations that you have shared stay in their spaces" in page

    (session,) = ChatSession.objects.all()
    assert (session.pk, session.owner, session.is_shared) == (cast.session.pk, cast.olga, True)
    seen = signed_in(cast.rita).get(f"/c/{session.pk}").content.decode()
    for words in ("Where shall we meet?", "Former member", "At noon, says Ed.", "Ed</"):
        assert words in seen
    assert "ada" not in seen.lower()
    settle(transcript.accept(cast.ed, session.pk, uuid.uuid4(), "And where?"), "In the park.")
    assert session.messages.filter(role=Message.Role.USER, author=cast.ed).count() == 2
    assert [str(each) for each in invariants.check()] == []


def test_an_owner_gets_it_who_can_sign_in(cast, ada, admin_person):
    give(cast.space, cast.ed, SpaceMember.Role.OWNER)
    cast.olga.is_active = False
    cast.olga.save()
    delete_account(ada)
    assert ChatSession.objects.get().owner == cast.ed


def test_nothing_of_their_memory_from_before_it_was_shared_is_left_in_it(cast, ada, admin_person):
    answer = cast.session.messages.get(seq=2)
    card = {"state": "done", "summary": "SECRET", "lines": ["SECRET"], "result": "SECRET", "fields": {"text": "SECRET"}}
    Message.objects.filter(pk=answer.pk).update(
        html="<p>SECRET</p>",
        meta={"cards": {"a": card}, "answer_lines": ["SECRET"], "sources": {"m1": {"text": "SECRET"}}},
    )
    delete_account(ada)
    session = ChatSession.objects.get()
    share.unshare(session.owner, session)
    kept = session.messages.get(seq=2)
    assert "SECRET" not in f"{kept.content} {kept.meta} {kept.html}"
    assert kept.meta["cards"]["a"]["state"] == "done"
    page = signed_in(session.owner).get(f"/c/{session.pk}").content.decode()
    assert "park" in page
    assert "SECRET" not in page


def test_its_new_owner_finds_its_words_and_copies_name_nobody_who_has_left(cast, ada, admin_person):
    link, _ = links.share(cast.ada, cast.session, "week", "space", cast.space.pk)
    copied = link_copies.copy_link(cast.rita, link)
    assert copied.copied_from["name"] == str(ada)
    delete_account(ada)
    assert [hit.message.seq for hit in search.messages(cast.olga, "park")]
    copied.refresh_from_db()
    assert copied.copied_from["name"] == "Former member"
