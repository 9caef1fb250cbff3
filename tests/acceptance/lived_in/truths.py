"""What must be true at the end of a life, seen from outside by pages, files and commands. Each yields what is wrong."""

import collections
import csv
import html
import io
import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

from oneclaw.demo import intents
from tests.acceptance.lived_in.acts import EDITED_LINE, OLD_MEMORY, Team, done
from tests.acceptance.lived_in.household import Household
from tests.acceptance.lived_in.life import Talk
from tests.acceptance.lived_in.model import LifeModel
from tests.acceptance.lived_in.person import Person

# How many conversations the list of the newest ones keeps.
RECENT_MAX_COUNT = 30
# Pages of one kind that are opened, such as conversations or days.
KIND_MAX_PAGES = 2
LINK = re.compile(r'(?:href|hx-get)="(/[^"#]*)')
# What is no page of the product, or ends the sign-in.
NOT_OPENED = re.compile(
    r"^/(static|accounts/(logout|login)|s/|api/)|\.zip|/export\.(md|json)|^/admin/.*(delete|password)"
)
NUMBER = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")
ERROR_PAGE = re.compile(r"Internal Server Error|Something went wrong|Traceback \(most recent")
SECTION = re.compile(
    r"^## \d{4}-\d\d-\d\d \d\d:\d\d \[(?P<title>[^\]]*)\]\(/c/(?P<id>[0-9a-f-]+)\)\n+(?P<text>(?!#)[^\n]*)",
    re.MULTILINE,
)


