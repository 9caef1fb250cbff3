"""Embedding servers: batches, retries, failures; search goes on by words."""

import importlib.util
import socket
import time
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from memory.index import embeddings as providers
from memory.index import models, vectors
from memory.index.embeddings import embedder, remote
from memory.index.embeddings.failures import EmbeddingError
from memory.models import DocumentIndex, EmbeddingModel, MemoryDocument, TextVector
from memory.search import cache
from oneclaw.models import Space, Spend
from tests.canary import Resolver
from tests.embedding_server import letters
from tests.spending import NOBODY

ADMIN = "/admin/memory/memorydocument/"
NOTES = "- The kayak is red.\n- The boat is blue.\n- The car is grey.\n"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(remote, "BACKOFF_SECONDS", 0.01)


def test_a_save_does_not_wait_for_a_server_and_the_sweep_catches_up(ada, write, search, embeddings):
    write(ada, "MEMORY.md", NOTES)
    assert embeddings.asked == []
    assert vectors.embed_pending() == 1
    assert TextVector.objects.count() == 3
    assert vectors.notice() == ""
    assert search(ada, "kayak")[0].vector_score > 0
    assert vectors.embed_pending() == 0
    assert len(embeddings.asked) == 2


def test_a_long_memory_goes_in_batches_of_limited_size_four_at_a_time(embeddings):
    embeddings.script = [0.05] * 40
    rows = embedder().embed(["word " * 400] * 120, NOBODY)
    assert rows.shape == (120, 8)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert all(sum(len(text) // 3 for text in batch) <= 8_000 for batch in embeddings.asked)
    assert 1 < embeddings.most_at_once <= 4


@pytest.mark.parametrize("step", [429, 500, 503])
def test_a_passing_failure_is_tried_again(embeddings, step):
    embeddings.script = [step, step]
    assert len(embedder().embed(["a"], NOBODY)) == 1
    assert len(embeddings.asked) == 3


@pytest.mark.parametrize(("step", "tries"), [(500, 3), (401, 1), ("garbage", 1)])
def test_what_fails_three_times_or_for_good_is_a_failure(embeddings, step, tries):
    embeddings.script = [step] * 5
    with pytest.raises(EmbeddingError):
        embedder().embed(["a"], NOBODY)
    assert len(embeddings.asked) == tries


@pytest.mark.parametrize("step", [429, 500, "garbage", 0.4])
def test_a_server_that_fails_a_question_leaves_the_words(ada, write, search, embeddings, settings, step):
    settings.EMBEDDING_TIMEOUT = 0.2
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.script, embeddings.asked = [step], []
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert "words only" in vectors.notice()
    assert search(ada, "kayak")[0].vector_score == 0
    assert len(embeddings.asked) == 1, "a server that failed a moment ago is left alone"


def test_a_server_that_is_not_there_leaves_the_words(ada, write, search, settings):
    settings.EMBEDDINGS, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "openai", "http://127.0.0.1:9/v1", ""
    write(ada, "MEMORY.md", NOTES)
    assert vectors.embed_pending() == 0
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert "cannot be reached" in vectors.notice()


def test_indexing_while_the_server_is_away_says_how_many_wait_for_their_vectors(ada, write, embeddings, caplog):
    write(ada, "MEMORY.md", NOTES)
    write(ada, "more.md", NOTES.replace("car", "cart"))
    embeddings.script = [401]
    said = StringIO()
    call_command("memory", "index", "--force", "--user", ada.email, stdout=said)
    assert said.getvalue().split("\n") == ["2 documents are indexed.", "2 documents wait for their vectors.", ""]
    assert "could not be indexed" not in caplog.text
    embedder()._cooldown_until = 0.0
    call_command("memory", "index", "--user", ada.email, stdout=StringIO())
    assert TextVector.objects.count() == 4


def test_after_its_rest_a_server_is_asked_again_and_the_notice_goes(ada, write, embeddings, monkeypatch):
    monkeypatch.setattr(remote, "COOLDOWN_MIN_SECONDS", 0.05)
    write(ada, "MEMORY.md", NOTES)
    embeddings.script = [401]
    assert vectors.embed_pending() == 0
    assert vectors.notice()
    time.sleep(0.06)
    assert vectors.embed_pending() == 1
    assert vectors.notice() == ""


def test_another_model_pauses_the_vectors_says_so_and_embeds_anew(ada, write, search, embeddings, settings):
    settings.EMBEDDINGS = "local"
    write(ada, "MEMORY.md", NOTES)
    before = TextVector.objects.count()
    settings.EMBEDDINGS = "openai"
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert search(ada, "kayak")[0].vector_score == 0
    assert "1 document waits" in vectors.notice()
    vectors.embed_pending()
    assert vectors.notice() == ""
    assert search(ada, "kayak")[0].vector_score > 0
    assert TextVector.objects.count() == 2 * before
    settings.EMBEDDINGS, embeddings.asked = "local", []
    vectors.embed_pending()
    assert TextVector.objects.count() == 2 * before, "the first model's vectors were kept"
    assert {row.name for row in EmbeddingModel.objects.all()} >= {embedder().name}


def wide(text):
    return [1.0 + text.count(letter) for letter in "aeiourstbcdk"]


def test_another_width_under_the_same_name_is_another_model(ada, write, search, embeddings, monkeypatch):
    write(ada, "MEMORY.md", NOTES)
    write(ada, "more.md", NOTES.replace("car", "cart"))
    write(ada, "empty.md", "")
    assert vectors.embed_pending() == 2
    embeddings.vector = wide
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert search(ada, "kayak")[0].vector_score == 0
    assert "model has changed: 2 documents wait" in vectors.notice()
    assert vectors.state(MemoryDocument.objects.all())["pending"] == 6
    assert vectors.embed_pending() == 2
    assert vectors.notice() == ""
    assert search(ada, "kayak")[0].vector_score > 0
    told = vectors.state(MemoryDocument.objects.all())
    assert (told["vectors"], told["pending"], told["model"][-3:]) == (6, 0, "/12")
    # The first one comes back, and a line that is new tells so before anybody asks.
    embeddings.vector, embeddings.asked = letters, []
    write(ada, "more.md", NOTES.replace("car", "cart") + "- A bus.\n")
    assert vectors.embed_pending() >= 1
    vectors.embed_pending()
    assert embeddings.asked == [["A bus."]], "what it has embedded before is still there"
    assert search(ada, "kayak")[0].vector_score > 0


def test_a_width_that_another_process_has_seen_counts_here_too(ada, write, search, embeddings):
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.vector = wide
    search(ada, "kayak")
    for process in (embedder(), None):
        if process is None:
            providers.openai_server.cache_clear()
            models._seen.clear()
        assert "1 document waits" in vectors.notice()
    assert vectors.embed_pending() == 1
    assert vectors.notice() == ""


def test_a_large_memory_is_searched_by_signs_again_after_another_width(
    ada, write, search, embeddings, settings, monkeypatch
):
    settings.SEARCH = replace(settings.SEARCH, exact_max_chunks=2)
    monkeypatch.setattr(cache, "CACHED_MIN_CHUNKS", 1)
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    assert search(ada, "kayak")[0].vector_score > 0
    embeddings.vector = wide
    assert "kayak" in search(ada, "kayak")[0].snippet
    write(ada, "more.md", NOTES.replace("car", "cart"))
    vectors.embed_pending()
    assert search(ada, "kayak")[0].vector_score > 0


def test_without_vectors_nothing_is_embedded(ada, write, settings):
    settings.EMBEDDINGS = "none"
    write(ada, "MEMORY.md", NOTES)
    assert vectors.embed_pending() == 0
    assert not TextVector.objects.exists()
    assert DocumentIndex.objects.get().embedded_by is None


def test_auto_takes_the_first_provider_that_has_a_key(settings):
    settings.EMBEDDINGS, settings.OPENAI_API_KEY, settings.GEMINI_API_KEY = "auto", "", ""
    assert embedder().name.startswith("local/")
    settings.GEMINI_API_KEY = "g"
    assert embedder().name.startswith("gemini/")
    settings.OPENAI_API_KEY = "o"
    assert embedder().name.startswith("openai/")
    settings.EMBEDDINGS, settings.OPENAI_API_KEY = "openai", ""
    for base in ("", "https://api.openai.com/v1"):
        settings.OPENAI_BASE_URL = base
        with pytest.raises(ImproperlyConfigured, match="set OPENAI_API_KEY"):
            providers.embedder()


def test_gemini_is_asked_in_its_own_form():
    address, headers, body = remote.gemini("https://x/v1beta", "key", "m", 768, 1).request(["hello"], True)
    assert address == "https://x/v1beta/models/m:batchEmbedContents"
    assert headers == {"x-goog-api-key": "key"}
    assert body["requests"] == [
        {
            "model": "models/m",
            "taskType": "RETRIEVAL_QUERY",
            "outputDimensionality": 768,
            "content": {"parts": [{"text": "hello"}]},
        }
    ]


def test_geminis_answer_is_read(ada, write, search, embeddings, settings, monkeypatch):
    monkeypatch.setattr(providers, "GEMINI", embeddings.url)
    settings.EMBEDDINGS, settings.GEMINI_API_KEY = "gemini", f"key of {embeddings.url}"
    write(ada, "MEMORY.md", NOTES)
    assert vectors.embed_pending() == 1
    assert embedder().embed(["red kayak", "boat"], NOBODY)[1] == pytest.approx(
        np.array(letters("boat")) / np.linalg.norm(letters("boat")), abs=1e-5
    )
    assert search(ada, "kayak")[0].vector_score > 0
    assert embedder().name.startswith("gemini/gemini-embedding-001/")


def test_a_blank_question_asks_no_provider(ada, write, search, embeddings):
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.asked = []
    assert search(ada, " \n\t ") == []
    assert embeddings.asked == []


@pytest.mark.parametrize(
    ("choice", "base", "starts"),
    [
        ("openai", "", False),
        ("openai", "https://api.openai.com/v1", False),
        ("gemini", "", False),
        ("openai", "http://127.0.0.1:11434/v1", True),
        ("auto", "", True),
    ],
)
def test_a_provider_without_the_key_that_it_needs_stops_the_start(monkeypatch, tmp_path, choice, base, starts):
    monkeypatch.setenv("ONECLAW_EMBEDDINGS", choice)
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))
    for key in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(key, "")
    spec = importlib.util.find_spec("oneclaw.settings")
    if starts:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    else:
        with pytest.raises(ImproperlyConfigured, match=f"ONECLAW_EMBEDDINGS is {choice}"):
            spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_a_failed_question_is_forgotten_once_the_server_answers_again(ada, write, search, embeddings):
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.script = [500]
    search(ada, "kayak")
    assert "words only" in vectors.notice()
    vectors.embed_pending()
    assert "words only" in vectors.notice(), "it is left alone for a while"
    embedder()._cooldown_until = 0.0
    vectors.embed_pending()
    assert vectors.notice() == ""


