"""An entry of memory is edited, deleted, confirmed and forgotten in its row, and by pages without a script."""

import re

import pytest
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Append, Author, Replace, Source
from memory.models import ForgottenLine, Review
from memory.tools import reviews
from oneclaw.models import Space, SpaceMember

HTMX = {"HX-Request": "true"}


@pytest.fixture
def document(space, append, document_of):
    append(space, "- Likes tea\n- Works at Nordwind\n- Lives in Bern\n")
    return document_of(space)


@pytest.fixture
def at(client, ada):
    """Ada's browser."""
    client.force_login(ada)
    return client


@pytest.fixture
def row(at, document):
    """row(line, act="", version=1, **posted): the row that an act on an entry returns."""

    def row(line, act="", version=1, **posted):
        address = f"{reverse('memory_entry', args=[document.pk, line])}{act}?version={version}&next=/memory/"
        response = at.post(address, posted, headers=HTMX) if posted else at.get(address, headers=HTMX)
        assert response.status_code == 200
        return response.content.decode()

    return row


def fields(html):
    return dict(re.findall(r'name="(count|base_version|next|digest)" value="([^"]*)"', html))


def test_an_entry_is_edited_in_its_row(row, document_of, space):
    form = row(2)
    assert "<html" not in form
    assert fields(form) == {"count": "1", "base_version": "1", "next": "/memory/"}
    changed = row(2, **fields(form), text="- Works at Südwind\r\n- since May")
    assert document_of(space).content == "- Likes tea\n- Works at Südwind\n- since May\n- Lives in Bern\n"
    assert changed.count("<li") == 2
    assert "Saved." in changed
    assert 'id="line-2-3"' in changed
    # A row that was on the page before finds its entry in its new line.
    assert "Lives in Bern" in row(3)
    assert 'id="line-2-4"' in row(3, "/row")


def test_an_entry_is_deleted_in_its_row_and_the_row_offers_undo(row, at, document_of, space):
    gone = row(1, **fields(row(1)), text="- Likes tea", delete="yes")
    assert document_of(space).content == "- Works at Nordwind\n- Lives in Bern\n"
    undo = re.search(r'href="(/memory/undo/\d+)"', gone)[1]
    at.post(undo)
    assert document_of(space).content == "- Likes tea\n- Works at Nordwind\n- Lives in Bern\n"


def test_a_confirmed_entry_says_so_and_is_not_asked_about(row, ada, document):
    Review.objects.create(document=document, kind="still_true", line_hash=reviews.content_hash("- Lives in Bern"))
    assert len(reviews.pending(ada)) == 1
    confirmed = row(3, "/confirm", yes="1")
    assert "Noted: still true." in confirmed
    assert "still true on" in confirmed
    assert reviews.pending(ada) == []
    row(3, "/confirm", yes="1")
    row(1, "/confirm", yes="1")
    assert Review.objects.count() == 2


def test_an_entry_is_forgotten_after_a_question_in_its_row(row, at, document, document_of, space):
    asked = row(2, "/forget")
    assert "Forget this for good? It goes from 1 file with its history" in asked
    assert document_of(space).version == 1
    address = f"{reverse('memory_entry_forget', args=[document.pk, 2])}?version=1&next=/memory/topics/2"
    response = at.post(address, {"digest": fields(asked)["digest"]}, headers=HTMX)
    assert response["HX-Redirect"] == "/memory/topics/2"
    assert document_of(space).content == "- Likes tea\n- Lives in Bern\n"
    assert ForgottenLine.objects.count() == 1
    # The rows of before stand for nothing any more.
    assert "That entry was changed in the meantime." in row(3)


def test_what_would_go_is_shown_again_when_it_changed(row, document, append, space):
    asked = row(2, "/forget")
    append(space, "- Works at Nordwind\n", "memory/2026-11-20.md")
    again = row(2, "/forget", digest=fields(asked)["digest"])
    assert "It goes from 2 files" in again
    assert 'role="alert"' in again


def test_a_row_whose_entry_was_changed_says_so(row, space, document):
    write.apply(space, "MEMORY.md", Replace("- Likes coffee\n- Works at Nordwind\n", 1), Author(Source.PAGE))
    assert "That entry was changed in the meantime." in row(1)
    assert "That entry was changed in the meantime." in row(3, "/confirm", yes="1")
    assert "Works at Nordwind" in row(2)


