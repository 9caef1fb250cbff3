"""What the team does, as data: who they are, what they talk about (subjects.txt), and what happens besides.

Moments are days from the first Monday and a time of the household.
"""

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ZONE = zoneinfo.ZoneInfo("Europe/Zurich")
FILE = HERE / "minutes.txt"
LINE = re.compile(r"  (?P<kind>\w+) (?P<at>\d+ \d\d:\d\d) \| (?P<rest>.*)")


@dataclass(frozen=True, order=True)
class Moment:
    """A time of the household."""

    day: int
    time: str

    @classmethod
    def of(cls, text: str) -> "Moment":
        """Return the moment that is written as `3 09:06`."""
        day, time = text.split()
        return cls(int(day), time)

    def after(self, monday: dt.date) -> dt.datetime:
        """Return it as a time of the weeks that begin on this Monday."""
        day = monday + dt.timedelta(days=self.day - 1)
        return dt.datetime.combine(day, dt.time.fromisoformat(self.time), ZONE)


@dataclass(frozen=True)
class Talk:
    """What a person says of a subject at a moment, and what a real model makes of it."""

    who: str
    subject: str
    kind: str
    at: Moment
    words: str
    title: str
    note: str
    # What the model saves, and the words by which MEMORY.md and a later answer are known to have it.
    saves: str
    fact: str

    @property
    def text(self) -> str:
        """Return what the person types."""
        before = (HERE / "long_message.txt").read_text() + "\n" if self.kind == "long" else ""
        return before + self.words

    @property
    def goes_on(self) -> bool:
        """Return whether it is said in the conversation of before."""
        return self.kind == "again"

    @property
    def is_question(self) -> bool:
        """Return whether it asks for what was said before."""
        return self.kind == "ask"

    @property
    def summary(self) -> str:
        """Return what a real model writes of the whole conversation."""
        return f"{self.note} Nothing is open."


@dataclass(frozen=True)
class Act:
    """Something else that happens: a method of `acts.Team`, and who does it."""

    at: Moment
    does: str
    who: str


# Name, and timezone of the browser.
PEOPLE = {
    "ada": "Europe/Zurich",
    "ben": "Europe/Zurich",
    "cleo": "Europe/Lisbon",
    "dora": "Europe/Berlin",
    "emil": "Asia/Tokyo",
}
# They leave their page open at night.
STAYING = ("ben", "dora")

OTHER_ACTS = tuple(
    Act(Moment.of(at), does, who)
    for at, who, does in (
        ("3 13:00", "ada", "makes_a_space"),
        ("4 13:00", "ada", "sets_a_budget"),
        ("4 13:00", "ben", "schedules_a_task"),
        ("4 13:00", "cleo", "imports_conversations"),
        ("4 13:00", "emil", "imports_a_folder"),
        ("5 18:00", "ada", "shares_a_conversation"),
        ("9 13:00", "ada", "sees_a_release"),
        # After a flight of nine hours.
        ("10 18:00", "ada", "arrives_in_california"),
        ("12 13:00", "dora", "edits_a_file_on_the_disk"),
        ("16 13:00", "ada", "arrives_at_home"),
        ("18 13:00", "emil", "asks_about_the_folder"),
        ("19 13:00", "ada", "removes_emil"),
    )
)


@dataclass(frozen=True)
class Life:
    """A life, in order: what is said and done at each moment."""

    people: tuple[str, ...]
    talks: tuple[Talk, ...]
    acts: tuple[Act, ...]

    @property
    def moments(self) -> list[Moment]:
        """Return the moments at which something happens."""
        return sorted({each.at for each in (*self.talks, *self.acts)})


def three_weeks() -> Life:
    """Return the whole life."""
    return Life(tuple(PEOPLE), talks_of((HERE / "subjects.txt").read_text()), OTHER_ACTS)


def shortened() -> Life:
    """Return what two of them do of it: four subjects, from the first days to the second week, and the release."""
    whole = three_weeks()
    talks = tuple(talk for talk in whole.talks if talk.subject in ("tomatoes", "lena", "boat", "grandma"))
    acts = tuple(act for act in whole.acts if act.does == "sees_a_release")
    return Life(("ada", "ben"), talks, acts)


def talks_of(text: str) -> tuple[Talk, ...]:
    """Return the talks of the lines of subjects.txt."""
    talks, subject, who, fact = [], "", "", ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            (subject, who), fact = line.partition("|")[0].split(), line.partition("|")[2].strip()
            continue
        found = LINE.fullmatch(line)
        assert found, line
        words, title, note, *saves = (part.strip() for part in found["rest"].split(" | "))
        at = Moment.of(found["at"])
        talks.append(Talk(who, subject, found["kind"], at, words, title, note, "".join(saves), fact))
    return tuple(talks)
