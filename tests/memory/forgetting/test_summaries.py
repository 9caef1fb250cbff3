"""What is forgotten leaves the summaries that stand for messages, and no worker brings it back into one."""

import datetime as dt
import uuid

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from chat.models import ChatSession, ContextRound
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.models import Forgetting
from memory.views.forgetting import receipt_content
from oneclaw import invariants
from oneclaw.jobs import ClaimLostError

MARKER = "Zorabella"
LINE = f"- My sister {MARKER} lives in Lisbon."
WORDS = LINE.removeprefix("- ")


@pytest.fixture
def forget(space, ada, django_capture_on_commit_callbacks):
    def forget(*lines):
        with django_capture_on_commit_callbacks(execute=True):
            return forgetting.forget(space, lines or [LINE], ada)

    return forget


@pytest.fixture
def talk(session, say):
    say(session, "Where does she live?")
    say(session, "I see.", role="assistant", content=[
        {"type": "thinking", "thinking": "", "signature": "signed"}, {"type": "text", "text": "I see."},
    ])  # fmt: skip
    say(session, "And who else?")
    return session


def is_held(marker=MARKER):
    """Whether a row of the chat has the word."""
    with connection.cursor() as cursor:
        for model in apps.get_app_config("chat").get_models():
            cursor.execute(f"SELECT row_to_json(row)::text FROM {model._meta.db_table} row")
            if any(marker in text for (text,) in cursor.fetchall()):
                return True
    return False


def test_it_leaves_every_text_of_a_round(talk, summarised, forget, space):
    made = summarised(
        talk, 2, f"## Facts\n{LINE}\n- Tea.",
        supplement={"said": [f"Ada: {WORDS}", "Hello"], "open": {"question": WORDS}},
        steps=[f"- First.\n{LINE}"], focus=f"Keep this:\n{WORDS}", error=f"refused: {WORDS}",
    )  # fmt: skip
    assert forget_plans.plan(space, [LINE]).counts["rounds"] == 1
    assert is_held()
    done = forget()
    assert not is_held()
    made.refresh_from_db()
    assert made.summary == "## Facts\n[forgotten]\n- Tea."
    assert made.supplement == {"said": ["[forgotten]", "Hello"], "open": {"question": "[forgotten]"}}
    assert (made.steps, made.focus) == (["- First.\n[forgotten]"], "Keep this:\n[forgotten]")
    assert done.counts["rounds"] == receipt_content(done)["what_went"]["rounds"] == 1
    assert list(invariants.broken_jobs()) == []


def test_the_conversation_is_sent_anew_without_anything_encrypted(talk, summarised, forget):
    block = {"type": "compaction", "content": f"Facts: {WORDS}", "signature": "s", "encrypted_content": "e"}
    made = summarised(talk, 2, f"Facts: {WORDS}", maker="api", block=block)
    forget()
    made.refresh_from_db()
    talk.refresh_from_db()
    assert (made.block, made.summary) == (None, "[forgotten]")
    assert (talk.used_rounds, talk.thinking_after_seq, talk.summarised_seq()) == ([], 3, 0)
    assert talk.messages.get(seq=2).content[0] == {"type": "thinking", "thinking": ""}


@pytest.mark.parametrize("content", [f"Facts:\n{LINE}", None], ids=["readable", "encrypted only"])
def test_the_readable_text_of_a_block_becomes_the_summary_or_the_messages_come_back(talk, summarised, forget, content):
    recalled = {"kind": "recalled", "path": "MEMORY.md", "revision": 1, "lines": [1, 1], "text": LINE}
    talk.messages.filter(seq=1).update(meta={"context": {"memory": [recalled]}})
    block = {"type": "compaction", "content": content, "signature": "s", "encrypted_content": "e"}
    made = summarised(talk, 2, "", maker="api", block=block)
    forget()
    made.refresh_from_db()
    assert made.block is None
    assert made.summary == ("Facts:\n[forgotten]" if content else "")
    assert (made.undone_at is None) == bool(content)