def test_a_text_that_cannot_be_saved_is_not_lost(row, at, document, space, document_of):
    form = fields(row(1))
    write.apply(space, "MEMORY.md", Replace("- Likes coffee\n", 1), Author(Source.PAGE))
    assert "Your text: - Likes mate" in row(1, **form, text="- Likes mate")
    address = reverse("memory_entry", args=[document.pk, 1])
    response = at.post(address, form | {"text": "- Likes mate"}, follow=True)
    assert "Your text: - Likes mate" in response.content.decode()
    assert document_of(space).content == "- Likes coffee\n"


def test_without_a_script_each_act_has_a_page_and_goes_back(at, document, document_of, space):
    address = reverse("memory_entry", args=[document.pk, 2])
    page = at.get(f"{address}?next=/memory/inbox/").content.decode()
    assert page.count("<html") == 1
    assert fields(page)["next"] == "/memory/inbox/"
    posted = {"count": 1, "base_version": 1, "text": "- Works at Südwind", "next": "/memory/inbox/"}
    assert at.post(address, posted)["Location"] == "/memory/inbox/"
    assert at.post(f"{address}/confirm", {"next": "//evil.example/"})["Location"] == "/memory/"
    assert Review.objects.get().answered_at
    assert at.get(f"{address}/forget")["Location"].startswith("/memory/forget?q=Works")
    posted |= {"base_version": 2, "text": ""}
    at.post(address, posted)
    assert document_of(space).content == "- Likes tea\n- Lives in Bern\n"
    assert at.get(f"{address}9").status_code == 404


@pytest.mark.parametrize("broken", [{"count": "x"}, {"base_version": ""}, {"count": "9" * 12}])
def test_a_broken_form_is_refused(at, document, broken):
    form = {"count": "1", "base_version": "1", "text": "x"} | broken
    assert at.post(reverse("memory_entry", args=[document.pk, 1]), form).status_code == 400


def test_another_persons_entry_is_not_there_and_a_reader_changes_nothing(client, stranger, document, space):
    client.force_login(stranger)
    addresses = [f"{reverse('memory_entry', args=[document.pk, 1])}{act}" for act in ("", "/confirm", "/forget")]
    for address in addresses:
        assert client.post(address, {"text": "x"}, headers=HTMX).status_code == 404
    assert client.get(f"{addresses[0]}/row", headers=HTMX).status_code == 404
    team = Space.objects.create(owner=space.owner, kind=Space.Kind.TEAM, name="Kitchen", needs_second_person=False)
    SpaceMember.objects.create(space=team, user=stranger, role=SpaceMember.Role.READER)
    written = write.apply(team, "MEMORY.md", Append("- Likes tea\n"), Author(Source.PAGE, space.owner))
    assert client.post(reverse("memory_entry_confirm", args=[written.document_id, 1])).status_code == 403
    SpaceMember.objects.filter(user=stranger, space=team).update(role=SpaceMember.Role.EDITOR)
    # An editor may change, but only an owner may forget.
    row = client.get(reverse("memory_entry_row", args=[written.document_id, 1]), headers=HTMX).content.decode()
    assert "Edit" in row
    assert "/forget" not in row
    forget = client.post(reverse("memory_entry_forget", args=[written.document_id, 1]), headers=HTMX)
    assert "You may not forget entries of this memory any more." in forget.content.decode()


def test_what_waits_about_an_entry_is_marked_at_it(at, ada, document):
    review = Review.objects.create(
        document=document, kind="still_true", line_hash=reviews.content_hash("- Lives in Bern")
    )
    home = at.get("/memory/").content.decode()
    assert f'<a href="/memory/inbox/?review={review.pk}#review-{review.pk}">Is this still true?</a>' in home
    assert f'id="review-{review.pk}"' in at.get("/memory/inbox/").content.decode()
    inbox = at.get("/memory/inbox/").content.decode()
    assert f'href="/memory/{document.pk}/#line-3"' in inbox
    edit = re.search(r'href="([^"]+)" data-key="e"', inbox)[1].replace("&amp;", "&")
    assert "- Lives in Bern" in at.get(edit).content.decode()