class Ending:
    """The end of a life, at which everything is looked at."""

    def __init__(self, household: Household, team: Team, model: LifeModel | None) -> None:
        self.household, self.team, self.model = household, team, model
        self.diary = team.diary
        for person in team.present:
            # More than two weeks after they signed in.
            person.come_back()
        self.files = {name: team.export(name) for name in team.people}

    def problems(self) -> list[str]:
        """Return everything that is not as it must be."""
        looks: list[Callable[[], Iterator[str]]] = [
            self.everything_was_possible,
            self.facts_are_in_memory,
            self.facts_are_recalled,
            self.conversations_are_noted,
            self.conversations_are_listed,
            self.conversations_are_whole,
            self.nothing_of_others_came_in,
            self.schedules_were_kept,
            self.leavers_are_gone,
            self.numbers_add_up,
            self.pages_open,
            self.nothing_went_wrong,
        ]
        return [f"{look.__name__}: {problem}" for look in looks for problem in complete(look)]

    def everything_was_possible(self) -> Iterator[str]:
        """Everybody could do what they wanted to do."""
        yield from self.diary.failed

    # -- Memory ----------------------------------------------------------------------------------

    def facts_are_in_memory(self) -> Iterator[str]:
        """Every fact that anybody asked to be remembered is in their MEMORY.md, once."""
        for name, folder in self.files.items():
            memory = text_of(folder / "MEMORY.md")
            for told in self.diary.of(name):
                if told.talk.saves:
                    wanted = told.talk.saves if self.model else told.talk.fact
                    if memory.count(wanted) != 1:
                        yield f"{name} has {memory.count(wanted)} times “{wanted}”"
            acts = {act.does for act in self.team.life.acts if act.who == name}
            for act, line in (("imports_a_folder", OLD_MEMORY.strip()), ("edits_a_file_on_the_disk", EDITED_LINE)):
                if act in acts and line not in memory:
                    yield f"{name} has not “{line}”"

    def facts_are_recalled(self) -> Iterator[str]:
        """Every fact was said again when it was asked for, more than a week later."""
        for told in self.diary.told:
            if told.talk.is_question and told.talk.fact.lower() not in told.answer.lower():
                yield f"{told.talk.who} asked “{told.talk.words}”, and heard “{told.answer}”"

    def conversations_are_noted(self) -> Iterator[str]:
        """Every conversation has its note in the log of its day."""
        for told in self.diary.told:
            path = self.files[told.talk.who] / "memory" / f"{told.day}.md"
            for note in self._notes_of(told.talk):
                if text_of(path).count(note) < 1 and not self._waits(told.talk, note):
                    yield f"the log of {told.talk.who} of {told.day} has not “{note}”"

    def _waits(self, talk: Talk, note: str) -> bool:
        """Return whether a note waits for a yes, because a search has brought words of a file that was attached when
        the same was talked about."""
        has_file = any(each.kind == "file" for each in self.team.life.talks if each.subject == talk.subject)
        return has_file and note.removeprefix("- ") in self.team.people[talk.who].get("/memory/inbox/").words

    def _notes_of(self, talk: Talk) -> list[str]:
        if self.model:
            return [f"- {talk.note}"]
        # The demo model notes what the person says, and no questions.
        statements = [] if talk.is_question else intents.statements(talk.text)
        return [f"- {(intents.to_remember(talk.text) or statement)[:300]}" for statement in statements[:1]]

    def conversations_are_listed(self) -> Iterator[str]:
        """The newest conversations of everybody are in their list, with the title and summary of the model."""
        for name, folder in self.files.items():
            found = list(SECTION.finditer(text_of(folder / "Recent Conversations.md")))
            sections = {each["id"]: (each["title"], each["text"]) for each in found}
            if len(sections) != len(found):
                yield f"{name} has conversations twice in the list"
            newest: dict[str, Talk] = {}
            for told in self.diary.of(name):
                newest.pop(told.session, None)
                newest[told.session] = told.talk
            # Those of other acts are there, too.
            for session, talk in list(newest.items())[-(RECENT_MAX_COUNT - 8) :]:
                wanted = (talk.title, talk.summary)
                if session not in sections:
                    yield f"{name} has “{talk.words}” not in the list"
                elif self.model and sections[session] != wanted:
                    yield f"the list of {name} has {sections[session]} and not {wanted}"
                elif not all(sections[session]) and not talk.is_question:
                    yield f"the list of {name} has no title or no summary for “{talk.words}”: {sections[session]}"

    def nothing_of_others_came_in(self) -> Iterator[str]:
        """What others wrote, in a file or anywhere, is in nobody's MEMORY.md."""
        for name, folder in self.files.items():
            memory = text_of(folder / "MEMORY.md")
            if "in cash" in memory:
                yield f"{name} has the words of the file in MEMORY.md"
            for other in self.team.people:
                for told in self.diary.of(other):
                    if other != name and told.talk.saves and told.talk.saves in memory:
                        yield f"{name} has what {other} asked to be remembered: {told.talk.saves}"

    # -- Pages -----------------------------------------------------------------------------------

    def conversations_are_whole(self) -> Iterator[str]:
        """The page of each conversation has each message once, an answer to each, and the title of the model."""
        spoken = collections.defaultdict(list)
        for told in self.diary.told:
            spoken[told.talk.who, told.session].append(told.talk)
        for (who, session), talks in spoken.items():
            if who in self.diary.left:
                continue
            person = self.team.people[who]
            page = person.get(f"/c/{session}")
            roles = re.findall(r'<article id="message-\d+"[^>]* data-role="(\w+)" data-status="(\w+)"', page.text)
            if roles.count(("user", "complete")) != len(talks) or {status for _, status in roles} != {"complete"}:
                yield f"{who} sees {roles} for {len(talks)} messages of “{talks[0].words}”"
            for talk in talks:
                if page.words.count(talk.words) < 1:
                    yield f"{who} does not see “{talk.words}”"
            if self.model and f"<title>{talks[0].title}" not in html.unescape(page.text):
                yield f"{who} sees another title than “{talks[0].title}”: {title_of(page.text)}"

    def schedules_were_kept(self) -> Iterator[str]:
        """What was scheduled was told once on each working day."""
        for act in self.team.life.acts:
            if act.does == "schedules_a_task":
                person = self.team.people[act.who]
                links = {path for path in LINK.findall(person.get("/conversations").text) if path.startswith("/c/")}
                told = [page for page in map(person.get, sorted(links)) if title_of(page.text).startswith("Heartbeat")]
                count = sum(page.text.count('data-role="assistant"') for page in told)
                moments = self.team.life.moments
                # It is told at eight, so before any moment of the day.
                days = {moment.day for moment in moments if moment.day > act.at.day}
                if count != len(days):
                    yield f"{act.who} was told {count} times on {len(days)} days"

    def leavers_are_gone(self) -> Iterator[str]:
        """Who was removed cannot come in any more, and their own conversations are nobody's."""
        for name in self.diary.left:
            page = self.team.people[name].get("/")
            if not page.path.startswith("/accounts/login"):
                yield f"{name} still opens {page.path}"
            session = self.diary.of(name)[0].session
            for other in self.team.present:
                if other.get(f"/c/{session}").status != 404:
                    yield f"{other.name} opens a conversation of {name}"

    def numbers_add_up(self) -> Iterator[str]:
        """What the team's usage says is what the model's server has billed, and the people's own add up to it."""
        owner = next(iter(self.team.people.values()))
        sums: collections.Counter[str] = collections.Counter()
        first, last = (self.team.monday, self.household.clock.now().date())
        for month in sorted({f"{first:%Y-%m}", f"{last:%Y-%m}"}):
            for row in csv.DictReader(io.StringIO(done(owner.get(f"/team/usage.csv?month={month}")).text)):
                sums.update({name: int(row[name]) for name in self._billed})
        if self.model and dict(sums) != dict(self._billed):
            yield f"the team's usage says {dict(sums)}, and the server billed {dict(self._billed)}"
        if not sums["output_tokens"]:
            yield "the team's usage says nothing"

    @property
    def _billed(self) -> collections.Counter[str]:
        names = ("input_tokens", "output_tokens", "cached_tokens", "written_tokens")
        return self.model.api.billed if self.model else collections.Counter(dict.fromkeys(names, 0))

    def pages_open(self) -> Iterator[str]:
        """Every page to which a link leads opens without an error, for everybody."""
        for person in self.team.present:
            for path, status, words in opened(person):
                if status >= 400 or ERROR_PAGE.search(words):
                    yield f"{person.name} opens {path}: {status} {words[:200]}"

    # -- The house -------------------------------------------------------------------------------

    def nothing_went_wrong(self) -> Iterator[str]:
        """The logs have no error, the invariants hold, and the strict server has refused nothing."""
        yield from self.household.error_lines()
        yield from self.household.violations()
        if self.model:
            yield from (f"refused: {each}" for each in self.model.api.refused)


