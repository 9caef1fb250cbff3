"""/new and /reset keep the last messages of the conversation that they end in a file of its own."""

import pytest

from chat.conversations import lifecycle
from memory import tasks
from memory.files import disk
from memory.files.folders import folder_of
from memory.models import DocumentJob, MemoryDocument
from memory.notes import last_messages
from oneclaw import files
from tests.scripted import answer, error
from tests.spending import paid_for


@pytest.fixture
def end(session, monkeypatch, django_capture_on_commit_callbacks):
    """end("new"): end the session, and do what is due then, as a worker would."""
    monkeypatch.setattr(tasks.flush_session, "apply_async", lambda args, **options: None)
    monkeypatch.setattr(tasks.run_document_job, "apply_async", lambda args, **options: None)

    def end(reason):
        with django_capture_on_commit_callbacks(execute=True):
            lifecycle.end(session, reason)
        for job_id in DocumentJob.objects.due_ids():
            tasks.run_document_job(job_id)

    return end


def paths(space):
    return sorted(space.documents.filter(deleted_at=None).values_list("path", flat=True))


@pytest.mark.parametrize("reason", ["new", "reset"])
def test_the_last_messages_go_into_a_file_named_after_the_day_and_what_they_were_about(
    session, say, ada, space, scripted, end, reason
):
    scripted.script(answer("Moving to Bern"))
    say(session, "I move to Bern.")
    say(session, "Noted.", at="2026-11-21T14:40+00:00", role="assistant")
    end(reason)
    assert paths(space) == [f"memory/{ada.day():%Y-%m-%d}-moving-to-bern.md"]
    text = MemoryDocument.objects.get().content
    assert text.startswith("# Tea\n\n*Ended on ")
    assert text.endswith("The last messages:*\n\n15:32 Person: I move to Bern.\n\n15:40 Assistant: Noted.\n")
    assert paid_for("last_messages") == [(ada.pk, space.pk, session.pk, True)]


def test_its_name_is_read_in_the_prescribed_form(session, say, ada, space, official, end):
    official.script(answer('{"words": "Moving to Bern"}'))
    say(session, "I move to Bern.")
    end("new")
    assert paths(space) == [f"memory/{ada.day():%Y-%m-%d}-moving-to-bern.md"]
    assert official.messages[0].body["output_config"]["format"]["schema"] == last_messages.SCHEMA


@pytest.mark.parametrize("reason", ["end", "archive"])
def test_other_ways_to_end_it_keep_no_such_file(session, say, end, reason, scripted):
    say(session, "I move to Bern.")
    end(reason)
    assert not DocumentJob.objects.exists()


def test_fifteen_messages_are_kept_and_no_tools_or_hidden_branches(session, say, scripted, end):
    for number in range(20):
        say(session, f"message {number}.")
    say(session, "tool words", role="tool")
    say(session, "edited away", active=False)
    end("new")
    text = MemoryDocument.objects.get().content
    assert text.count("Person: ") == 15
    assert "message 5." in text
    assert "message 4." not in text
    assert "tool words" not in text
    assert "edited away" not in text


def test_the_setting_says_how_many(session, say, scripted, end, settings):
    settings.LAST_MESSAGES = 0
    say(session, "one")
    end("new")
    assert not DocumentJob.objects.exists()
    settings.LAST_MESSAGES = 1
    say(session, "two")
    end("new")
    assert MemoryDocument.objects.get().content.count("Person: ") == 1


def test_with_the_model_down_it_is_named_after_the_time(session, say, ada, space, scripted, end, caplog):
    scripted.default = lambda body: error(401, "authentication_error", "no")
    say(session, "one")
    end("new")
    ended = ada.local(DocumentJob.objects.get().created_at)
    assert paths(space) == [f"memory/{ended:%Y-%m-%d-%H%M}.md"]
    assert "named after the time" in caplog.text


def test_no_existing_document_or_file_is_written_over(session, say, ada, space, scripted, end, append):
    scripted.default = lambda body: answer("tea")
    beginning = f"memory/{ada.day():%Y-%m-%d}-tea"
    append(space, "mine", path=f"{beginning}.md")
    files.write(folder_of(space), f"{beginning}-2.md", b"not imported yet")
    say(session, "one")
    end("new")
    assert paths(space) == [f"{beginning}-3.md", f"{beginning}.md"]
    assert disk.read(folder_of(space), f"{beginning}-2.md") == "not imported yet"


def test_the_same_end_told_twice_makes_one_file(session, say, space, scripted, end):
    scripted.default = lambda body: answer("tea")
    say(session, "one")
    end("new")
    end("new")
    assert len(paths(space)) == 1


def test_a_slug_is_made_of_plain_words_whatever_the_model_says(session, say, ada, space, scripted, end):
    scripted.script(answer("../../Etc/Passwd: «the whole  thing» and much more than that\nSecond line"))
    say(session, "one")
    end("new")
    assert paths(space) == [f"memory/{ada.day():%Y-%m-%d}-etcpasswd-the-whole-thing-and-much.md"]


def test_secrets_are_masked(session, say, scripted, end):
    say(session, "The password is hunter2!")
    end("new")
    assert "hunter2" not in MemoryDocument.objects.get().content


@pytest.mark.parametrize("mode", ["chat", "temporary"])
def test_a_session_that_writes_no_memory_keeps_no_file(session, say, mode, end):
    session.mode = mode
    session.save()
    say(session, "one")
    end("new")
    assert not DocumentJob.objects.exists()
