"""What is forgotten leaves the summaries that replace messages, and no worker brings it back into one."""

import datetime as dt
import uuid

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from chat.compaction import make, planning
from chat.context.rounds import rounds_of_last_request
from chat.models import ChatSession, ContextRound
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.models import Forgetting
from memory.views.forgetting import receipt_content
from oneclaw import invariants
from oneclaw.jobs import ClaimLostError
from tests.conversations import send, settle

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
    assert done.counts["rounds"] == receipt_content(done, space.owner)["what_went"]["rounds"] == 1
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


def test_what_is_sent_in_place_of_the_messages_is_worded_anew(talk, summarised, forget):
    supplement = {"wishes": [f"Always say: {WORDS}"], "identifiers": ["AB-123"]}
    block = {"type": "compaction", "content": f"Facts:\n{LINE}", "signature": "s", "encrypted_content": "e"}
    made = summarised(talk, 2, f"Facts:\n{LINE}", supplement=supplement, maker="api", block=block, text=WORDS)
    talk.messages.filter(seq=3).update(meta={"sent": {"notes": [f"Kept:\n{LINE}"]}})
    forget()
    made.refresh_from_db()
    assert "Facts:\n[forgotten]" in made.text
    assert "- [forgotten]\n" in made.text
    assert "- AB-123" in made.text
    assert talk.messages.get(seq=3).meta == {"sent": {"notes": ["Kept:\n[forgotten]"]}}
    assert not is_held()


def test_a_text_that_was_sent_keeps_its_other_bytes(talk, summarised, forget):
    made = summarised(talk, 2, LINE, text=f"Instead of them:\n<summary>\n{LINE}\n</summary>\nSo.")
    forget()
    made.refresh_from_db()
    assert made.text == "Instead of them:\n<summary>\n[forgotten]\n</summary>\nSo."


def test_a_turn_that_is_running_keeps_its_rounds(ada, summarised, forget):
    """Without them, what is sent might not fit into the model's window."""
    said = send(ada, "Where does she live?")
    settle(said)
    session = said.turn.session
    summarised(session, 2, WORDS, text=WORDS)
    running = send(ada, "And who else?", session.pk)
    forget()
    session.refresh_from_db()
    assert (session.used_rounds, session.thinking_after_seq) == ([1], 4)
    assert rounds_of_last_request(session).compact.text == "[forgotten]"
    settle(running)


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
        made.renew(steps=[WORDS])
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


def test_a_later_summary_does_not_have_what_the_person_said(talk, say, forget):
    say(talk, f"Note this.\n{WORDS}")
    say(talk, "Noted.", role="assistant")
    say(talk, "And now?")
    forget()
    asked = planning.ask(ChatSession.objects.get(pk=talk.pk))
    make.extract_now(asked.pk)
    asked.refresh_from_db()
    assert "Note this." in asked.text
    assert MARKER not in asked.text + asked.summary + str(asked.supplement)