def complete(look: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Yield what a look finds; one that cannot be finished is a problem too, and keeps no other from being made."""
    try:
        yield from look()
    except (AssertionError, LookupError, ValueError) as error:
        yield f"it could not be finished: {error!r}"


def opened(person: Person) -> Iterator[tuple[str, int, str]]:
    """Open the first page and all to which links lead, a few of each kind; yield path, status and words."""
    waiting = collections.deque(["/", "/search?q=the", "/memory/search?q=the"])
    seen = set(waiting)
    kinds: collections.Counter[str] = collections.Counter()
    while waiting:
        path = waiting.popleft()
        page = person.get(path)
        yield path, page.status, page.words
        for found in LINK.findall(page.text):
            target = found.replace("&amp;", "&")
            kind = NUMBER.sub("*", urllib.parse.urlsplit(target).path)
            if target in seen or NOT_OPENED.search(target) or kinds[kind] >= KIND_MAX_PAGES:
                continue
            seen.add(target)
            kinds[kind] += 1
            waiting.append(target)


def text_of(path: Path) -> str:
    """Return the text of a file; "" when it is not there."""
    return path.read_text() if path.exists() else ""


def title_of(page: str) -> str:
    """Return the title of a page."""
    found = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    return " ".join(found[1].split()) if found else ""
