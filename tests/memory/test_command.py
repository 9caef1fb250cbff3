"""`manage.py memory …`"""

import datetime as dt
import io
import json
import time

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.models import ChatSession, default_agent
from memory import tasks
from memory.index import conversations
from memory.index.documents import index_document
from memory.models import Flush, MemoryDocument
from memory.policy import switches
from oneclaw.spaces import lifecycle
from tests.scripted import answer, error


@pytest.fixture
def memory(capsys):
    """memory(*arguments): what the command wrote on standard output."""

    def memory(*arguments):
        output = io.StringIO()
        call_command("memory", *map(str, arguments), stdout=output, stderr=io.StringIO())
        return output.getvalue()

    return memory


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in/memory").mkdir(parents=True)
    (tmp_path / "in/MEMORY.md").write_text("- Ada drinks jasmine tea.\n")
    (tmp_path / "in/memory/2026-11-20.md").write_text("# Friday, 20 November 2026\n\nAda moved to Bern.\n")
    return tmp_path / "in"


def test_what_is_imported_is_indexed_found_and_exported(memory, folder, ada, tmp_path):
    told = json.loads(memory("import", folder, "--user", "Ada@example.org", "--wait", "--json"))
    assert told["written"] == ["MEMORY.md", "memory/2026-11-20.md"]
    assert not MemoryDocument.objects.to_index().exists()
    results = json.loads(memory("search", "jasmine tea", "--user", ada.email, "--json"))
    assert results[0]["path"] == "MEMORY.md"
    assert (results[0]["start_line"], results[0]["snippet"]) == (1, "- Ada drinks jasmine tea.")
    assert set(results[0]) == {"path", "start_line", "end_line", "score", "vector_score", "text_score", "snippet"}
    memory("export", tmp_path / "out", "--user", ada.email)
    assert (tmp_path / "out/MEMORY.md").read_bytes() == (folder / "MEMORY.md").read_bytes()


def test_a_shared_space_has_a_memory_of_its_own_in_the_shell(memory, folder, ada, stranger, tmp_path):
    team = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    told = json.loads(memory("import", folder, "--space", "engine room", "--wait", "--json"))
    assert told["written"] == ["MEMORY.md", "memory/2026-11-20.md"]
    assert not MemoryDocument.objects.exclude(space=team).exists()
    assert "jasmine tea" in memory("search", "jasmine tea", "--space", team.pk)
    assert "Nothing was found." in memory("search", "jasmine tea", "--user", ada.email)
    assert json.loads(memory("status", "--space", "Engine room", "--json"))["documents"] == 2
    assert "2 documents are indexed." in memory("index", "--space", "Engine room")
    assert "0 of 0" in memory("lab", "--space", "Engine room")
    memory("export", tmp_path / "out", "--space", "Engine room")
    assert (tmp_path / "out/MEMORY.md").exists()
    for refused in (["--space", "Engine room", "--user", stranger.email], ["--space", "Bridge"]):
        with pytest.raises(CommandError, match=r"^There is no space"):
            memory("export", tmp_path / "other", *refused)
    with pytest.raises(CommandError, match=r"^Say whose memory"):
        memory("search", "tea")


def test_questions_from_a_file_are_answered_line_by_line(memory, folder, ada, tmp_path):
    memory("import", folder, "--user", ada.email, "--wait")
    questions = [
        {"id": "a", "query": "jasmine tea", "asked_at": "2026-11-21"},
        {"id": 2, "query": "Who moved to Bern?", "asked_at": "2026-11-21T10:00:00+00:00"},
        {"id": "none", "query": " "},
    ]
    (tmp_path / "q").write_text("\n".join(map(json.dumps, questions)) + "\n\n")
    lines = memory("search", "--queries", tmp_path / "q", "--user", ada.email, "--max-results", 1).splitlines()
    answers = [json.loads(line) for line in lines]
    assert [one["id"] for one in answers] == ["a", 2, "none"]
    assert [len(one["results"]) for one in answers] == [1, 1, 0]
    assert answers[1]["results"][0]["path"] == "memory/2026-11-20.md"


