"""The pages on which lines are proposed to a space and decided: card, memory page, inbox."""

import html
import io
import re
import zipfile

import pytest
from django.urls import reverse

from memory.documents.write import Append, Author, Source, apply
from memory.models import MemoryRevision, Proposal
from memory.tools.proposals import accept, propose
from memory.trust.proposals import decline
from memory.views.inbox import waiting_items
from oneclaw.models import AuditEvent, AuditKind, Space

WRITTEN = Proposal.Kind.WRITTEN


@pytest.fixture
def page(client):
    """page(person, address): what the person reads there."""

    def page(person, address, status=200):
        client.force_login(person)
        response = client.get(address)
        assert response.status_code == status
        return html.unescape(re.sub(r"\s+", " ", response.content.decode()))

    return page


@pytest.fixture
def post(client):
    def post(person, address, status=302, **data):
        client.force_login(person)
        response = client.post(address, data)
        assert response.status_code == status
        return response

    return post


def test_a_line_is_proposed_on_the_page_and_decided_in_the_inbox(page, post, kitchen, bob, cem, rita, stranger):
    address = f"/memory/?space={kitchen.pk}"
    assert "Propose a line" in page(bob, address)
    post(bob, reverse("memory_propose"), space=kitchen.pk, text="The oven is broken.", next=address)
    row = Proposal.objects.get()
    assert "Take back" in page(bob, address)
    assert "Accept" not in page(rita, address)
    assert waiting_items(bob) is None
    assert waiting_items(rita) is None
    assert waiting_items(cem).count == 1
    inbox = page(cem, "/memory/inbox/")
    assert "Bob proposes this for “Kitchen”" in inbox
    assert "The oven is broken." in inbox
    assert 'data-key="d"' in inbox
    answer = reverse("memory_proposal", args=[row.pk])
    post(stranger, answer, 404, answer="accept")
    post(rita, answer, answer="accept")
    assert Proposal.objects.get().is_waiting
    # Who may not write directly accepts the words as they are.
    post(cem, answer, answer="accept", text="The oven is broken until May.")
    assert Proposal.objects.get().is_waiting
    post(cem, answer, answer="accept")
    shown = page(rita, address)
    assert "The oven is broken." in shown
    assert "until May" not in shown
    assert "Bob, approved by Cem" in shown
    assert "You, approved by Cem" in page(bob, address)
    assert waiting_items(cem) is None


def test_the_author_of_a_declined_line_hears_it(page, post, kitchen, bob, cem):
    row = propose(kitchen, "The oven is broken.", bob, WRITTEN)
    decline(row, cem)
    assert waiting_items(bob).count == 1
    assert "Cem declined your proposal for “Kitchen”" in page(bob, "/memory/inbox/")
    post(bob, reverse("memory_proposal", args=[row.pk]), answer="hear")
    assert waiting_items(bob) is None
    assert "Nothing is waiting" in page(bob, "/memory/inbox/")


def test_with_a_second_person_an_editor_proposes_and_an_owner_edits(page, post, kitchen, ada, bob, adas):
    revision = apply(kitchen, "MEMORY.md", Append("- The oven is red.\n"), Author(Source.PAGE, ada))
    edit = reverse("memory_edit", args=[revision.document_id])
    address = f"/memory/?space={kitchen.pk}"
    assert ">Edit<" not in page(bob, address)
    assert ">Edit<" in page(ada, address)
    page(bob, edit, 403)
    post(bob, reverse("memory_undo", args=[revision.pk]), 403)
    post(ada, edit, content="- The oven is blue.\n", base_version=1)
    Space.objects.filter(pk=kitchen.pk).update(needs_second_person=False)
    post(bob, edit, content="- The oven is green.\n", base_version=2)
    assert "The oven is green." in page(bob, address)


def test_a_saved_line_offers_to_be_proposed_on_its_card(page, post, private, space, kitchen, ada, bob, say):
    message = say(private, "I like tea.", role="assistant")
    apply(space, "MEMORY.md", Append("- The landlord is Gustav.\n"), Author(Source.TOOL, ada, message_id=message.pk))
    from memory.tools.saved import outcomes

    made = MemoryRevision.objects.get().pk

    def card():
        return outcomes([made])[made]["html"]

    assert "Propose to “Kitchen”" in card()
    assert "Saved to your own memory." in card()
    post(bob, reverse("memory_propose"), 404, space=kitchen.pk, revision=made)
    post(ada, reverse("memory_propose"), space=kitchen.pk, revision=made)
    row = Proposal.objects.get()
    assert (row.text, row.source_id, row.kind) == ("The landlord is Gustav.", made, "saved")
    assert "Proposed to “Kitchen”" in card()
    accept(row, bob)
    assert "Also in the memory of “Kitchen”." in card()
    # The change in the space names no message of the private conversation.
    assert MemoryRevision.objects.get(space=kitchen).message is None


def test_a_line_of_the_own_memory_is_proposed_to_a_space_of_the_person(
    page, post, space, kitchen, ada, stranger, client
):
    revision = apply(space, "MEMORY.md", Append("- The landlord is Gustav.\n"), Author(Source.PAGE, ada))
    assert ">Propose<" in page(ada, "/memory/")
    client.force_login(ada)
    address = reverse("memory_entry_propose", args=[revision.document_id, 1])
    form = client.get(address, follow=True).content.decode()
    assert "The landlord is Gustav." in form
    assert "Kitchen" in form
    assert "no shared space" in page(stranger, reverse("memory_propose"))
    post(stranger, reverse("memory_propose"), 404, space=kitchen.pk, text="x")
    apply(Space.objects.own_of(stranger), "MEMORY.md", Append("- One.\n"), Author(Source.PAGE, stranger))
    assert ">Propose<" not in page(stranger, "/memory/")


def test_members_download_the_memory_of_a_space(page, client, kitchen, rita, stranger):
    apply(kitchen, "MEMORY.md", Append("- The pizza oven is broken.\n"), Author(Source.PAGE, rita))
    address = f"/spaces/{kitchen.pk}/memory.zip"
    assert f'href="{address}"' in page(rita, f"/spaces/{kitchen.pk}/memory")
    with zipfile.ZipFile(io.BytesIO(client.get(address).content)) as downloaded:
        assert {name: downloaded.read(name) for name in downloaded.namelist()} == {
            "MEMORY.md": b"- The pizza oven is broken.\n"
        }
    event = AuditEvent.objects.get(kind=AuditKind.EXPORTED)
    assert (event.actor, event.space) == (rita.pk, kitchen.pk)
    page(stranger, address, status=404)
