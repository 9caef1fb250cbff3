"""Split Markdown into chunks: the small pieces that search finds, each with its exact lines.

A chunk is a line of a dialogue, a list item, a heading, a table row, a short paragraph, or a few lines of code. A line
that is too long for one chunk becomes several with the same line number; joined, they are that line again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The length of a chunk, and the length up to which the lines of a hard-wrapped paragraph are joined into one.
CHUNK_MAX_CHARS = 600
JOINED_LINES_MAX_CHARS = 300

HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# The beginning of a new chunk without a blank line before it: list item, quote, table row, speaker.
CHUNK_START = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|>|\||(?:\[[^\]]{1,30}\]\s*)?[^\W\d_][^:|\n]{0,39}:\s)")
SENTENCE_END = re.compile(r"[.!?…。！？:;)\]\"'”’»*_`]\s*$")
SPEAKER = re.compile(r"\s*(?:[-*+•]\s+)?(?:\[[^\]]{1,30}\]\s*)?\*{0,2}([^\W\d_][\w.'’ -]{0,39}?)\*{0,2}:\*{0,2}\s")
BREAK = re.compile(r"(?<=[.!?…;])\s+|(?<=[。！？；])|\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A searchable piece of a text. Lines count from 1; `section` is the number of headings up to it."""

    start_line: int
    end_line: int
    text: str
    heading: str
    section: int
    is_heading: bool = False

    @property
    def speaker(self) -> str:
        """Return the name of the speaker if the chunk is a line of a dialogue (`Ada: …`), else an empty string."""
        return "" if self.is_heading else speaker_of(self.text)


def chunks_of(text: str, joined_max_chars: int = JOINED_LINES_MAX_CHARS) -> list[Chunk]:
    """Return the chunks of the Markdown `text`, in its order; lines are joined up to `joined_max_chars` characters."""
    return list(_chunks(text.split("\n"), joined_max_chars))


def speaker_of(text: str) -> str:
    """Return the name before the colon at the beginning of `text`; empty if there is none."""
    found = SPEAKER.match(text)
    return found[1] if found else ""


def speakers(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of the speakers in the chunks `texts`.

    A speaker begins at least three chunks, and all speakers together begin at least a third of them, so that
    `Budget: 500` in a note is not taken for a speaker.
    """
    texts = list(texts)
    lines = Counter(map(speaker_of, texts))
    del lines[""]
    names = {name: count for name, count in lines.items() if count >= 3}
    return frozenset(names) if 3 * sum(names.values()) >= len(texts) else frozenset()


def _chunks(lines: list[str], joined_max_chars: int) -> Iterator[Chunk]:
    headings: dict[int, str] = {}
    section, fence, start = 0, "", 0
    pending: list[str] = []

    def heading() -> str:
        return " › ".join(headings[level] for level in sorted(headings))

    def flushed() -> Iterator[Chunk]:
        if pending:
            yield from _cut(start, pending, heading(), section)
            pending.clear()

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
            if name := _heading_text(line[found.end() :].strip()):
                headings[level] = name[:CHUNK_MAX_CHARS]
                text = line.strip()
                yield Chunk(number, number, text[:CHUNK_MAX_CHARS], heading(), section, is_heading=True)
                if rest := text[CHUNK_MAX_CHARS:]:
                    yield from _cut(number, [rest], heading(), section)
            continue
        if not line.strip():
            yield from flushed()
            continue
        if pending and not _continues(pending, line, bool(fence), joined_max_chars):
            yield from flushed()
        if not pending:
            start = number
        pending.append(line)
    yield from flushed()


def _heading_text(text: str) -> str:
    """Return the text of a heading without the # characters that may close it."""
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()


def _continues(pending: list[str], line: str, in_code: bool, joined_max_chars: int) -> bool:
    """Return whether `line` belongs to the same chunk as the lines `pending`."""
    length = sum(map(len, pending)) + len(line)
    if in_code:
        return length <= joined_max_chars
    if length > CHUNK_MAX_CHARS or CHUNK_START.match(line):
        return False
    return length <= joined_max_chars and not (SENTENCE_END.search(pending[-1]) and SPEAKER.match(pending[0]))


def _cut(start: int, lines: list[str], heading: str, section: int) -> Iterator[Chunk]:
    """Yield one chunk for these lines, or several if they are one long line."""
    if len(lines) > 1 or len(lines[0]) <= CHUNK_MAX_CHARS:
        yield Chunk(start, start + len(lines) - 1, "\n".join(lines), heading, section)
        return
    line, at = lines[0], 0
    while at < len(line):
        end = _cut_at(line, at)
        yield Chunk(start, start, line[at:end], heading, section)
        at = end


def _cut_at(line: str, at: int) -> int:
    """Return the end of the piece that begins at `at`: after a sentence, else after a word, else anywhere."""
    if len(line) - at <= CHUNK_MAX_CHARS:
        return len(line)
    best = word = 0
    for found in BREAK.finditer(line, at + CHUNK_MAX_CHARS // 3, at + CHUNK_MAX_CHARS):
        before = line[found.start() - 1]
        if before in ".!?…;。！？；":
            best = found.end()
        else:
            word = found.end()
    return best or word or at + CHUNK_MAX_CHARS
