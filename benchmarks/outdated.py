"""How often a line about a job or a home would be asked about because a later one says otherwise, and which.

    python benchmarks/outdated.py ../shared/eval/dev.jsonl

The file has one JSON object a line, as shared/eval describes: of those with "type": "document", each line of dialogue
("Ada: I live in Bern.") counts as a line of memory of its speaker, written on the day of its document. Every pair that
is printed is judged by hand: is the older line still true?
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory.text.states import contradict, is_present, states_in

SPEAKER = re.compile(r"(\w+): (.*)")


def main(path: Path) -> None:
    """Print every pair of lines that would be asked about, and the counts."""
    said = defaultdict(list)
    for row in map(json.loads, path.read_text().splitlines()):
        for line in row["text"].split("\n") if row.get("type") == "document" else []:
            if match := SPEAKER.match(line):
                said[row["corpus_id"], match[1]].append((row["date"], match[2]))
    with_state = pairs = 0
    for (_, speaker), lines in said.items():
        known = [(day, line, states_in(line, [speaker])) for day, line in lines]
        known = [each for each in known if each[2]]
        with_state += len(known)
        for number, (day, line, states) in enumerate(known):
            for later, newer, newer_states in known[number + 1 :]:
                if later > day and is_present(newer, int(day[:4])) and contradict(newer_states, states):
                    pairs += 1
                    print(f"{speaker}, {day}: {line}\n  {later}: {newer}")
    print(f"{sum(map(len, said.values()))} lines, {with_state} with a job or a home, {pairs} pairs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
