"""What Markdown costs while it streams: processor time of a growing answer for each 1,000 deltas, and the kilobytes
that each page is sent, as whole blocks and as what was appended.

    python benchmarks/rendering.py [--size 8] [--looks 4] [--rounds 3] [--only WORD]

Deltas of `--size` characters; changes() after each `--looks` of them (a turn looks twelve times a second), none of
which is delayed. Each shape is also rendered with what may come before it, and compared with as many deltas of plain
words. `--whole` adds the time when each look renders the whole text, of which a tenth is taken: it grows with length.
"""

import argparse
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

SENTENCE = "The boxes of the study go up first, then those of the kitchen, and the plants come last of all. "
MIXED = """## What to do first

Take **all of it** up, as `plan.md` says, and see [the map](https://maps.example.org/a_b) before you *begin*.

- The study: 21 boxes, of which **four** are heavy
- The kitchen: 12 boxes, see `kitchen.csv`
- [x] The plants

| Room | Boxes | Weight |
|---|--:|--:|
| Study | 21 | 310 kg |
| Kitchen | 12 | 140 kg |

```python
def boxes(rooms):
    return sum(room.boxes for room in rooms if not room.is_empty)
```

1. First the heavy ones, because "later" is *too late*.
2. Then the rest: `light`, **small**, and whatever is left over.

> Nothing is lost until it has been looked for twice.

"""
# Deltas of one text: a length that answers reach.
DELTAS = 1000
LISTS = {
    "bullet list": "- The boxes of room {} go up before those of the next\n",
    "bullet list, emphasis and code": "- The boxes of room {} go up **first**, see `plan.md`\n",
    "bullet list, emphasis first": "- **Room {}**: its boxes go up before those of the next\n",
    "numbered list": "{}. The boxes of the room go up before those of the next\n",
    "nested list": "- Room {}\n  - its boxes\n",
    "loose list": "- The boxes of room {}\n\n",
    "list with footnotes": "- The boxes of room {}[^1]\n",
    "table": "| Room {0} | {0} |\n",
    "table, emphasis and code": "| **Room {0}** | `{0}` | see the plan |\n",
    "code": "def boxes_{0}(rooms):\n    return sum(room.boxes for room in rooms[{0}:])\n\n",
}
FIRST_LINES = {"code": "```python\n", "table": "| Room | Boxes |\n|---|--:|\n"}
FIRST_LINES["table, emphasis and code"] = "| Room | Boxes | Where |\n|---|--:|---|\n"
# What comes before a list, table or block of code.
BEFORE = {
    "": "",
    "a line break": "\n",
    "two line breaks": "\n\n",
    "text": "Here is the plan:\n",
    "text, a blank line": "Here is the plan:\n\n",
    "text, two blank lines": "Here is the plan:\n\n\n",
    "a definition": "[^1]: Of the study.\n\n",
}


def texts(chars: int) -> dict[str, str]:
    """Return the texts by their names, each of about so many characters."""
    found = {"plain words": (SENTENCE * 5 + "\n\n") * (chars // (5 * len(SENTENCE)) + 1), "mixed Markdown": MIXED * 6}
    found["numbers"] = "".join(f"{n} {n * 7} {n / 3:.2f} " + "\n\n" * (n % 20 == 0) for n in range(1, chars // 10))
    for name, line in LISTS.items():
        lines = "".join(line.format(number) for number in range(1, chars // (len(line) - 2) + 2))
        whole = FIRST_LINES.get(name, "") + lines
        heads = BEFORE if name in ("bullet list, emphasis first", "table", "code") else {"": ""}
        for before, head in heads.items():
            found[f"{name} after {before}" if before else name] = head + whole
        if name in ("bullet list", "table"):
            found[f"{name}, then one with emphasis"] = whole[: whole.rindex("\n", 0, chars - 60) + 1] + line.format(
                "**1**"
            )
            found[f"{name}, CRLF"] = whole.replace("\n", "\r\n")
    return {name: text[:chars] for name, text in found.items()}


def measure(text: str, size: int, looks: int) -> tuple[float, float]:
    """Milliseconds of processor time for 1,000 deltas, and those of the slowest look."""
    from chat.models import Message
    from chat.turns.answer import GrowingAnswer

    deltas = [text[start : start + size] for start in range(0, len(text), size)]
    growing, began, slowest = GrowingAnswer(Message(pk=1)), time.process_time(), 0.0
    for number, delta in enumerate(deltas):
        growing.add_text(0, delta)
        if number % looks == 0:
            look = time.process_time()
            growing.changes()
            slowest = max(slowest, time.process_time() - look)
    growing.shown()
    return (time.process_time() - began) / len(deltas) * 1e6, slowest * 1e3


def kilobytes(text: str, size: int, looks: int, *, appends: bool) -> float:
    """Kilobytes of the frames of 1,000 deltas."""
    from chat.live.growing_blocks import GrowingBlock
    from chat.models import Message
    from chat.turns.answer import GrowingAnswer

    growing, sent, count = GrowingAnswer(Message(pk=1)), {}, 0
    starts = range(0, len(text), size * looks)
    for revision, start in enumerate(starts, 1):
        growing.add_text(0, text[start : start + size * looks])
        for index, html in growing.changes():
            block = GrowingBlock("1234", index, revision, html)
            count += len(block.text_after(sent.get(index) if appends else None).encode())
            sent[index] = block
    return count / (len(starts) * looks)


def measure_whole(text: str, size: int, looks: int) -> float:
    """Milliseconds for 1,000 deltas when each look renders the whole text."""
    from chat.rendering.incremental import blocks

    ends = range(size, len(text), size * looks)
    began = time.process_time()
    for end in ends:
        blocks(text[:end])
    return (time.process_time() - began) / (len(ends) * looks) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8, help="characters of a delta")
    parser.add_argument("--looks", type=int, default=4, help="deltas between two looks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="texts whose names contain this")
    parser.add_argument("--whole", action="store_true", help="measure whole parses, too")
    chosen = parser.parse_args()
    import django

    django.setup()
    from chat.rendering import incremental

    # Here the looks follow each other at once: changes of a long block would be delayed.
    incremental.LONG_BLOCK_CHARS = sys.maxsize
    words = 0.0
    for name, text in texts(DELTAS * chosen.size).items():
        if words and chosen.only not in name:
            continue
        found = [measure(text, chosen.size, chosen.looks) for _ in range(chosen.rounds)]
        best, slowest = min(ms for ms, _ in found), min(ms for _, ms in found)
        whole, appended = (kilobytes(text, chosen.size, chosen.looks, appends=appends) for appends in (False, True))
        words = words or best
        line = f"{name:52} {best:7.1f} ms  {best / words:5.1f} × words  slowest {slowest:5.1f} ms"
        line += f"  whole blocks {whole:7.1f} kB  appended {appended:6.1f} kB"
        if chosen.whole:
            line += f"  whole {measure_whole(text[: len(text) // 10], chosen.size, chosen.looks):7.1f} ms"
        print(line, flush=True)


if __name__ == "__main__":
    main()
