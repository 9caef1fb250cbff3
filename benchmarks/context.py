"""What a conversation of many windows keeps, and what it costs, beside two rules that only leave messages out.

    python benchmarks/context.py [--turns 300] [--window 32000] [--data FOLDER]

Everything runs on the strict server, on loopback. Ours are real turns of the product, with a worker between them. The
two others replay the same messages: "trim" sends the newest turns that fit into the window; "tail and own words" a
quarter of it with the newest turns, and another quarter with the person's older words.

FOLDER holds membench.py and dev.jsonl: conversations with questions and the turns that answer them. They are not part
of this repository. Each becomes one conversation with a window of a tenth of its tokens, whose summaries say nothing,
so that only what is kept word for word and the search can answer.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import json
import random
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.retrieval import CATEGORIES, load
from benchmarks.stage import machine, percentile, prepared

MODEL = "claude-sonnet-5-5"
# Dollars a million tokens.
PRICES = {"fresh": 2.0, "written": 2.5, "read": 0.1, "output": 10.0}
# Pauses of a person: the median in seconds, and the spread at which 15 % are longer than five minutes.
PAUSE_SECONDS, PAUSE_SIGMA = 40.0, 1.944
CACHE_SECONDS = 300
WORDS = "Tell me more about the ferries between the islands, and which of them leave in the evening. "
SAID = "The evening ferry leaves from the old harbour, and the night ferry from the new one. "
LOOK = "Look it up."
NEWEST_IDENTIFIERS = 60
# Of one call that asks for as much as membench counts.
RESULTS_CHARS, RESULTS_MAX_COUNT = 4_000, 60
KINDS = ("trim", "tail and own words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--window", type=int, default=32_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--conversations", nargs="*", help="those of --data to look at; all without it")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        prepared(stack, ONECLAW_MODEL=MODEL, ONECLAW_CONTEXT=str(options.window), ONECLAW_TITLES="no")
        print(machine())
        if options.turns:
            asyncio.run(talked(options.turns, options.window))
        if options.data:
            evidence(options.data, options.conversations)


# -- Many turns ----------------------------------------------------------------------------------


class Counted:
    """The strict server's rules, and a record of the tokens of each request to MODEL."""

    def __init__(self) -> None:
        from tests.strict_api.api import StrictApi

        self.uses: list[dict[str, int]] = []
        self.refused = 0
        benchmark = self

        class CountingApi(StrictApi):
            def answer(self, body: Any, headers: Any, size: int, respond: Any) -> Any:
                reply = super().answer(body, headers, size, respond)
                if reply.status != 200:
                    benchmark.refused += 1
                elif body["model"] == MODEL:
                    usage = {**reply.input_usage, **reply.usage}
                    usage = {**usage, **(usage.get("iterations") or [{}])[0]}
                    benchmark.uses.append(
                        {
                            "fresh": usage.get("input_tokens") or 0,
                            "written": usage.get("cache_creation_input_tokens") or 0,
                            "read": usage.get("cache_read_input_tokens") or 0,
                            "output": usage.get("output_tokens") or 0,
                        }
                    )
                return reply

        self.api = CountingApi()