def test_a_bad_line_of_questions_is_told_by_its_number(memory, ada, tmp_path):
    (tmp_path / "q").write_text('{"id": 1, "query": "x"}\n{"id": 2}\n')
    with pytest.raises(CommandError, match=r"Line 2 of .* is not a query"):
        memory("search", "--queries", tmp_path / "q", "--user", ada.email)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        memory("search", "--queries", tmp_path / "nowhere", "--user", ada.email)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--user", "nobody@example.org"],
        ["search", "x", "--user", "nobody@example.org"],
        ["import", "/tmp", "--user", "nobody@example.org"],
        ["export", "/tmp", "--user", "nobody@example.org"],
        ["flush", "--user", "nobody@example.org"],
        ["index", "--user", "nobody@example.org"],
    ],
)
def test_an_unknown_person_is_one_sentence(memory, db, arguments):
    with pytest.raises(CommandError, match=r"^There is no person with the address nobody@example\.org\.$"):
        memory(*arguments)


def test_a_missing_folder_is_one_sentence(memory, ada, tmp_path):
    with pytest.raises(CommandError, match=r"^There is no folder .*/nowhere\.$"):
        memory("import", tmp_path / "nowhere", "--user", ada.email)


def test_a_refused_file_is_a_line_and_a_failure_after_the_rest(memory, folder, ada, space):
    (folder / "latin.md").write_bytes(b"\xe9")
    with pytest.raises(CommandError, match=r"^1 files were not taken"):
        memory("import", folder, "--user", ada.email)
    assert space.documents.count() == 2


def test_status_says_what_is_there_and_what_is_behind(memory, ada, space, stranger, append, session, say):
    append(space, "tea")
    say(session, "first")
    tasks.flush.request(session, "switched")
    Flush.objects.update(error="Overloaded: later")
    told = json.loads(memory("status", "--json"))
    assert (told["user"], told["documents"], told["to_index"], told["to_mirror"]) == (None, 1, 1, 1)
    assert (told["flushes"]["queued"], told["flushes"]["failing"]) == (1, 1)
    assert "Overloaded: later" in memory("status", "--user", ada.email)
    theirs = json.loads(memory("status", "--user", stranger.email, "--json"))
    assert (theirs["user"], theirs["documents"], theirs["flushes"]["queued"]) == (stranger.email, 0, 0)


def test_status_counts_the_conversations_that_the_next_sweep_queues(memory, ada, stranger, session, say):
    say(session, "first")
    ChatSession.objects.update(active_at=timezone.now() - dt.timedelta(days=1))
    assert [
        json.loads(memory("status", *of, "--json"))["flushes"]["idle"]
        for of in ((), ("--user", ada.email), ("--user", stranger.email))
    ] == [1, 1, 0]
    tasks.sweep()
    assert json.loads(memory("status", "--json"))["flushes"]["idle"] == 0


def test_index_brings_the_index_up_to_date(memory, space, append, ada):
    append(space, "tea")
    assert json.loads(memory("index", "--user", ada.email, "--json")) == {"indexed": 1, "waiting": 0, "failed": []}
    assert not MemoryDocument.objects.to_index().exists()
    assert json.loads(memory("index", "--force", "--json"))["indexed"] == 1


def test_flush_notes_a_conversation_and_waits_for_it(memory, session, say, space, scripted):
    scripted.script(answer("- one"), answer("- two"))
    say(session, "first", at="2026-11-20T12:00+00:00")
    say(session, "second")
    told = json.loads(memory("flush", "--session", session.pk, "--wait", "--json"))
    assert [(row["status"], row["day"]) for row in told["flushes"]] == [("done", "2026-11-20"), ("done", "2026-11-21")]
    assert space.documents.count() == 2
    assert json.loads(memory("flush", "--user", session.owner.email, "--wait", "--json")) == {"flushes": []}


def test_flush_without_waiting_tells_a_worker(memory, session, say, monkeypatch):
    told = []
    monkeypatch.setattr(tasks.flush_session, "apply_async", lambda args, **options: told.append(args))
    say(session, "first")
    assert "queued" in memory("flush", "--user", session.owner.email)
    assert told == [(Flush.objects.get().pk,)]


def test_a_flush_that_fails_is_told(memory, session, say, scripted):
    scripted.script(error(401, "authentication_error", "no"))
    say(session, "first")
    with pytest.raises(CommandError, match="1 conversations could not be noted: KeyRefused"):
        memory("flush", "--session", session.pk, "--wait")


