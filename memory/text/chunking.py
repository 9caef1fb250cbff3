"""Markdown into units: the small pieces that search finds, each with its exact lines.

A unit is a line of talk, a bullet, a heading, a table row, a sentence-sized paragraph, a few lines of code. A line too
long for one unit becomes several with the same line number; put together, they are that line again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Characters a unit has at most, and the length from which a hard-wrapped paragraph is no longer joined.
LONGEST_UNIT = 600
JOINED_UNIT = 300

HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# What begins a new unit even without a blank line before it: a bullet, a number, a quote, a table row, a speaker.
OPENING = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|>|\||(?:\[[^\]]{1,30}\]\s*)?[^\W\d_][^:|\n]{0,39}:\s)")
SENTENCE_END = re.compile(r"[.!?…。！？:;)\]\"'”’»*_`]\s*$")
SPEAKER = re.compile(r"\s*(?:[-*+•]\s+)?(?:\[[^\]]{1,30}\]\s*)?\*{0,2}([^\W\d_][\w.'’ -]{0,39}?)\*{0,2}:\*{0,2}\s")
BREAK = re.compile(r"(?<=[.!?…;])\s+|(?<=[。！？；])|\s+")


@dataclass(frozen=True, slots=True)
class Unit:
    """One searchable piece. Lines count from 1; `section` numbers the headings passed so far."""

    start_line: int
    end_line: int
    text: str
    heading: str
    section: int
    is_heading: bool = False

    @property
    def speaker(self) -> str:
        """Who says it, when it is a line of talk (`Ada: …`); else empty."""
        return "" if self.is_heading else speaker_of(self.text)


def units(text: str) -> list[Unit]:
    """The units of a Markdown text, in its order."""
    return list(_units(text.split("\n")))


def speaker_of(text: str) -> str:
    """The name before the colon with which a line of talk begins; empty when there is none."""
    found = SPEAKER.match(text)
    return found[1] if found else ""


def speakers(texts: Iterable[str]) -> frozenset[str]:
    """The names of those who talk in these units: each begins at least three lines, all together a third of them.

    So `Budget: 500` in a note makes nobody of that name.
    """
    texts = list(texts)
    lines = Counter(map(speaker_of, texts))
    del lines[""]
    names = {name: count for name, count in lines.items() if count >= 3}
    return frozenset(names) if 3 * sum(names.values()) >= len(texts) else frozenset()


def _units(lines: list[str]) -> Iterator[Unit]:
    headings: dict[int, str] = {}
    section, fence, start = 0, "", 0
    waiting: list[str] = []

    def heading() -> str:
        return " › ".join(headings[level] for level in sorted(headings))

    def flushed() -> Iterator[Unit]:
        if waiting:
            yield from _cut(start, waiting, heading(), section)
            waiting.clear()

    for number, line in enumerate(lines, 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                fence = ""
                continue
        elif mark:
            yield from flushed()
            fence = mark[1]
            continue
        elif line.lstrip().startswith("#") and (found := HEADING.match(line)):
            yield from flushed()
            level = len(found[1])
            headings = {above: name for above, name in headings.items() if above < level}
            section += 1
            if name := _name(line[found.end() :].strip()):
                headings[level] = name[:LONGEST_UNIT]
                text = line.strip()
                yield Unit(number, number, text[:LONGEST_UNIT], heading(), section, is_heading=True)
                if rest := text[LONGEST_UNIT:]:
                    yield from _cut(number, [rest], heading(), section)
            continue
        if not line.strip():
            yield from flushed()
            continue
        if waiting and not _continues(waiting, line, bool(fence)):
            yield from flushed()
        if not waiting:
            start = number
        waiting.append(line)
    yield from flushed()


def _name(text: str) -> str:
    """What a heading says, without the # that may close it."""
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()


def _continues(waiting: list[str], line: str, in_code: bool) -> bool:
    """Whether `line` belongs to the unit that `waiting` began."""
    length = sum(map(len, waiting)) + len(line)
    if in_code:
        return length <= JOINED_UNIT
    if length > LONGEST_UNIT or OPENING.match(line):
        return False
    return length <= JOINED_UNIT and not (SENTENCE_END.search(waiting[-1]) and SPEAKER.match(waiting[0]))


def _cut(start: int, lines: list[str], heading: str, section: int) -> Iterator[Unit]:
    """One unit of these lines, or several when they are one long line."""
    if len(lines) > 1 or len(lines[0]) <= LONGEST_UNIT:
        yield Unit(start, start + len(lines) - 1, "\n".join(lines), heading, section)
        return
    line, at = lines[0], 0
    while at < len(line):
        end = _cut_at(line, at)
        yield Unit(start, start, line[at:end], heading, section)
        at = end


def _cut_at(line: str, at: int) -> int:
    """Where the piece that begins at `at` ends: after a sentence, else after a word, else anywhere."""
    if len(line) - at <= LONGEST_UNIT:
        return len(line)
    best = word = 0
    for found in BREAK.finditer(line, at + LONGEST_UNIT // 3, at + LONGEST_UNIT):
        before = line[found.start() - 1]
        if before in ".!?…;。！？；":
            best = found.end()
        else:
            word = found.end()
    return best or word or at + LONGEST_UNIT