async def talked(turns: int, window: int) -> None:
    """Print what `turns` turns of one conversation keep and cost, for each of the three."""
    from chat import extensions
    from chat.context import heads
    from chat.extensions import Extension, Tool, ToolResult
    from chat.models import ChatSession
    from oneclaw import llm
    from oneclaw.models import User
    from oneclaw.threads import in_database
    from tests.scripted import ScriptedModel

    llm.load()
    chance = random.Random(13)
    pauses = [chance.lognormvariate(0, PAUSE_SIGMA) * PAUSE_SECONDS for _ in range(turns)]
    sizes = [chance.choice([100, 2_000, 10_000, 200_000]) for _ in range(turns)]
    look = Tool("look", "Looks.", {"type": "object"}, lambda call: ToolResult("Seen. " * (sizes.pop() // 6), "Seen."))
    extensions.register(Extension("look", tools=[look]))
    counted = Counted()
    with ScriptedModel(default=reply, api=counted.api) as model:
        use_server(model.url)
        user = await in_database(User.objects.create_user, "person@example.org")
        ours = Ours(user, model, counted)
        messages = [message(number, chance) for number in range(turns)]
        for words, pause in zip(messages, pauses, strict=True):
            await ours.say(words, pause)
        await in_database(ours.report, turns, pauses)
        session = await in_database(lambda: ChatSession.objects.select_related("head").get(pk=ours.session_id))
        head = session.head or heads.head_of(session)
        conversation = await in_database(said_in, session)
    for kind in KINDS:
        counted = Counted()
        with ScriptedModel(default=reply, api=counted.api) as model:
            use_server(model.url)
            await replay(kind, conversation, head, window, pauses, counted)


def use_server(url: str) -> None:
    from django.conf import settings

    settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = url, "bench"


def message(number: int, chance: random.Random) -> str:
    """Return the words of turn `number`, with an identifier that only it has; every third one looks something up."""
    looks = f" {LOOK}" if chance.random() < 0.3 else ""
    return f"{identifier(number)} {WORDS * chance.randrange(1, 8)}{looks}"


def identifier(number: int) -> str:
    """Return an identifier of one of many kinds, in three languages."""
    return [
        f"The key is {uuid.UUID(int=number * 7919 + 2**100)}.",
        f"Am 3. März {2000 + number} zahlte ich {number}.100,50 €.",
        f"番号はTICKET-{number}です。",
        f"It is in /srv/plans/{number}/ferry.pdf.",
        f"See https://example.org/{number}?x=1.",
        f"Write to ada.{number}@example.org.",
    ][number % 6]


def bare(number: int) -> str:
    """Return the part of identifier(number) that must be kept byte for byte."""
    return [
        str(uuid.UUID(int=number * 7919 + 2**100)),
        f"{number}.100,50 €",
        f"TICKET-{number}",
        f"/srv/plans/{number}/ferry.pdf",
        f"https://example.org/{number}?x=1",
        f"ada.{number}@example.org",
    ][number % 6]


def reply(body: dict[str, Any]) -> Any:
    """Say nothing in summaries, look where the person says so, and talk otherwise."""
    from tests.scripted import answer, text, tool_use

    if is_summary(body):
        from chat.compaction.checks import HEADINGS

        return answer(text("\n\n".join(f"## {heading}\n-" for heading in HEADINGS), size=1_000))
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and (last[-1].get("text") or "").endswith(LOOK):
        return answer(tool_use("look", {}, id=f"toolu_{uuid.uuid4().hex}"))
    return answer(text(SAID * 4, size=1_000))


def is_summary(body: dict[str, Any]) -> bool:
    system = body.get("system") or [{"text": ""}]
    return bool(body.get("compaction")) or system[0]["text"].startswith("You write the summary with which")


class Ours:
    """A conversation with the product."""

    def __init__(self, user: Any, model: Any, counted: Counted) -> None:
        from chat.compaction import room
        from chat.turns import rounds

        self.user, self.model, self.counted, self.session_id = user, model, counted, uuid.uuid4()
        self.waits, self.failed, self.compactions = 0, 0, 0
        self.kept: dict[int, float] = {}
        # The share of input that was read from the cache, for each turn; and the errors of the estimates.
        self.turn_uses: list[list[dict[str, int]]] = []
        self.estimates: list[int] = []
        self.errors: list[float] = []
        finish_soon, build_request = room.finish_soon, rounds.build_request

        async def waited(round_id: int) -> None:
            self.waits += 1
            await finish_soon(round_id)

        def estimated(turn: Any, *known: Any) -> Any:
            from chat.context.meter import meter_of

            request = build_request(turn, *known)
            meter = meter_of(turn.session)
            self.estimates.append(meter.used_tokens if meter else 0)
            return request

        room.finish_soon, room.build_request, rounds.build_request = waited, estimated, estimated

    async def say(self, words: str, pause: float) -> None:
        from chat.live.publisher import TurnPublisher
        from chat.models import Turn
        from chat.turns import start
        from chat.turns.running import running_turns
        from oneclaw.threads import in_database

        await in_database(self.rest, pause)
        before = len(self.counted.uses)
        await start.send(self.user, self.session_id, uuid.uuid4(), words, listen=TurnPublisher)
        for running in list(running_turns):
            await asyncio.wait([running.task])
        turn = await in_database(lambda: Turn.objects.filter(session=self.session_id).latest("pk"))
        self.failed += turn.status != "complete"
        await in_database(self.look, before)
        await in_database(work)

    def rest(self, seconds: float) -> None:
        """Let time pass, for the server's cache and for the rows."""
        from django.db.models import F

        from chat.models import Message

        self.model.api.clock.move(seconds)
        passed = dt.timedelta(seconds=seconds)
        newest = Message.objects.filter(session=self.session_id).order_by("-seq").values("pk")[:24]
        Message.objects.filter(pk__in=newest).update(
            created_at=F("created_at") - passed, finished_at=F("finished_at") - passed
        )

    def look(self, before: int) -> None:
        """Take the figures of the turn that has just ended."""
        from chat.models import ContextRound, Message

        uses = self.counted.uses[before:]
        self.turn_uses.append(uses)
        for estimate, use in zip(reversed(self.estimates), reversed(uses), strict=False):
            counted = use["fresh"] + use["written"] + use["read"]
            if estimate:
                self.errors.append(abs(estimate - counted) / counted)
        self.estimates.clear()
        used = ContextRound.objects.filter(session=self.session_id, kind="compact").exclude(used_at=None).count()
        if used != self.compactions:
            self.compactions = used
            told = Message.objects.filter(session=self.session_id, role="user").count()
            body = next(
                each.body
                for each in reversed(self.model.messages)
                if each.body["model"] == MODEL and not is_summary(each.body)
            )
            self.kept[used] = kept_share(body["messages"], told)

    def report(self, turns: int, pauses: Sequence[float]) -> None:
        from oneclaw import invariants

        uses = [use for each in self.turn_uses for use in each]
        print(f"{turns} turns, {self.compactions} summaries, {self.failed} failed, {self.counted.refused} refused")
        print(f"ours: turns that waited for a summary {self.waits / turns:.1%}")
        print("ours: newest identifiers byte-identical after summaries", shares_of(self.kept))
        steady = [
            use for each, pause in zip(self.turn_uses, pauses, strict=True) if pause < CACHE_SECONDS for use in each
        ]
        print(f"ours: read from the cache {read_share(steady):.3f} steady, {read_share(uses):.3f} with pauses")
        errors = sorted(self.errors)
        figures = " ".join(
            f"{name} {percentile(errors, at):.2%}" for name, at in (("p50", 0.5), ("p95", 0.95), ("max", 1))
        )
        print(f"ours: error of the token estimate {figures}")
        print(f"ours: ${cost(self.counted.uses) / turns * 1000:.2f} for 1,000 turns")
        print("invariants:", list(invariants.check()) or "none broken")


def work() -> None:
    """Do what the workers do between two turns."""
    from django.utils import timezone

    from chat.compaction import make
    from chat.models import ContextRound
    from memory.index import conversations
    from memory.models import Flush, TranscriptIndex
    from memory.notes import flush

    for _ in range(2):
        for pk in Flush.objects.due_ids():
            flush.run(pk)
        for pk in TranscriptIndex.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True):
            conversations.run(pk)
        ContextRound.objects.queued().update(due_at=timezone.now())
        for pk in ContextRound.objects.due_ids():
            make.run(pk)


def shares_of(kept: dict[int, float]) -> str:
    wanted = [count for count in (1, 3, 10) if count in kept] + ([max(kept)] if kept else [])
    return ", ".join(f"{count}: {kept[count]:.0%}" for count in dict.fromkeys(wanted)) or "(none)"


def kept_share(messages: Any, told: int) -> float:
    """Return the share of the newest identifiers that stand in `messages` as they were said."""
    whole = json.dumps(messages, ensure_ascii=False)
    wanted = [bare(number) for number in range(max(0, told - NEWEST_IDENTIFIERS), told)]
    return sum(each in whole for each in wanted) / len(wanted)


def read_share(uses: Sequence[dict[str, int]]) -> float:
    total = sum(use[name] for use in uses for name in ("fresh", "written", "read"))
    return sum(use["read"] for use in uses) / max(1, total)


def cost(uses: Sequence[dict[str, int]]) -> float:
    return sum(use[name] * price for use in uses for name, price in PRICES.items()) / 1_000_000


# -- The two other rules -------------------------------------------------------------------------

Said = tuple[str, list[Any]]


def said_in(session: Any) -> list[list[Said]]:
    """Return the turns of a conversation as (role, blocks) that were sent, without thinking and words of the server."""
    from chat.context.prompt import rows_of
    from chat.context.results import sent_results

    turns: list[list[Said]] = []
    for row in rows_of(session):
        blocks = [block for block in row.content if block["type"] not in ("thinking", "redacted_thinking")]
        if row.role == "user":
            turns.append([])
        role = "assistant" if row.role == "assistant" else "user"
        turns[-1].append((role, sent_results(blocks, row.sent("results") or {}) if row.role == "tool" else blocks))
    return turns


async def replay(
    kind: str, turns: list[list[Said]], head: Any, window: int, pauses: Sequence[float], counted: Counted
) -> None:
    """Ask the server for every answer of `turns` again, with the messages that the rule `kind` sends; print figures."""
    from chat.context import cache_marks
    from oneclaw import llm
    from oneclaw.models import Spend
    from oneclaw.spend.calls import Payer, Spending

    uses: list[list[dict[str, int]]] = []
    kept: dict[int, float] = {}
    for number, (turn, pause) in enumerate(zip(turns, pauses, strict=True)):
        counted.api.clock.move(pause)
        before = len(counted.uses)
        for at, (role, _) in enumerate(turn):
            if role != "assistant":
                continue
            messages = [
                {"role": each, "content": list(blocks)}
                for each, blocks in chosen(kind, turns[:number], turn[:at], window)
            ]
            system: list[Any] = [{"type": "text", "text": head.system}]
            cache_marks.mark(system, messages, cache_marks.SHORT)
            request = llm.Request(MODEL, system, messages, tools=head.tools or (), thinks=False)
            async with contextlib.aclosing(llm.stream(request, Spending(Payer(Spend.Purpose.ANSWER, None)))) as events:
                async for _event in events:
                    pass
        uses.append(counted.uses[before:])
        kept[number] = kept_share(messages, number + 1)
    steady = [use for each, pause in zip(uses, pauses, strict=True) if pause < CACHE_SECONDS for use in each]
    print(f"{kind}: newest identifiers byte-identical at the end {kept[len(turns) - 1]:.0%}")
    print(f"{kind}: read from the cache {read_share(steady):.3f} steady, {read_share(counted.uses):.3f} with pauses")
    print(f"{kind}: ${cost(counted.uses) / len(turns) * 1000:.2f} for 1,000 turns, {counted.refused} refused")


def chosen(kind: str, earlier: list[list[Said]], current: list[Said], window: int) -> list[Said]:
    """Return the messages that the rule `kind` sends of `earlier` turns, and those of the `current` one."""
    most = window * 3 // 4 if kind == "trim" else window // 4
    tail: list[list[Said]] = []
    for turn in reversed(earlier):
        most -= size_of(turn)
        if most < 0:
            break
        tail.insert(0, turn)
    sent = [message for turn in [*tail, current] for message in turn]
    if kind == "trim":
        return sent
    own: list[str] = []
    room = window // 4
    for turn in reversed(earlier[: len(earlier) - len(tail)]):
        room -= size_of(turn[:1])
        if room < 0:
            break
        own.insert(0, turn[0][1][-1]["text"])
    if not own:
        return sent
    role, blocks = sent[0]
    return [(role, [{"type": "text", "text": "\n".join(own)}, *blocks]), *sent[1:]]


def size_of(turn: Sequence[Said]) -> int:
    from oneclaw.llm.estimate import text_tokens

    return sum(text_tokens(json.dumps(blocks, ensure_ascii=False), 3.1) for _, blocks in turn)


# -- Evidence ------------------------------------------------------------------------------------


def evidence(folder: Path, wanted: Sequence[str] | None) -> None:
    """Print which share of the turns that answer questions is in view after ten windows, and reachable in one call."""
    from oneclaw import llm
    from tests.scripted import ScriptedModel

    llm.load()
    membench = load(folder / "membench.py")
    documents, queries = membench.load(folder / "dev.jsonl")
    gold = membench.Gold(documents)
    found: dict[str, list[float]] = {}
    with ScriptedModel(default=reply) as model:
        use_server(model.url)
        for corpus in wanted or sorted({document["corpus_id"] for document in documents}):
            held = [document for document in documents if document["corpus_id"] == corpus]
            asked = [query for query in queries if query["corpus_id"] == corpus and query["evidence"]]
            for name, share in shares_for(membench, gold, corpus, held, asked):
                found.setdefault(name, []).append(share)
    for name, shares in sorted(found.items()):
        print(f"{name}: {sum(shares) / len(shares):.3f} of {len(shares)} questions")


def shares_for(membench: Any, gold: Any, corpus: str, held: list[Any], asked: list[Any]) -> Iterator[tuple[str, float]]:
    """Yield (what was looked at, share of the evidence in it) for each question about one conversation."""
    from django.conf import settings

    from oneclaw.llm.estimate import text_tokens

    lines = [(document["date"], turn["speaker"], turn["text"]) for document in held for turn in document["turns"]]
    said = [f"{speaker}: {text}" for _, speaker, text in lines]
    settings.CONTEXT = window = sum(text_tokens(each, 3.1) for each in said) // 10
    session, user = stored(corpus, lines)
    summarised(session)
    views = {
        "in view, trim": newest(said, window),
        "in view, tail and own words": [*newest(own_words(lines), window // 4), *newest(said, window // 4)],
        "in view, ours": view_of(session),
    }
    sizes = {name: sum(text_tokens(each, 3.1) for each in texts) for name, texts in views.items()}
    print(corpus, f"window {window} tokens; in view", sizes, flush=True)

    def share(query: Any, texts: Sequence[str]) -> float:
        cover = membench.Cover(gold, corpus, query["evidence"])
        for document in {gold.turn[(corpus, each)][0] for each in query["evidence"]}:
            cover.add(document, "\n".join(texts))
        return float(cover.share())

    search = searcher(user, session)
    for query in asked:
        kind = "questions with an answer" if query["category"] in CATEGORIES else "other questions"
        for name, texts in views.items():
            yield f"{kind}: {name}", share(query, texts)
        for name, results in search(query["query"], query["asked_at"]).items():
            yield f"{kind}: reachable, {name}", share(query, [*views["in view, ours"], *results])


def stored(corpus: str, lines: Sequence[tuple[str, str, str]]) -> tuple[Any, Any]:
    """Store a conversation, one speaker as the person; return it and the person."""
    from chat.models import ChatSession, Message, default_agent
    from oneclaw.models import User

    user = User.objects.create_user(f"{corpus}@example.org".lower())
    session = ChatSession.objects.create(key=corpus, owner=user, agent=default_agent(), title=corpus)
    person = lines[0][1]
    rows = []
    for seq, (date, speaker, text) in enumerate(lines, 1):
        words = f"{speaker}: {text}"
        at = dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC)
        role = "user" if speaker == person else "assistant"
        content = [{"type": "text", "text": words}]
        rows.append(
            Message(session=session, seq=seq, role=role, content=content, text=words, created_at=at, finished_at=at)
        )
    Message.objects.bulk_create(rows)
    ChatSession.objects.filter(pk=session.pk).update(last_seq=len(rows))
    session.refresh_from_db()
    return session, user


def summarised(session: Any) -> None:
    """Let the product replace older messages wherever the conversation would have filled its window."""
    from django.utils import timezone

    from chat.compaction import make, planning
    from chat.context.meter import estimated_parts
    from chat.context.rounds import rounds_for_turn, rounds_in_view
    from chat.models import ContextRound, Message
    from memory.index import conversations
    from memory.index.vectors import embed_transcript

    seqs = list(session.messages.order_by("seq").values_list("seq", "role"))
    budget = planning.budget_for(session)
    # Until it is reached, a message is not there.
    session.messages.update(active=False)
    for seq, role in seqs:
        Message.objects.filter(session=session, seq=seq).update(active=True)
        if role != "user":
            continue
        parts = estimated_parts(session, None, rounds_in_view(session))
        if sum(parts.values()) < budget.usable:
            continue
        planned = planning.plan(session, ContextRound.Reason.OVERFLOW, least=False)
        if planned is None:
            continue
        make.run(planned.pk, is_urgent=True)
        ContextRound.objects.filter(pk=planned.pk).update(used_at=timezone.now(), used_after_seq=seq)
    session.refresh_from_db()
    rounds_for_turn(session, session.last_seq)
    index = conversations.request(session)
    conversations.run(index)
    embed_transcript(index)


def view_of(session: Any) -> list[str]:
    """Return the texts that the model would be sent."""
    from chat.context.prompt import rows_of
    from chat.context.rounds import rounds_in_view

    rounds = rounds_in_view(session)
    replaced = [block["text"] for each in rounds.replacement() for block in each["content"]]
    kept = [block["text"] for row in rows_of(session, rounds.through_seq) for block in row.content]
    print(f"{session.title}: {session.context_rounds.count()} rounds")
    return replaced + kept


def newest(texts: Sequence[str], most: int) -> list[str]:
    """Return the newest of `texts` that have at most `most` tokens."""
    from oneclaw.llm.estimate import text_tokens

    kept: list[str] = []
    for text in reversed(texts):
        most -= text_tokens(text, 3.1)
        if most < 0:
            break
        kept.insert(0, text)
    return kept


def own_words(lines: Sequence[tuple[str, str, str]]) -> list[str]:
    return [f"{speaker}: {text}" for _, speaker, text in lines if speaker == lines[0][1]]


def searcher(user: Any, session: Any) -> Callable[[str, str], dict[str, list[str]]]:
    """Return a function that returns what the model is shown by one call of memory_search: as it is by default, and
    with as many results as 4,000 characters hold."""
    from chat.extensions import ToolCall
    from memory.tools.reading import memory_search

    def results(question: str, **more: object) -> list[str]:
        asked = ToolCall("toolu_1", "memory_search", {"query": question, **more}, user, session, None)
        return [each["snippet"] for each in memory_search(asked).content["results"]]

    def search(question: str, asked_at: str) -> dict[str, list[str]]:
        # The day that counts as today.
        user.day = lambda *_: dt.date.fromisoformat(asked_at)
        many = results(question, max_results=RESULTS_MAX_COUNT, min_score=0)
        room, within = RESULTS_CHARS, []
        for text in many:
            within.append(text[:room])
            room -= len(text)
            if room <= 0:
                break
        return {"one call": results(question), f"one call of {RESULTS_CHARS} characters": within}

    return search


if __name__ == "__main__":
    main()
