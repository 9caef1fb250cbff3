"""The pages of a person's memory."""

import pytest
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from oneclaw.models import Space, SpaceMember
from oneclaw.reasons import Reason, verbatim


@pytest.fixture
def page(client, ada):
    """page(address): what Ada reads there."""
    client.force_login(ada)

    def page(address):
        response = client.get(address)
        assert response.status_code == 200
        return response.content.decode()

    return page


def address(document):
    return reverse("memory_document", args=[document.pk])


def test_without_a_memory_the_page_says_how_to_begin(page):
    assert "Say “remember …”" in page("/memory/files")


def test_the_list_begins_with_the_curated_memory_and_the_newest_day(page, space, append):
    for path in ("AGENTS.md", "memory/2026-11-20.md", "MEMORY.md", "memory/2026-11-21.md"):
        append(space, "x", path=path)
    text = page("/memory/files")
    order = [
        text.index(path) for path in ("MEMORY.md</a>", "memory/2026-11-21.md", "memory/2026-11-20.md", "AGENTS.md")
    ]
    assert order == sorted(order)


def test_a_document_is_shown_as_it_reads_and_as_it_is_written(page, space, append):
    document = append(space, "# Title\n\n- *tea* <script>alert(1)</script>").document
    text = page(address(document))
    assert "<em>tea</em>" in text
    assert "- *tea* &lt;script&gt;" in text
    assert "<script>alert" not in text


def test_the_history_says_who_how_why_and_what(page, space, append, say, session):
    message = say(session, "Remember tea.")
    document = append(space, "- tea", message_id=message.pk, reason=Reason("change.saved")).document
    write.apply(space, "MEMORY.md", Replace("- <b>coffee</b>\n", 1), Author(Source.ADMIN, reason=verbatim("Corrected")))
    text = page(address(document))
    assert "admin · Corrected" in text
    assert "<del>− - tea</del>" in text
    assert "<ins>+ - &lt;b&gt;coffee&lt;/b&gt;</ins>" in text
    assert f'href="/c/{session.pk}"' in text


def test_a_deleted_document_leaves_the_list_and_keeps_its_history(page, space, append):
    document = append(space, "tea").document
    write.apply(space, "MEMORY.md", Delete(1), Author(Source.PAGE))
    assert "MEMORY.md</a>" not in page("/memory/files")
    assert "This document was deleted" in page(address(document))


def test_a_very_long_document_is_shown_as_it_is_written(page, space, append):
    document = append(space, "*word* " * 20_000).document
    text = page(address(document))
    assert "<em>word</em>" not in text
    assert "*word* *word*" in text


def test_what_is_somebody_elses_looks_like_what_is_not_there(client, ada, strangers_space, append):
    client.force_login(ada)
    theirs = append(strangers_space, "the stranger's").document
    assert "MEMORY.md</a>" not in client.get("/memory/files").content.decode()
    assert client.get(address(theirs)).status_code == client.get("/memory/999999/").status_code == 404


def test_the_documents_of_a_shared_space_are_shown_to_its_members(client, ada, stranger, append):
    team = Space.objects.create(kind="team", name="Team Tea", owner=stranger)
    document = append(team, "shared").document
    client.force_login(ada)
    assert client.get(address(document)).status_code == 404
    SpaceMember.objects.create(space=team, user=ada)
    assert client.get(address(document)).status_code == 200
    assert "Team Tea" in client.get("/memory/files").content.decode()


def test_who_is_not_signed_in_is_sent_to_the_door(client, space, append):
    document = append(space, "tea").document
    for where in ("/memory/files", address(document)):
        assert client.get(where).status_code == 302


def test_times_are_on_the_persons_own_clock(page, space, append):
    document = append(space, "tea").document
    shown = space.owner.local(document.updated_at).strftime("%H:%M")
    assert shown in page("/memory/files")
    assert shown in page(address(document))


def test_a_memory_that_is_longer_than_its_part_of_a_prompt_says_so(client, ada, stranger, space, append):
    document = append(space, "- Ada likes tea.\n" * 2500).document
    client.force_login(ada)
    told = "MEMORY.md is too long to be in a conversation whole: 18,000 of its 42,499 characters are."
    for address in ("/memory/files", f"/memory/{document.pk}/"):
        assert told in client.get(address).content.decode()
    other = append(space, "- short\n", path="memory/2026-11-20.md").document
    assert "too long" not in client.get(f"/memory/{other.pk}/").content.decode()
    client.force_login(stranger)
    assert "too long" not in client.get("/memory/files").content.decode()
