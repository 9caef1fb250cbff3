"""What Markdown costs while it streams: processor time of GrowingText for each 1,000 deltas.

    python benchmarks/rendering.py [--size 8] [--looks 4] [--rounds 5]

Deltas of `--size` characters; changes() after each `--looks` of them (a turn looks twelve times a second).
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
WORDS = "".join(SENTENCE * 5 + "\n\n" for _ in range(10))
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

# A length that answers reach: 500 items or rows.
PLAIN_ITEMS = [f"The boxes of room {n} go up before those of the next" for n in range(1, 501)]
LONG = {
    "bullet list of 500 plain items": "".join(f"- {item}\n" for item in PLAIN_ITEMS),
    "the same items as words": "".join(f"{item} " + "\n\n" * (n % 10 == 9) for n, item in enumerate(PLAIN_ITEMS)),
    "bullet list of 500 items": "".join(
        f"- The boxes of room {n} go up **first**, see `plan.md`\n" for n in range(500)
    ),
    "numbered list of 500 items": "".join(f"{n}. {item}\n" for n, item in enumerate(PLAIN_ITEMS, 1)),
    "nested list of 500 items": "".join(f"- Room {n}\n  - its boxes\n" for n in range(250)),
    "loose list of 500 items": "".join(f"- The boxes of room {n}\n\n" for n in range(500)),
    "table of 500 rows": "| Room | Boxes |\n|---|--:|\n" + "".join(f"| Room {n} | {n * 7} |\n" for n in range(500)),
    "numbers": "".join(f"{n} {n * 7} {n / 3:.2f} " + "\n\n" * (n % 20 == 0) for n in range(1, 1500)),
}


def measure(text: str, size: int, looks: int) -> float:
    """Milliseconds of processor time for 1,000 deltas."""
    from chat.rendering.incremental import GrowingText

    deltas = [text[start : start + size] for start in range(0, len(text), size)]
    growing, began = GrowingText(), time.process_time()
    for number, delta in enumerate(deltas):
        growing.append(delta)
        if number % looks == 0:
            growing.changes()
    growing.blocks()
    return (time.process_time() - began) / len(deltas) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8, help="characters of a delta")
    parser.add_argument("--looks", type=int, default=4, help="deltas between two looks")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for name, text in ({"plain words": WORDS, "mixed Markdown": MIXED * 6} | LONG).items():
        best = min(measure(text, chosen.size, chosen.looks) for _ in range(chosen.rounds))
        print(f"{name}: {best:.1f} ms for 1,000 deltas")


if __name__ == "__main__":
    main()