def test_an_answer_that_drips_is_given_up_in_time(ada, write, search, embeddings, settings):
    settings.EMBEDDING_TIMEOUT = 0.3
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.script = ["drip"]
    started = time.monotonic()
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert time.monotonic() - started < 2
    assert "does not end" in vectors.notice()


def test_a_server_whose_name_has_a_link_local_address_is_sent_nothing(
    ada, write, search, embeddings, settings, monkeypatch
):
    resolver = Resolver()
    resolver.names["metadata.example.org"] = [["169.254.169.254"]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    settings.OPENAI_BASE_URL = "http://metadata.example.org/v1"
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert "ONECLAW_OUTGOING_NETWORKS" in vectors.notice()
    assert embeddings.asked == []


def test_the_memory_page_and_the_admin_say_that_search_goes_by_words_alone(
    ada, stranger, admin_person, write, client, embeddings
):
    write(ada, "MEMORY.md", NOTES)
    embeddings.script = [401]
    vectors.embed_pending()
    for person, address in ((ada, "/memory/"), (ada, "/memory/search?q=kayak"), (admin_person, ADMIN)):
        client.force_login(person)
        assert "Search currently uses words only" in client.get(address).content.decode()


def test_the_memory_page_says_that_the_model_has_changed_to_those_whose_memory_waits(
    ada, stranger, write, client, embeddings, settings
):
    settings.EMBEDDINGS = "local"
    write(ada, "MEMORY.md", NOTES)
    client.force_login(ada)
    assert "flash--warning" not in client.get("/memory/").content.decode()
    settings.EMBEDDINGS = "openai"
    assert "The embedding model has changed: 1 document waits" in client.get("/memory/").content.decode()
    client.force_login(stranger)
    assert "flash--warning" not in client.get("/memory/").content.decode()


@pytest.mark.parametrize("vector", [[], [1e39] * 8, [10**400] * 8, [[0.1] * 8] * 2, ["a"] * 8, None])
def test_vectors_that_are_none_leave_the_words(ada, write, search, embeddings, vector):
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    embeddings.vector = lambda text: vector
    assert "kayak" in search(ada, "kayak")[0].snippet
    assert "no vectors" in vectors.notice()


def test_a_text_that_a_server_refuses_keeps_nothing_else_waiting(ada, write, search, embeddings):
    write(ada, "old.md", "- An old kayak.\n")
    write(ada, "new.md", "- A new boat.\n- The bomb.\n- A car.\n")
    embeddings.refused = "bomb"
    assert vectors.embed_pending() == 2
    assert vectors.notice() == ""
    assert TextVector.objects.count() == 4
    assert vectors.embed_pending() == 0, "and is not asked again"
    assert "bomb" in search(ada, "bomb")[0].snippet
    assert vectors.notice() == "", "nor does a question that it refuses put it to rest"


def test_of_a_text_that_is_too_long_for_a_server_the_beginning_is_embedded(embeddings):
    embeddings.longest = 100
    rows = embedder().embed(["eeee" * 100, "a"], NOBODY)
    assert rows[0] == pytest.approx(embedder().embed(["eeee" * 25], NOBODY)[0])


def test_a_text_that_breaks_a_server_keeps_nothing_else_waiting(ada, write, embeddings):
    write(ada, "old.md", "- An old kayak.\n")
    write(ada, "new.md", "".join(f"- Boat {n}.\n" for n in range(100)) + f"- The bomb{' is long' * 30}.\n")
    embeddings.refused, embeddings.refusal = "bomb", 500
    assert vectors.embed_pending() == 2
    assert vectors.notice() == ""
    assert TextVector.objects.count() == 102
    assert len(embeddings.asked) < 50
    asked = len(embeddings.asked)
    assert vectors.embed_pending() == 0
    assert len(embeddings.asked) == asked, "and is not asked again"


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_breaks_over_everything_is_left_alone(ada, write, embeddings, status):
    embeddings.longest, embeddings.refusal = 0, status
    write(ada, "old.md", NOTES)
    write(ada, "new.md", NOTES.replace("red", "green"))
    assert vectors.embed_pending() == 0
    assert str(status) in vectors.notice()
    asked = len(embeddings.asked)
    assert asked == (4 if status == 500 else 3)
    assert vectors.embed_pending() == 0
    assert len(embeddings.asked) == asked


def test_a_server_that_refuses_everything_is_left_alone(ada, write, embeddings):
    embeddings.longest = 0
    write(ada, "old.md", NOTES)
    write(ada, "new.md", NOTES.replace("red", "green"))
    assert vectors.embed_pending() == 0
    assert "400" in vectors.notice()
    asked = len(embeddings.asked)
    assert asked < 10
    assert vectors.embed_pending() == 0
    assert len(embeddings.asked) == asked


def test_a_server_that_says_to_wait_an_hour_is_not_waited_for(embeddings, monkeypatch):
    monkeypatch.setattr(remote, "RETRY_DELAY_MAX_SECONDS", 0.05)
    embeddings.script, embeddings.retry_after = [429], "3600"
    started = time.monotonic()
    assert len(embedder().embed(["a"], NOBODY)) == 1
    assert time.monotonic() - started < 5


def test_a_key_that_a_server_repeats_is_not_told(embeddings, settings, caplog):
    settings.OPENAI_API_KEY = "sk-very-secret"
    embeddings.script = [401]
    with pytest.raises(EmbeddingError, match="401: No such key: Bearer …") as failure:
        embedder().embed_question("a", NOBODY)
    assert "secret" not in str(failure.value) + caplog.text + repr(embedder())
    assert "embedding.refused (status 401)" in caplog.text
    assert "No such key" not in caplog.text, "what a server says may repeat the text"


def test_a_password_in_an_address_is_in_no_name(ada, write, embeddings, settings, caplog):
    settings.OPENAI_BASE_URL = embeddings.url.replace("//", "//ada:hush@")
    write(ada, "MEMORY.md", NOTES)
    assert vectors.embed_pending() == 1
    embeddings.script = [401]
    with pytest.raises(EmbeddingError):
        embedder().embed(["a"], NOBODY)
    assert "is left alone" in caplog.text
    told = [str(vectors.state(MemoryDocument.objects.all())), *EmbeddingModel.objects.values_list("name", flat=True)]
    assert "hush" not in " ".join([*told, caplog.text, repr(embedder())])


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GEMINI_API_KEY"])
def test_a_key_with_a_character_that_no_key_has_stops_the_start(monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, "sk-…abc")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))
    spec = importlib.util.find_spec("oneclaw.settings")
    with pytest.raises(ImproperlyConfigured, match=f"{name} holds a character"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_of_a_long_question_the_beginning_is_asked(ada, write, search, embeddings):
    write(ada, "MEMORY.md", NOTES)
    vectors.embed_pending()
    assert search(ada, "kayak " * 200_000, min_score=0)
    assert len(embeddings.asked[-1][0]) <= 10_000


def test_the_tokens_that_a_server_has_read_are_spent_for_the_owner_of_the_memory(ada, write, search, embeddings):
    write(ada, "MEMORY.md", "- Miso likes tuna.")
    vectors.embed_pending()
    search(ada, "tuna")
    tokens = [sum(len(text) // 4 + 1 for text in texts) for texts in embeddings.asked]
    spent = Spend.objects.filter(purpose=Spend.Purpose.EMBEDDING, user=ada, space=Space.objects.own_of(ada))
    assert sorted(spent.values_list("input_tokens", flat=True)) == sorted(tokens)
    assert set(spent.values_list("model", flat=True)) == {"text-embedding-3-small"}
