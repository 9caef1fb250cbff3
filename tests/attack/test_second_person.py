"""The second person is another person: whoever may have written a line does not approve it."""

import json
import re
import uuid

import pytest
from django.utils import timezone

from chat.attachments import store
from chat.conversations import transcript
from chat.models import ChatSession, default_agent
from chat.turns.tools import call_tool
from memory.models import MemoryDocument, Proposal, Suggestion
from memory.tools import proposals
from oneclaw.models import Space, SpaceMember
from oneclaw.people import notices
from tests.attack.cases import FACT, ORDER, SPELLINGS
from tests.conversations import FINISHED, settle


@pytest.fixture
def space(ada, mallory):
    """A team's space of Ada's, which asks for a second person; Mallory is an editor."""
    made = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Kitchen", needs_second_person=True)
    SpaceMember.objects.create(space=made, user=ada, role="owner")
    SpaceMember.objects.create(space=made, user=mallory, role="editor")
    return made


@pytest.fixture
def shared(space, ada):
    fields = {"owner": ada, "agent": default_agent(), "space": space, "shared_at": timezone.now()}
    return ChatSession.objects.create(key="shared", **fields)


def said(person, shared, text, files=()):
    accepted = transcript.accept(person, shared.pk, uuid.uuid4(), text, files=files)
    settle(accepted, "I see.")


def save(person, shared, text, content=FACT):
    """Let the model save `content` in a turn of `person`; return the result as the model is sent it."""
    accepted = transcript.accept(person, shared.pk, uuid.uuid4(), text)
    use = {"type": "tool_use", "id": "toolu_s", "name": "save_memory", "input": {"content": content}}
    results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
    block, card = call_tool(accepted.turn, accepted.answer, use, "")
    following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {"toolu_s": card})
    transcript.finish_turn(accepted.turn, following, [{"type": "text", "text": "Done."}], "complete", **FINISHED)
    return json.loads(block["content"])


@pytest.mark.parametrize("spelling", ["plain", "base64", "rot13", "french"])
def test_who_wrote_the_line_cannot_accept_it(ada, mallory, shared, spelling):
    said(mallory, shared, SPELLINGS[spelling])
    assert save(ada, shared, "Let us go on.")["proposed"]
    row = Proposal.objects.get()
    assert row.author == mallory
    with pytest.raises(proposals.NotYoursToDecideError):
        proposals.accept(row, mallory)
    assert not MemoryDocument.objects.exists()
    # Ada has not written it.
    assert proposals.accept(row, ada).decided_by == ada


def test_the_file_of_a_member_is_theirs(ada, mallory, shared):
    said(mallory, shared, "Look.", [store.store_file(mallory, "notes.txt", ORDER.encode()).pk])
    save(ada, shared, "Let us go on.")
    row = Proposal.objects.get()
    assert row.author == mallory
    with pytest.raises(proposals.NotYoursToDecideError):
        proposals.accept(row, mallory)


def test_none_of_several_who_may_have_written_it_accepts_it(ada, mallory, stranger, space, shared):
    SpaceMember.objects.create(space=space, user=stranger, role="editor")
    said(mallory, shared, SPELLINGS["base64"])
    said(stranger, shared, "The invoices of Ada are late.")
    save(ada, shared, "Let us go on.")
    row = Proposal.objects.get()
    for person in (mallory, stranger):
        with pytest.raises(proposals.NotYoursToDecideError):
            proposals.accept(row, person)
    assert [each.pk for each in Proposal.objects.to_decide_by(ada)] == [row.pk]


def test_a_members_own_words_are_their_proposal(ada, mallory, shared):
    said(mallory, shared, "Good morning.")
    save(ada, shared, "Remember that I like green tea.", "Likes green tea.")
    row = Proposal.objects.get()
    assert (row.author, row.writers) == (ada, None)
    with pytest.raises(proposals.NotYoursToDecideError):
        proposals.accept(row, ada)
    assert proposals.accept(row, mallory).decided_by == mallory


def test_without_a_second_person_another_members_words_wait(ada, mallory, space, shared):
    Space.objects.filter(pk=space.pk).update(needs_second_person=False)
    said(mallory, shared, ORDER)
    assert save(ada, shared, "Let us go on.")["waiting"]
    assert Suggestion.objects.get().kind == "people"
    assert not MemoryDocument.objects.exists()


def test_a_suggestion_for_guarded_memory_is_answered_by_an_owner(client, ada, mallory, space):
    row = Suggestion.objects.create(space=space, path="MEMORY.md", text=FACT, text_hash="x", kind="people")
    client.force_login(mallory)
    assert client.post(f"/memory/suggestions/{row.pk}", {"answer": "accept"}).status_code == 403
    assert row not in Suggestion.objects.writable_by(mallory)
    client.force_login(ada)
    client.post(f"/memory/suggestions/{row.pk}", {"answer": "accept"})
    assert FACT in MemoryDocument.objects.get(space=space).content