def test_a_block_that_was_made_from_the_line_goes_even_if_its_text_does_not_have_it(talk, summarised, forget):
    recalled = {"kind": "recalled", "path": "MEMORY.md", "revision": 1, "lines": [1, 1], "text": LINE}
    talk.messages.filter(seq=1).update(meta={"context": {"memory": [recalled]}})
    block = {"type": "compaction", "content": "Tea.", "signature": "s", "encrypted_content": "e"}
    made = summarised(talk, 2, "Tea.", maker="api", block=block)
    forget()
    made.refresh_from_db()
    talk.refresh_from_db()
    assert (made.block, made.summary, talk.used_rounds) == (None, "Tea.", [])


def test_other_conversations_keep_their_summaries_and_blocks(talk, summarised, forget, ada, stranger, say):
    block = {"type": "compaction", "content": "Tea.", "signature": "s"}
    other = ChatSession.objects.create(key="other", owner=ada, agent=talk.agent)
    theirs = ChatSession.objects.create(key="theirs", owner=stranger, agent=talk.agent)
    for session, text in ((other, "Tea."), (theirs, WORDS)):
        say(session, "Hello")
        summarised(session, 1, text, block=block)
    summarised(talk, 2, WORDS)
    forget()
    assert [(row.summary, row.block) for row in ContextRound.objects.exclude(session=talk).order_by("pk")] == [
        ("Tea.", block), (WORDS, block),
    ]  # fmt: skip
    other.refresh_from_db()
    assert other.used_rounds == [1]


def test_a_cut_line_and_words_over_two_lines_leave_it_as_well(talk, summarised, forget):
    long = f"- My sister {MARKER} lives in Lisbon and " + "in Porto, " * 20 + "and that is all."
    made = summarised(talk, 2, f"## Said\n- {long[2:150]}…\n- Tea.\nMy sister {MARKER}\nlives in Lisbon. Yes.")
    forget(long, LINE)
    made.refresh_from_db()
    assert made.summary == "## Said\n[forgotten]\n- Tea.\n[forgotten]. Yes."


def test_a_worker_that_read_the_line_stores_nothing_of_it(talk, summarised, forget):
    """The round is open: its worker has made one of its parts."""
    lease = {"token": uuid.uuid4(), "lease_until": timezone.now() + dt.timedelta(minutes=5), "attempts": 1}
    made = summarised(talk, 2, "", used=False, status="running", used_at=None, steps=[f"One\n{LINE}"], **lease)
    forget()
    with pytest.raises(ClaimLostError):
        made.finish(summary=WORDS)
    with pytest.raises(ClaimLostError):
        made.heartbeat(steps=[WORDS])
    made.refresh_from_db()
    assert (made.status, made.steps, made.attempts, made.token) == ("queued", [], 0, None)
    assert not is_held()
    assert ContextRound.objects.claim(made.pk) is not None
    assert list(invariants.broken_jobs()) == []


def test_a_summary_that_was_begun_before_and_stored_after_it_is_cleaned(talk, summarised, forget):
    """Nothing of the conversation held the line when it was forgotten, but the worker had read it."""
    lease = {"token": uuid.uuid4(), "lease_until": timezone.now() + dt.timedelta(minutes=5), "attempts": 1}
    made = summarised(talk, 2, "", used=False, status="running", used_at=None, **lease)
    done = forget()
    assert not forgetting.finish(done.pk)
    made.finish(summary=f"Facts\n{LINE}", block={"type": "compaction", "content": "Tea.", "encrypted_content": "e"})
    assert forgetting.finish(done.pk)
    made.refresh_from_db()
    assert (made.summary, made.block) == ("Facts\n[forgotten]", None)
    assert Forgetting.objects.get().finished_at is not None


def test_a_record_of_a_forgetting_from_before_summaries_is_shown(ada, client, forget, talk, summarised):
    summarised(talk, 2, WORDS)
    done = forget()
    client.force_login(ada)
    assert "1 summary of older messages" in client.get(f"/memory/forget/{done.pk}").content.decode()
    Forgetting.objects.update(counts={name: n for name, n in done.counts.items() if name != "rounds"})
    assert "0 summaries of older messages" in client.get(f"/memory/forget/{done.pk}").content.decode()
