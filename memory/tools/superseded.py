"""Find lines of the curated memory that a newer line contradicts by its words: another job, another home.

The newer line is one of the same document, or a note of the last weeks. This needs no model: what the model compares is
only a line that it saves (memory/tools/comparisons.py), and neither an edit nor a note of a day.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memory.models import MemoryDocument
from memory.notes.coverage import DAILY_LOG_PATH
from memory.text.dates import day_in
from memory.text.states import State, contradict, is_present, states_in
from oneclaw.models import User

# How far back notes are read. An older one would have been asked about before.
NOTES_MAX_AGE = dt.timedelta(days=60)
SECTION = re.compile(r"#{2,6}\s+(\D.*)")


@dataclass(frozen=True)
class DatedLine:
    """A line that names an employer, a profession or a home, and when it was written.

    `section` is "" before the first one, and None in a note, whose lines without a subject may be about anybody.
    """

    document_id: int
    text: str
    written_at: dt.datetime
    section: str | None
    states: list[State]

    def comparable_with(self, other: "DatedLine") -> list[State]:
        """Return what the line says as far as it can be compared with `other`.

        In a section, a line without a subject may be about the person of its heading, as all of that section are.
        """
        if self.section == "" or (self.section is not None and self.section == other.section):
            return self.states
        return [state for state in self.states if state.is_named]


def superseded_lines(
    document: MemoryDocument, since: Mapping[str, dt.datetime], written: Mapping[str, dt.datetime], user: User
) -> dict[str, DatedLine]:
    """Return those lines of `since` that a newer line contradicts, with the newest such line.

    `since` says when each line was written or confirmed, `written` when each line of `document` was written.
    """
    names = [user.first_name, user.last_name, re.sub(r"\W", " ", user.email.partition("@")[0])]
    own = list(_of_document(document, written, names))
    newer = sorted([*own, *_of_notes(document, user, names)], key=lambda line: line.written_at, reverse=True)
    found = {}
    for older in own:
        if older.text not in since:
            continue
        year = user.day(older.written_at).year
        for line in newer:
            if line.written_at <= since[older.text]:
                break
            if is_present(line.text, year) and contradict(line.comparable_with(older), older.comparable_with(line)):
                found[older.text] = line
                break
    return found


def _of_document(document: MemoryDocument, written: Mapping[str, dt.datetime], names: list[str]) -> Iterator[DatedLine]:
    section = ""
    for line in document.content.split("\n"):
        if line.startswith("#"):
            match = SECTION.match(line)
            section = match[1].strip().lower() if match else ""
        elif line in written and (states := states_in(line, names)):
            yield DatedLine(document.pk, line, written[line], section, states)


def _of_notes(document: MemoryDocument, user: User, names: list[str]) -> Iterator[DatedLine]:
    """Yield the lines of the daily logs of the same memory, as if each was written when its day began: then it is newer
    only than lines of earlier days."""
    first = f"memory/{user.day() - NOTES_MAX_AGE}.md"
    logs = MemoryDocument.objects.present().filter(space=document.space_id, path__gte=first, path__startswith="memory/")
    for pk, path, content in logs.values_list("pk", "path", "content"):
        day = day_in(path) if DAILY_LOG_PATH.fullmatch(path) else None
        if day is None:
            continue
        begin = dt.datetime.combine(day, dt.time.min, tzinfo=user.zone)
        for line in content.split("\n"):
            if not line.startswith("#") and (states := states_in(line, names)):
                yield DatedLine(pk, line, begin, None, states)