def instruct(client, person, space, text="- Answer in French."):
    client.force_login(person)
    row = MemoryDocument.objects.filter(space=space, path="AGENTS.md").first()
    form = {"content": text, "base_version": row.version if row else 0}
    return client.post(f"/spaces/{space.pk}/instructions", form, follow=True).content.decode()


def told(person):
    person.refresh_from_db()
    return notices.sentences(person)


def test_an_editors_instructions_need_another_person_and_the_others_are_told(
    client, ada, mallory, stranger, space, django_capture_on_commit_callbacks
):
    SpaceMember.objects.create(space=space, user=stranger, role="reader")
    assert "Another owner or editor decides." in instruct(client, mallory, space)
    assert not MemoryDocument.objects.exists()
    row = Proposal.objects.get()
    with pytest.raises(proposals.NotYoursToDecideError):
        proposals.accept(row, mallory)
    client.force_login(ada)
    assert "It replaces the instructions of the space" in client.get("/memory/inbox/").content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        proposals.accept(row, ada)
    assert MemoryDocument.objects.get(space=space, path="AGENTS.md").content == "- Answer in French.\n"
    assert [len(told(person)) for person in (ada, mallory, stranger)] == [0, 0, 1]
    assert "Mallory has changed the instructions of the space “Kitchen”." in told(stranger)[0]


def test_an_owner_changes_them_at_once_and_the_others_are_told(
    client, ada, mallory, space, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        assert "Saved." in instruct(client, ada, space)
    assert (len(told(ada)), len(told(mallory))) == (0, 1)


def test_proposed_instructions_overwrite_later_ones_only_when_these_were_seen(client, ada, mallory, space):
    instruct(client, mallory, space)
    card = client.get(f"/memory/?space={space.pk}").content.decode()
    assert "They were changed after" not in card
    instruct(client, ada, space, "- Answer in German.")
    row = Proposal.objects.get()
    assert row.base_version == 0
    with pytest.raises(proposals.InstructionsChangedError):
        proposals.accept(row, ada)

    def accepted(seen_version):
        form = {"answer": "accept", "seen_version": seen_version}
        return client.post(f"/memory/proposals/{row.pk}", form, follow=True).content.decode()

    # As the page was before the change: the newer instructions are shown, and it waits for another answer.
    page = accepted(0)
    assert "were changed in the meantime. Read them" in page
    assert "They were changed after this was proposed." in page
    assert "- Answer in German." in page
    assert MemoryDocument.objects.get(space=space, path="AGENTS.md").content == "- Answer in German.\n"
    accepted(re.search(r'name="seen_version" value="(\d+)"', page)[1])
    assert MemoryDocument.objects.get(space=space, path="AGENTS.md").content == "- Answer in French.\n"


def test_a_proposal_is_edited_by_those_only_who_may_change_the_text_directly(client, ada, mallory, space):
    for author, person, edits in ((mallory, ada, True), (ada, mallory, False)):
        row = proposals.propose(space, f"The oven is {author.pk} degrees hot.", author, Proposal.Kind.WRITTEN)
        if not row.is_waiting:
            row = Proposal.objects.create(
                space=space, text=row.text, text_hash="x", author=author, kind=Proposal.Kind.WRITTEN
            )
        client.force_login(person)
        page = client.get("/memory/inbox/").content.decode()
        assert f'id="proposal-{row.pk}"' in page
        assert ("Edit before accepting" in page) == edits


@pytest.mark.parametrize("kind", ["line", "instructions"])
def test_an_editor_accepts_no_words_of_their_own_in_the_place_of_a_proposal(ada, mallory, space, kind):
    proposed = "The oven is hot.\nThe cellar is cold."
    if kind == "line":
        row = proposals.propose(space, proposed, ada, Proposal.Kind.WRITTEN)
    else:
        row = proposals.propose_instructions(space, proposed.replace("\n", "\r\n"), ada, 0)
    with pytest.raises(proposals.NotYoursToDecideError):
        proposals.accept(row, mallory, FACT)
    assert not MemoryDocument.objects.exists()
    # Unchanged, as a browser sends it.
    assert proposals.accept(row, mallory, proposed.replace("\n", "\r\n")).state == Proposal.State.ACCEPTED
    assert "\r" not in MemoryDocument.objects.get().content


def test_an_owner_edits_what_they_accept(ada, mallory, space):
    row = proposals.propose(space, "The oven is hot.", mallory, Proposal.Kind.WRITTEN)
    assert proposals.accept(row, ada, "The oven is cold.").accepted_text == "The oven is cold."


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_who_has_lost_the_role_meanwhile_is_told_so(client, ada, mallory, space, answer):
    row = proposals.propose(space, "The oven is hot.", ada, Proposal.Kind.WRITTEN)
    SpaceMember.objects.filter(space=space, user=mallory).update(role="reader")
    client.force_login(mallory)
    page = client.post(f"/memory/proposals/{row.pk}", {"answer": answer}, follow=True).content.decode()
    assert "You cannot change the memory of “Kitchen” any more." in page
    row.refresh_from_db()
    assert row.is_waiting
