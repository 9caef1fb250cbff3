"""What is sent with the first message of a conversation: how much of it answers, and how much of what answers is there.

    python benchmarks/first_messages.py --data FOLDER [--models default none] [--floors 0.2 0.3 0.4]

FOLDER holds membench.py and dev.jsonl, as for benchmarks/retrieval.py. The messages are 300 of their questions, 60 of
each conversation, wrapped in talk by a fixed seed; then as many questions about other people, and 100 about nothing,
wrapped alike. The weights of the scores were fitted with other wrappings (docs/retrieval.md).

A passage counts as right when it has a line that answers. Precision is the share of right passages; "messages" the
share of messages with a right passage among those with any; recall the share of messages with a right passage.
"""

import argparse
import collections
import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retrieval import MODELS, Memory, load, nonsense

ROOT = Path(__file__).resolve().parent.parent
MESSAGES, STRANGERS, NONSENSE = 300, 300, 100
# The lengths of messages, in characters, up to which they are counted together.
LENGTHS = (60, 120, 200, 280, 1000)
# {q} is the question, {Q} the same inside of a sentence.
WRAPPINGS = (
    "{q}",
    "{q}",
    "{q}",
    "Hey, {Q}",
    "Good evening! {q}",
    "One thing I would like to know: {Q}",
    "Tell me please, {Q}",
    "{q} Thank you!",
    "I am looking through old photos right now. {q}",
    "A colleague asked me something at lunch and I had no answer. {q}",
    "We are sitting in the car and arguing about it: {Q} Could you settle this for us?",
    "Today was rather busy, with two meetings and a visit to the dentist, but now I can think about other things. {q}",
    "I want to write a birthday card and it should have something personal in it, nothing too long. {q} Then I can "
    "start with the text tonight.",
    "The children are finally asleep and the kitchen is clean, so there is some time for the two of us to chat. {q} "
    "Just say so if you are not sure about it.",
    "There is something that I should really know by heart, and I am a little embarrassed to ask, because we have "
    "certainly spoken about it before, more than once even. {q} A short answer is enough for me, I only want to be "
    "sure of it.",
    "Before I forget to ask, {Q}",
    "I am curious, {Q} I think it came up some time ago.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["default", "none"])
    parser.add_argument("--floors", nargs="+", type=float, default=[0.1, 0.2, 0.3, 0.4, 0.5])
    parser.add_argument("--recall", nargs=2, metavar=("EMAIL", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.recall:
        write_recalled(*options.recall)
        return
    membench = load(options.data / "membench.py")
    documents, queries = membench.load(options.data / "dev.jsonl")
    messages = made(queries)
    turns = {
        (row["corpus_id"], turn["id"]): (row["doc_id"], turn["line"]) for row in documents for turn in row["turns"]
    }
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder), documents)
        for model in options.models:
            memory.use(model)
            for floor in options.floors:
                memory.environment["ONECLAW_RECALL_FLOOR"] = str(floor)
                print("\n".join(measured(memory, messages, turns, f"{model}, floor {floor}")), flush=True)


def made(queries: list[Any]) -> list[dict[str, Any]]:
    """The messages: each with its kind, the conversation whose memory is asked, and the lines that answer."""
    chosen = random.Random(20261122)
    corpora = sorted({query["corpus_id"] for query in queries})
    messages = []

    def add(kind: str, corpus: str, question: str, evidence: Sequence[str] = ()) -> None:
        inside = question if question.split()[0].isupper() else question[0].lower() + question[1:]
        text = chosen.choice(WRAPPINGS).format(q=question, Q=inside)
        messages.append({"kind": kind, "corpus": corpus, "text": text, "evidence": list(evidence)})

    answered = [query for query in queries if query["category"] != "adversarial" and query["evidence"]]
    for corpus in corpora:
        own = [query for query in answered if query["corpus_id"] == corpus]
        other = [query for query in answered if query["corpus_id"] != corpus]
        for query in chosen.sample(own, MESSAGES // len(corpora)):
            add("own", corpus, query["query"], query["evidence"])
        for query in chosen.sample(other, STRANGERS // len(corpora)):
            add("stranger", corpus, query["query"])
        for _ in range(NONSENSE // len(corpora)):
            add("nonsense", corpus, nonsense(chosen))
    return messages


def measured(memory: Memory, messages: list[Any], turns: dict[Any, Any], name: str) -> list[str]:
    """Return the lines about what is sent with `messages`."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for corpus, email in memory.people.items():
        asked = [message for message in messages if message["corpus"] == corpus]
        file = memory.folder / "messages.jsonl"
        file.write_text("".join(json.dumps(message["text"]) + "\n" for message in asked))
        said = memory.script(__file__, "--recall", email, str(file)).splitlines()
        for message, row in zip(asked, map(json.loads, said), strict=True):
            places = {turns[corpus, id] for id in message["evidence"] if (corpus, id) in turns}
            right = [any(path == at and first <= line <= last for at, line in places) for path, first, last in row]
            of_length = next(most for most in LENGTHS if len(message["text"]) <= most)
            groups = [message["kind"], f"own, up to {of_length} characters"][: 1 + (message["kind"] == "own")]
            for group in groups:
                counts[group] += collections.Counter(
                    messages=1, with_any=bool(row), found=any(right), passages=len(row), right=sum(right)
                )
    return [name, *(told(group, counts[group]) for group in sorted(counts, key=order))]


def order(group: str) -> tuple[bool, float, str]:
    number = [int(word) for word in group.split() if word.isdigit()]
    return "own" not in group, number[0] if number else -math.inf, group


def told(group: str, count: collections.Counter[str]) -> str:
    share = {
        "precision": count["right"] / max(count["passages"], 1),
        "messages": count["found"] / max(count["with_any"], 1),
        "recall": count["found"] / count["messages"],
        "with any": count["with_any"] / count["messages"],
        "passages a message": count["passages"] / count["messages"],
    }
    shown = share if "own" in group else {"with any": share["with any"]}
    return f"  {group} ({count['messages']}): " + ", ".join(f"{name} {value:.3f}" for name, value in shown.items())


def write_recalled(email: str, file: str) -> None:
    """Write what the product would send with each message of `file`: path, first and last line of each passage."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "oneclaw.settings"
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from chat.models import ChatSession, Message, default_agent
    from memory.access.load import access_of
    from memory.prompt.recall import recalled_items
    from oneclaw.models import User

    user = User.objects.get(email=email)
    session = ChatSession(owner=user, agent=default_agent())
    for text in map(json.loads, Path(file).read_text().splitlines()):
        items = recalled_items(access_of(session), Message(session=session, text=text))
        print(json.dumps([[item["path"], *item["lines"]] for item in items]))


if __name__ == "__main__":
    main()
