"""Documents are found where people search: in the search dialog and on the search page, each at its page and lines."""

import re

import pytest

from memory.index.documents import index_document
from memory.library import files as library
from memory.library import reading
from memory.models import FileVersion
from oneclaw.models import Space, SpaceMember
from tests import files

PLAN = files.pdf("The harbour was closed in winter.", "Jasmine tea is stored in the cellar.")


@pytest.fixture
def put(ada, space, client):
    """put(name, data, into): a file that is read, with Ada signed in."""
    client.force_login(ada)

    def put(name, data, into=space) -> FileVersion:
        version = library.add(into, into.owner, name, data)
        reading.run(version.pk)
        return version

    return put


@pytest.fixture
def team(ada, stranger):
    """A space that the stranger owns and Ada reads."""
    team = Space.objects.create(kind="team", name="Team Tea", owner=stranger)
    SpaceMember.objects.create(space=team, user=stranger, role="owner")
    SpaceMember.objects.create(space=team, user=ada, role="reader")
    return team


def in_dialog(client, question):
    page = client.get("/search", {"q": question}, headers={"HX-Request": "true"}).content.decode()
    section = page.partition('id="palette-found-documents"')[2].partition("</section>")[0]
    return re.findall(r'href="([^"]+)"><span[^>]+>([^<]+)</span>(?:<span[^>]+>(.*?)</span>)?</a>', section)


def on_page(client, **query):
    page = client.get("/memory/search", query, headers={"HX-Request": "true"}).content.decode()
    rows = re.findall(r'class="result" href="([^"]+)">(.*?)</a>.*?about">(.*?)</span>', page, re.S)
    return [(address.replace("&amp;", "&"), re.sub(r"<[^>]+>", "", text), about) for address, text, about in rows]


def test_the_dialog_finds_names_and_lines_of_what_the_person_sees(put, client, space, team, strangers_space):
    plan = put("tea plan.pdf", PLAN)
    shared = put("shared.md", b"# Tea\n\nOolong <b>tea</b> is in the cellar.\n", team)
    put("secret.md", b"The tea cellar of somebody else.", strangers_space)
    assert in_dialog(client, "cell tea") == [
        (f"/memory/documents/{shared.file_id}/?lines=3-3#line-3", "Team Tea: shared.md",
         "Oolong &lt;b&gt;<mark>tea</mark>&lt;/b&gt; is in the <mark>cell</mark>ar."),
        (f"/memory/documents/{plan.file_id}/?page=2&amp;lines=2-2#line-2", "tea plan.pdf, page 2",
         "Jasmine <mark>tea</mark> is stored in the <mark>cell</mark>ar."),
    ]  # fmt: skip
    assert in_dialog(client, "plan")[0] == (f"/memory/documents/{plan.file_id}/", "tea plan.pdf", "")
    page = client.get(f"/memory/documents/{plan.file_id}/?page=2&lines=2-2").content.decode()
    assert 'id="line-2" class="library__named"><mark>Jasmine tea is stored in the cellar.</mark>' in page
    SpaceMember.objects.filter(space=team, user=space.owner).delete()
    assert [name for _, name, _ in in_dialog(client, "cellar")] == ["tea plan.pdf, page 2"]


def test_the_search_page_finds_documents_beside_memory_and_alone(put, client, space, team, strangers_space, append):
    index_document(append(space, "- Ada stores jasmine tea in the kitchen.").document_id)
    plan = put("plan.pdf", PLAN)
    put("stores.md", b"Jasmine tea is stored at the harbour.\n", team)
    put("secret.md", b"Jasmine tea is stored in a secret place.", strangers_space)
    question = "Where is the jasmine tea stored?"
    everything = on_page(client, q=question)
    assert "Saved memory" in [about for _, _, about in everything]
    of_documents = on_page(client, q=question, kind="documents")
    assert sorted(of_documents) == sorted(each for each in everything if each[0].startswith("/memory/documents/"))
    assert (f"/memory/documents/{plan.file_id}/?page=2&lines=2-2#line-2", "Jasmine tea is stored in the cellar.",
            "plan.pdf, page 2") in of_documents  # fmt: skip
    assert [about for _, _, about in of_documents if "stores" in about] == ["stores.md · Team Tea"]
    assert "secret" not in str(everything)
    assert on_page(client, q=question, kind="documents", until="2020-01-01") == []
    # A word of documents alone is not taken for a misspelled one of memory.
    assert "Results for" not in client.get("/memory/search", {"q": "stores harbour"}).content.decode()
