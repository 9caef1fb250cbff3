"""What waits for a yes over the API: listed, accepted and declined by the permissions of the page."""

import pytest

from memory.models import MemoryDocument, Suggestion
from memory.trust.rule import SourceText
from memory.trust.suggestions import wait
from oneclaw.models import Space


@pytest.fixture
def suggestion(ada):
    source = SourceText(Suggestion.Kind.ATTACHMENT, "offer.pdf", "")
    return wait(Space.objects.own_of(ada), "MEMORY.md", "The bank is Mallory & Sons.", source)


def test_what_waits_is_listed_with_its_source(adas, strangers, suggestion):
    [item] = adas.get("/memory/suggestions").json()["items"]
    assert (item["text"], item["kind"]) == ("The bank is Mallory & Sons.", "attachment")
    assert item["source"] == "It came from the file “offer.pdf”."
    assert strangers.get("/memory/suggestions").json()["items"] == []


def test_an_accepted_one_is_written_once(adas, strangers, suggestion):
    address = f"/memory/suggestions/{suggestion.pk}"
    assert strangers.post(address, answer="accept").status_code == 404
    for _ in range(2):
        assert adas.post(address, answer="accept").json() == {"status": "accepted"}
    assert MemoryDocument.objects.get().content == "- The bank is Mallory & Sons.\n"
    assert adas.get("/memory/suggestions").json()["items"] == []
    assert adas.post(address, answer="decline").json() == {"status": "accepted"}


def test_a_declined_one_is_gone(adas, suggestion):
    assert adas.post(f"/memory/suggestions/{suggestion.pk}", answer="decline").json() == {"status": "declined"}
    assert not MemoryDocument.objects.exists()
    assert adas.post(f"/memory/suggestions/{suggestion.pk}", answer="maybe").status_code == 422
