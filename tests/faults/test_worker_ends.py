"""The worker ends while conversations become notes: each is noted once, whenever that was."""

import time
import uuid
from pathlib import Path

import pytest

from tests import files
from tests.faults.site import ADA, Site, something
from tests.scripted import answer
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]
# How long a worker that was killed holds a flush.
LEASE = 5


def test_killed_before_during_and_after_the_model_call_each_conversation_is_noted_once(site: Site):
    words = {moment: f"{moment}-{uuid.uuid4().hex}" for moment in ("before", "during", "after")}
    sessions = {moment: site.ask(f"Something about {word}.") for moment, word in words.items()}
    last = site.ask("Something else.")

    def slow_notes(transcript: str):
        if not any(word in transcript for word in words.values()):
            return something(transcript)
        return answer("- Too late.", first_byte=60 if words["during"] in transcript else 1.5)

    site.upstream.notes = slow_notes
    with site.house.database() as connection:
        with site.frozen("worker"):
            site.open_after_another(*sessions.values(), last)
            until(lambda: len(flushes(site, *sessions.values())) == 3, 20, "three flushes wait")
            connection.execute("BEGIN")
            lock(connection, sessions["before"])
        until(lambda: site.upstream.transcripts(words["during"]), 20, "the model is asked")
        until(lambda: site.upstream.transcripts(words["after"]), 20, "the model is asked")
        lock(connection, sessions["after"])
        # One has not begun, one asks the model, and one has its notes and cannot write them.
        site.until_waiting(2)
        site.strike("worker")
        killed = time.monotonic()
        connection.execute("ROLLBACK")
    site.upstream.notes = lambda transcript: answer(
        "\n".join(f"- Noted: {word}." for word in words.values() if word in transcript)
    )
    site.back("worker")
    time.sleep(max(0.0, killed + LEASE + 0.5 - time.monotonic()))
    site.sweep("memory")
    until(lambda: set(flushes(site, *sessions.values())) == {"done"}, 60, "all three are noted")
    log = site.memory("memory/____-__-__.md")
    for word in words.values():
        assert log.count(f"- Noted: {word}.") == 1
    assert "Too late" not in log


@pytest.mark.parametrize("site", ["embedded"], indirect=True)
def test_killed_in_the_model_call_of_every_other_trigger_each_conversation_is_noted_once(site: Site):
    words = {reason: f"{reason}-{uuid.uuid4().hex}" for reason in ("day_changed", "left", "idle", "ended")}
    sessions = {reason: site.ask(f"Something about {word}.") for reason, word in words.items()}
    site.upstream.notes = lambda transcript: (
        answer("- Too late.", first_byte=60)
        if any(word in transcript for word in words.values())
        else something(transcript)
    )
    with site.frozen("worker"), site.house.database() as connection:
        here = "UPDATE chat_presence SET session_id = %s"
        connection.execute(f"{here}, day = day - 1", [sessions["day_changed"]])
        with site.talk() as talk:
            talk.say("ping")
            talk.hear("pong")
        site.post(f"/c/{sessions['ended']}/end")
        connection.execute(f"{here}, here = true, seen_at = now() - interval '1 hour'", [sessions["left"]])
        old = "UPDATE chat_chatsession SET active_at = now() - interval '1 day' WHERE id = %s"
        connection.execute(old, [sessions["idle"]])
        told = """
from chat.conversations import presence
from memory.tasks import sweep
presence.sweep()
sweep()
"""
        site.commands.run("shell", "-v0", "-c", told)
        query = "SELECT reason FROM memory_flush WHERE session_id = %s"
        assert {reason: site.rows(query, session) for reason, session in sessions.items()} == {
            reason: [(reason,)] for reason in sessions
        }
    # As many as the worker has threads ask the model at once.
    until(lambda: sum(site.upstream.transcripts(word) for word in words.values()) >= 4, 30, "the model is asked")
    site.strike("worker")
    killed = time.monotonic()
    site.upstream.notes = lambda transcript: answer(
        "\n".join(f"- Noted: {word}." for word in words.values() if word in transcript) or "- Else."
    )
    site.back("worker")
    time.sleep(max(0.0, killed + LEASE + 0.5 - time.monotonic()))
    site.sweep("memory")
    until(lambda: set(flushes(site, *sessions.values())) == {"done"}, 60, "all are noted")
    log = site.memory("memory/____-__-__.md")
    assert [log.count(f"- Noted: {word}.") for word in words.values()] == [1] * len(words)
    assert "Too late" not in log


def test_the_same_flush_many_times_at_once_is_one_flush(site: Site):
    word = uuid.uuid4().hex
    site.upstream.notes = lambda transcript: answer(f"- Noted: {word}." if word in transcript else "- Else.", pace=0.2)
    session, other = site.ask(f"Something about {word}."), site.ask("Something else.")
    with site.frozen("worker"):
        site.open_after_another(session, other)
        ((flush,),) = site.rows("SELECT id FROM memory_flush WHERE session_id = %s", session)
        again = f"from memory.tasks import flush_session; [flush_session.delay({flush}) for _ in range(8)]"
        site.commands.run("shell", "-v0", "-c", again)
    until(lambda: flushes(site, session) == ["done"], 40, "it is noted")
    assert site.upstream.transcripts(word) == 1
    assert site.memory("memory/____-__-__.md").count(f"- Noted: {word}.") == 1


def flushes(site: Site, *sessions: str) -> list[str]:
    query = "SELECT status FROM memory_flush WHERE session_id = ANY(%s::uuid[])"
    return [status for (status,) in site.rows(query, list(sessions))]


def lock(connection, session: str) -> None:
    """Hold what a flush of this session needs."""
    connection.execute("SELECT 1 FROM chat_chatsession WHERE id = %s FOR NO KEY UPDATE", [session])


@pytest.mark.parametrize("site", ["embedded"], indirect=True)
def test_killed_while_it_reads_a_file_another_worker_reads_it_once(site: Site, tmp_path: Path):
    plan = tmp_path / f"{uuid.uuid4().hex}.pdf"
    plan.write_bytes(files.pdf(*(f"Page {number} has a sentence. " * 20 for number in range(600))))
    status = "SELECT version.status, pages FROM memory_fileversion version JOIN memory_libraryfile file"
    status += f" ON file.id = file_id WHERE name = '{plan.name}'"
    site.commands.run("library", "add", str(plan), "--user", ADA)
    until(lambda: site.rows(status)[0][0] == "running", 20, "it is being read")
    site.strike("worker")
    assert site.rows(status)[0][0] == "running"
    with site.house.database() as connection:
        connection.execute("UPDATE memory_fileversion SET lease_until = now() WHERE status = 'running'")
    site.back("worker")
    site.sweep("memory")
    until(lambda: site.rows(status) == [("done", 600)], 60, "it is read")
    # The invariants, which the fixture checks, say that its chunks are there once.