def test_flush_needs_a_conversation_that_exists_and_is_the_persons(memory, session, stranger):
    with pytest.raises(CommandError, match="Say which conversations"):
        memory("flush")
    with pytest.raises(CommandError, match="is not the id of a conversation"):
        memory("flush", "--session", "x")
    with pytest.raises(CommandError, match="There is no conversation"):
        memory("flush", "--session", session.pk, "--user", stranger.email)


def test_nothing_of_one_person_is_found_by_another(memory, folder, ada, stranger, tmp_path):
    memory("import", folder, "--user", ada.email, "--wait")
    for least in (0, 0.35):
        found = memory("search", "jasmine tea", "--user", stranger.email, "--min-score", least, "--json")
        assert json.loads(found) == []
    memory("export", tmp_path / "theirs", "--user", stranger.email)
    assert list((tmp_path / "theirs").iterdir()) == []
    other = ChatSession.objects.create(key="s", owner=stranger, agent=default_agent())
    assert other.flushes.count() == 0


@pytest.mark.django_db(transaction=True)
def test_10_documents_of_300_lines_are_taken_in_and_indexed_in_seconds(memory, ada, tmp_path):
    words = ["tea", "coffee", "Bern", "train", "garden", "budget", "school", "piano", "winter", "doctor", "recipe"]
    for day in range(1, 11):
        lines = [f"Ada: {words[(day * line) % 11]} {words[line % 7]} number {day * line}" for line in range(300)]
        (tmp_path / f"2026-10-{day:02}.md").write_text("\n".join(lines) + "\n")
    # Of this process alone, so that a busy machine changes nothing.
    start = time.process_time()
    told = json.loads(memory("import", tmp_path, "--user", ada.email, "--wait", "--json"))
    assert len(told["written"]) == 10
    assert time.process_time() - start < 7


def test_a_question_that_is_no_unicode_is_answered_like_any_other(memory, folder, ada):
    memory("import", folder, "--user", ada.email, "--wait")
    results = json.loads(memory("search", "jasmine tea \udcff", "--user", ada.email, "--json"))
    assert results[0]["path"] == "MEMORY.md"


def test_search_finds_what_was_said_too_unless_it_is_switched_off(memory, ada, session, say):
    say(session, "The ferry to Naxos leaves at seven.")
    assert conversations.run(conversations.request(session))
    (found,) = json.loads(memory("search", "When does the ferry to Naxos leave?", "--user", ada.email, "--json"))
    assert found["path"] == f"/c/{session.pk}"
    assert "leaves at seven" in found["snippet"]
    switches.choose(ada, switches.Switch.TRANSCRIPTS, False)
    assert json.loads(memory("search", "When does the ferry to Naxos leave?", "--user", ada.email, "--json")) == []


@pytest.mark.parametrize("how", ["line", "words"])
def test_a_dry_run_of_forgetting_counts_what_the_run_does_and_a_second_run_has_nothing_to_do(
    memory, ada, space, append, how
):
    line = "- Ada has the account 4711 0815."
    for path in ("MEMORY.md", "memory/2026-11-20.md", "notes.md"):
        index_document(append(space, f"{line}\n- Ada likes tea.\n", path=path).document_id)
    # Not indexed yet: it has no chunks and no vectors.
    append(space, f"{line}\n- One more.\n", path="gone.md")
    asked = ["forget", *([line] if how == "line" else ["--with", "4711 0815"]), "--user", ada.email, "--json"]
    planned = json.loads(memory(*asked, "--dry-run"))
    done = json.loads(memory(*asked))
    assert planned["counts"] == done["counts"]
    assert done["counts"]["lines"] == 4
    assert done["counts"]["vectors"] == 1
    again = json.loads(memory(*asked))
    assert again["receipt"] is None
    assert not any(again["counts"].values())
    assert memory(*asked[:-1]) == "There is nothing to forget.\n"
    assert memory(*asked[:-1], "--dry-run") == "There is nothing to forget.\n"


def test_forgetting_nothing_is_refused(memory, ada):
    with pytest.raises(CommandError, match="Choose at least one line"):
        memory("forget", "--user", ada.email)
