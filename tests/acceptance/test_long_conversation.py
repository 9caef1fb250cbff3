"""A conversation of ten times its window: nothing is refused, lost or doubled, and nobody waits for a summary."""

import random
import re
import uuid
from itertools import pairwise

import pytest
from django.utils import timezone

from chat import extensions
from chat.attachments import store
from chat.compaction import make, room
from chat.context.rounds import rounds_of_last_request
from chat.context.tokens import input_tokens
from chat.context.view import META_KEY
from chat.extensions import Extension, Tool, ToolResult
from chat.models import ChatSession, ContextRound, Message
from memory.index import conversations
from memory.models import Flush, TranscriptIndex
from memory.notes import flush
from oneclaw import invariants
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts
from oneclaw.threads import in_database
from tests import files
from tests.scripted import answer, text, tool_use
from tests.summaries import is_summary, summary
from tests.talk import MODEL, Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak, pytest.mark.timeout(300)]

WINDOW_TOKENS = 15_000
WINDOWS_COUNT = 10
# Rounds that begin by themselves lie at least so many turns apart, unless those are this large. In windows of the usual
# size there are six and more; in this one, a third of what fits is added while a summary that was made early waits.
ROUNDS_MIN_TURNS = 4
TURN_MAX_TOKENS = WINDOW_TOKENS // 12
WORDS = "Tell me more about the ferries between the islands, and which of them leave in the evening. "
LOOK = "Look."


@pytest.fixture
def waits(monkeypatch):
    """The turns that waited for a summary, added to by the product's own wait."""
    waited = []
    finish_soon = room.finish_soon

    async def counted(round_id):
        waited.append(round_id)
        await finish_soon(round_id)

    monkeypatch.setattr(room, "finish_soon", counted)
    return waited


@pytest.fixture
def talk(ada, scripted, settings):
    settings.MODEL, settings.CONTEXT, settings.TITLES = MODEL, WINDOW_TOKENS, False
    ModelFacts.objects.create(server=server_hash(), model=MODEL, compacts=True, seen_at=timezone.now())
    scripted.default = reply
    chance = random.Random(13)
    sizes = [chance.choice([10, 600, 3_000, 200_000]) for _ in range(200)]
    look = Tool("look", "Looks.", {"type": "object"}, lambda call: ToolResult("Seen. " * (sizes.pop() // 6), "Seen."))
    extension = extensions.register(Extension("look", tools=[look]))
    yield Talk(ada, scripted)
    extensions.unregister(extension)


def reply(body):
    """Summarise where that is asked for, and look where the person says so."""
    if is_summary(body):
        return answer(text(summary("They talked.")))
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and last[-1].get("text", "").endswith(LOOK):
        return answer(tool_use("look", {}, id=f"toolu_{uuid.uuid4().hex}"))
    return answer("Fine.")


def work():
    """Do what the workers do between two turns."""
    for _ in range(3):
        for pk in Flush.objects.due_ids():
            flush.run(pk)
        for pk in TranscriptIndex.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True):
            conversations.run(pk)
        ContextRound.objects.queued().update(due_at=timezone.now())
        for pk in ContextRound.objects.due_ids():
            make.run(pk)


def check_request(talk):
    """Check that the last request has each shown message after the summary once and in order, with whole pairs."""
    session = ChatSession.objects.get(pk=talk.session_id)
    through = rounds_of_last_request(session).through_seq
    shown = list(session.messages.shown().filter(role="user").values_list("seq", "text"))
    assert [seq for seq, _ in shown] == sorted(seq for seq, _ in shown)
    kept = [number(words) for seq, words in shown if seq > through]
    blocks = [block for each in talk.sent["messages"] for block in each["content"]]
    sent = [number(block["text"]) for block in blocks if block["type"] == "text" and number(block["text"])]
    assert sent == kept
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(set(calls)) == len(calls)


def number(words):
    found = re.match(r"Turn(\d+)\. ", words)
    return found[1] if found else ""


def tokens_told(talk):
    """Return about how many tokens the words and results of all turns have together."""
    return sum(
        min(len(str(each.content)), 3_300 if each.role == "tool" else 1_000_000) / 3.1 for each in talk.messages()
    )


async def test_a_conversation_of_ten_windows(talk, waits):
    chance = random.Random(7)
    told, turns, said = 0, 0, []
    while told < WINDOWS_COUNT * WINDOW_TOKENS:
        attached = []
        if chance.random() < 0.05:
            name, data = chance.choice([("a.png", files.image((300, 200))), ("a.txt", b"Text. " * 200)])
            attached = [(await in_database(store.store_file, talk.user, name, data)).pk]
        words = f"Turn{turns}. {WORDS * chance.randrange(1, 18)}{LOOK if chance.random() < 0.3 else ''}"
        said.append(words)
        await talk.say(words, files=attached)
        await in_database(check_request, talk)
        await in_database(work)
        told = await in_database(tokens_told, talk)
        turns += 1
    session = await in_database(lambda: talk.session)
    stored = await in_database(lambda: list(talk.messages().filter(role="user").values_list("text", flat=True)))
    assert stored == said
    rounds = await in_database(lambda: list(session.context_rounds.filter(kind="compact").order_by("number")))
    used = [each for each in rounds if each.used_at]
    assert len(used) >= WINDOWS_COUNT
    assert {each.status for each in rounds} == {"done"}
    assert {each.maker for each in used} == {"api"}
    await in_database(check_distances, session, used)
    assert len(waits) <= turns / 100
    print(f"{turns} turns, {len(used)} summaries, {len(waits)} waits")
    await in_database(check_flushed_once, session, used, waits)
    found = await in_database(lambda: list(invariants.check()))
    assert found == []


def check_distances(session, used):
    """Check that two rounds that began by themselves have enough turns between them, unless those are large."""
    starts = list(session.messages.shown().filter(role="user").values_list("seq", flat=True))
    distances = []
    for first, second in pairwise(used):
        between = [seq for seq in starts if first.used_after_seq < seq <= second.used_after_seq]
        covered = session.messages.shown().filter(seq__gt=first.used_after_seq, seq__lte=second.used_after_seq)
        requests = [input_tokens(each.usage) for each in covered if each.usage]
        size = (requests[-1] - requests[0]) / max(1, len(between) - 1)
        distances.append(len(between))
        assert len(between) >= ROUNDS_MIN_TURNS or size > TURN_MAX_TOKENS, (len(between), size)
    print("turns between two rounds:", sorted(distances))


def check_flushed_once(session, used, waits):
    """Check that everything a summary replaced was noted before, and no message twice."""
    flushes = Flush.objects.filter(session=session).order_by("after_seq")
    ranges = list(flushes.values_list("after_seq", "through_seq"))
    assert all(first[1] <= second[0] for first, second in pairwise(ranges))
    assert ranges[0][0] == 0
    assert ranges[-1][1] >= used[-1].through.seq
    assert all("flush_owed" not in each.checks or each.pk in waits for each in used)
    assert Message.objects.filter(session=session, **{f"meta__{META_KEY}__has_key": "rounds"}).exists()
