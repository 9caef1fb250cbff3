"""What of memory the search of the chat shows while somebody types."""

import re

import pytest

from chat import extensions
from chat.extensions import NoMemory
from chat.library import search
from memory.extension import MEMORY
from memory.index import embeddings
from memory.models import MemoryDocument
from memory.search.manager import HybridSearchManager
from oneclaw.models import Space, SpaceMember


@pytest.fixture
def shown(client, ada):
    """shown(question): [(address, name, snippet)] of memory, as the palette shows it to Ada."""
    client.force_login(ada)

    def shown(question):
        page = client.get("/search", {"q": question}, headers={"HX-Request": "true"}).content.decode()
        section = page.partition('id="palette-found-memory"')[2]
        return re.findall(r'href="([^"]+)"><span[^>]+>([^<]+)</span><span[^>]+>(.*?)</span></a>', section)

    return shown


def test_lines_that_hold_every_word_each_with_its_place(shown, ada, write, monkeypatch):
    # Nobody is asked for a vector.
    monkeypatch.setattr(embeddings, "embedder", None)
    monkeypatch.setattr(HybridSearchManager, "search", None)
    day = write(ada, "memory/2026-11-20.md", "# Notes\n\n- Ada drinks camomile <b>tea</b>\n- Ada drinks milk\n")
    curated = write(ada, "MEMORY.md", "- Camomile is for the evening\n- Das grüne 绿茶\n")
    assert shown("cam") == [
        (f"/memory/{curated.pk}/#line-1", "MEMORY.md", "<mark>Cam</mark>omile is for the evening"),
        (
            f"/memory/{day.pk}/#line-3",
            "memory/2026-11-20.md",
            "Ada drinks <mark>cam</mark>omile &lt;b&gt;tea&lt;/b&gt;",
        ),
    ]
    assert [name for _, name, _ in shown("TEA ada")] == ["memory/2026-11-20.md"]
    assert [address for address, _, _ in shown("绿")] == [f"/memory/{curated.pk}/#line-2"]
    assert len(shown("omile")) == 2
    assert shown("tea milk") == shown("") == shown("%") == []
    write(ada, "memory/2026-11-21.md", "\n".join(f"- Milk, the {number}th" for number in range(9)))
    assert len(shown("milk")) == search.EXTENSION_MAX_RESULTS
    MemoryDocument.objects.update(deleted_at="2026-11-21T00:00Z")
    assert shown("cam") == []


def test_of_other_people_only_what_is_shared(shown, ada, stranger, write):
    document = write(stranger, "MEMORY.md", "- Camomile\n")
    assert shown("camomile") == []
    SpaceMember.objects.create(space=Space.objects.own_of(stranger), user=ada, role=SpaceMember.Role.READER)
    assert [address for address, _, _ in shown("camomile")] == [f"/memory/{document.pk}/#line-1"]


def test_a_reader_sees_the_line_and_cannot_delete_it(client, ada, stranger, write):
    document = write(stranger, "MEMORY.md", "- Camomile\n")
    SpaceMember.objects.create(space=Space.objects.own_of(stranger), user=ada, role=SpaceMember.Role.READER)
    client.force_login(ada)
    page = client.get(f"/memory/{document.pk}/").content.decode()
    assert 'id="line-1"' in page
    assert "Delete line" not in page


def test_without_memory_the_chat_searches_by_itself(client, ada):
    client.force_login(ada)
    extensions.unregister(MEMORY)
    before = extensions.install_memory(NoMemory())
    try:
        assert "No conversation contains" in client.get("/search", {"q": "tea"}).content.decode()
    finally:
        extensions.register(MEMORY)
        extensions.install_memory(before)
