"""The team: the people, what each says at a moment, and their other acts, each as the page or the command does it."""

import concurrent.futures
import datetime as dt
import io
import json
import re
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.acceptance.lived_in.household import Household
from tests.acceptance.lived_in.life import FILE, PEOPLE, STAYING, Act, Life, Moment, Talk
from tests.acceptance.lived_in.person import Page, Person
from tests.faults.commands import CommandFailedError
from tests.imports import CHATGPT, CLAUDE
from tests.stage import until

# What a line of MEMORY.md and of an old log said before the person came here.
OLD_MEMORY = "- Emil's former company was called Brightwater.\n"
OLD_LOG = "# Friday, 3 January 2025\n\n- Emil handed in his badge of Brightwater.\n"
EDITED_LINE = "- Dora's shoe size is 39."


@dataclass
class Told:
    """A talk as it was lived through: where, and on which day of the person."""

    talk: Talk
    session: str
    day: dt.date
    answer: str


@dataclass
class Diary:
    """What happened, as the people know it."""

    told: list[Told] = field(default_factory=list)
    # Memory of people as a folder, before they left.
    left: dict[str, Path] = field(default_factory=dict)
    # What somebody could not do.
    failed: list[str] = field(default_factory=list)
    space: str = ""
    shared_session: str = ""

    def of(self, who: str) -> list[Told]:
        """Return what a person has told, in order."""
        return [told for told in self.told if told.talk.who == who]


class Team:
    """The people of a household."""

    def __init__(self, household: Household, life: Life, folder: Path, monday: dt.date) -> None:
        self.household, self.life, self.folder, self.monday = household, life, folder, monday
        self.diary = Diary()
        self.people = {name: Person(household, name, PEOPLE[name]) for name in life.people}
        # The conversation in which each subject was last talked about.
        self._sessions: dict[str, str] = {}
        self._writing = threading.Lock()

    @property
    def present(self) -> list[Person]:
        """Return the people who have not left the team."""
        return [person for name, person in self.people.items() if name not in self.diary.left]

    def move_in(self, first_link: str) -> None:
        """Make the accounts: the first by the link of the start (else of the command), the others by theirs."""
        owner, *others = self.people.values()
        owner.accept(first_link or self.household.run("adduser", owner.email, "--role", "owner"))
        for person in others:
            person.accept(self.household.run("adduser", person.email))

    def live(self) -> None:
        """Live through the whole life, and leave."""
        for moment in self.life.moments:
            self.live_through(moment)
        for person in self.present:
            person.leave()

    def live_through(self, moment: Moment) -> None:
        """Let the time pass, come back, act and talk."""
        print(f"Day {moment.day}, {moment.time}", flush=True)
        if moment.time == "09:00":
            self._evening()
        self.household.pass_to(moment.after(self.monday))
        for act in self.life.acts:
            if act.at == moment:
                self._act(act)
        talks = [talk for talk in self.life.talks if talk.at == moment]
        names = {talk.who for talk in talks}
        with concurrent.futures.ThreadPoolExecutor(len(self.people)) as pool:
            list(pool.map(lambda name: self._sit(name, [talk for talk in talks if talk.who == name]), names))
        for person in self.present:
            person.stay()
        # A scheduled task that was due while its person talked is tried again after two minutes.
        self.household.pass_to(max(self.household.clock.now(), moment.after(self.monday) + dt.timedelta(minutes=3)))
        self.household.settle()

    def _evening(self) -> None:
        for person in self.present:
            if person.name not in STAYING:
                person.leave()

    def _act(self, act: Act) -> None:
        self._try(f"{act.who} {act.does}", lambda: getattr(self, act.does)(self.people[act.who]))

    def _sit(self, name: str, talks: Iterable[Talk]) -> None:
        person = self.people[name]
        self._try(f"{name} comes back", person.come_back)
        for talk in talks:
            self._try(f"{name} says “{talk.words}”", partial(self._talk, person, talk))

    def _try(self, what: str, do: Callable[[], None]) -> None:
        """Do something; what fails is noted, and life goes on."""
        try:
            do()
        except (AssertionError, LookupError, OSError, ValueError, StopIteration, CommandFailedError) as error:
            self.diary.failed.append(f"{what}: {error!r}")

    def _talk(self, person: Person, talk: Talk) -> None:
        session = self._sessions[talk.subject] if talk.goes_on else str(uuid.uuid4())
        self._sessions[talk.subject] = session
        files = {}
        if talk.kind == "file":
            added = person.upload(f"/c/{session}/files", FILE.name, FILE.read_bytes())
            files = {"files": [json.loads(added.text)["id"]]}
        day = person.day(self.household.clock.now())
        person.say(session, talk.text, **files)
        messages = json.loads(done(person.get(f"/c/{session}/export.json")).text)["messages"]
        answer = " ".join(block.get("text", "") for block in messages[-1]["content"])
        with self._writing:
            self.diary.told.append(Told(talk, session, day, answer))

    # -- Other acts ------------------------------------------------------------------------------

    def makes_a_space(self, owner: Person) -> None:
        """Make a space for three of them."""
        page = done(owner.post("/spaces/new", name="Lighthouse", description="", kind="team", colour="0"))
        self.diary.space = page.path
        for name in ("ben", "cleo"):
            email = self.people[name].email
            done(owner.post(f"{self.diary.space}members/add", email=email, role="editor"))
            person = self.people[name]
            person.come_back()
            (number,) = set(re.findall(r"/spaces/invitations/(\d+)", done(person.get("/spaces/")).text))
            done(person.post(f"/spaces/invitations/{number}", do="accept"))

    def sets_a_budget(self, owner: Person) -> None:
        """Limit what everybody may spend in a month, far above what they do."""
        done(owner.post("/team/budgets/", period="month", email="", group="", max_cost="", max_tokens="90000000"))

    def schedules_a_task(self, person: Person) -> None:
        """Let the assistant say something on each working day."""
        days = {"repeat": "weekly", "at": "08:00", "days": ["0", "1", "2", "3", "4"]}
        done(person.post("/schedules/new", {"text": "Tell me what is new.", "day": "1", "on": "", **days}))

    def imports_conversations(self, person: Person) -> None:
        """Bring conversations of other programs."""
        for name, conversation in (("chatgpt.zip", CHATGPT), ("claude.zip", CLAUDE)):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("conversations.json", json.dumps([conversation]))

            def is_taken(name: str = name, content: bytes = packed.getvalue()) -> bool:
                # One import of a person runs at a time.
                return person.upload("/import", name, content).status == 200

            until(is_taken, 120, f"{name} was taken")

    def imports_a_folder(self, person: Person) -> None:
        """Add memory that was kept elsewhere to one's own, by the commands: an import replaces the files it brings."""
        folder = self.export(person.name)
        with (folder / "MEMORY.md").open("a") as file:
            file.write(f"\n{OLD_MEMORY}")
        (folder / "memory" / "2025-01-03.md").write_text(OLD_LOG)
        self.household.run("memory", "import", str(folder), "--user", person.email, "--wait")

    def shares_a_conversation(self, owner: Person) -> None:
        """Share a conversation with the space, in which another member goes on."""
        session = str(uuid.uuid4())
        owner.say(session, "We want to paint the lighthouse before winter.")
        number = self.diary.space.strip("/").rpartition("/")[2]
        done(owner.post(f"/c/{session}/share-with", space=number))
        self.people["ben"].come_back()
        self.people["ben"].say(session, "I can borrow the scaffolding from the boatyard.")
        self.diary.shared_session = session

    def sees_a_release(self, person: Person) -> None:
        """Replace all processes while people write; what they send is sent again on a new socket."""
        ends = threading.Event()
        session = str(uuid.uuid4())

        def write() -> list[str]:
            said = []
            while not ends.is_set() or not said:
                text = f"We are in the middle of the release, part {len(said) + 1}."
                person.say(session, text)
                said.append(text)
                ends.wait(1)
            return said

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            try:
                self.household.release()
            finally:
                ends.set()
            texts = writing.result(120)
        exported = done(person.get(f"/c/{session}/export.json"))
        # Not the title, which may have the same words.
        assert [exported.text.count(f'"text": {json.dumps(text)}') for text in texts] == [1] * len(texts)

    def arrives_in_california(self, person: Person) -> None:
        """Be nine hours further west."""
        person.come_back()
        person.live_in("America/Los_Angeles")

    def arrives_at_home(self, person: Person) -> None:
        """Be back."""
        person.come_back()
        person.live_in(PEOPLE[person.name])

    def edits_a_file_on_the_disk(self, person: Person) -> None:
        """Write a line into one's MEMORY.md with an editor."""
        known = next(told.talk for told in self.diary.of(person.name) if told.talk.saves)
        files = (self.household.house.home / "workspaces").glob("*/MEMORY.md")
        file = next(file for file in files if known.fact in file.read_text())
        file.write_text(f"{file.read_text().rstrip()}\n\n{EDITED_LINE}\n")

    def asks_about_the_folder(self, person: Person) -> None:
        """Ask for what came with the folder."""
        session = str(uuid.uuid4())
        person.come_back()
        person.say(session, "What was my former company called?")
        assert "Brightwater" in done(person.get(f"/c/{session}")).words.rpartition("What was my former")[2]

    def removes_emil(self, owner: Person) -> None:
        """Remove a colleague, after keeping what they take along."""
        emil = self.people["emil"]
        self.diary.left["emil"] = self.export("emil")
        owner.come_back()
        numbers = set(re.findall(r"/team/people/(\d+)/", done(owner.get("/team/people/")).text))
        pages = [owner.get(f"/team/people/{number}/") for number in sorted(numbers)]
        path = next(page.path for page in pages if emil.email in page.words)
        # The form says what goes with him, and is sent as it was read.
        form = owner.prove(owner.get(f"{path}offboard"))
        (digest,) = re.findall(r'name="digest" value="(\w+)"', form.text)
        page = owner.prove(owner.post(f"{path}offboard", to=self.people["dora"].email, digest=digest))
        assert "/team/offboardings/" in page.path, (page.status, page.path, page.words[:400])
        emil.leave()

    def export(self, name: str) -> Path:
        """Return the folder of a person's memory, by the command."""
        if name in self.diary.left:
            return self.diary.left[name]
        folder = self.folder / f"export-{name}-{uuid.uuid4().hex[:6]}"
        self.household.run("memory", "export", str(folder), "--user", self.people[name].email)
        return folder


def done(page: Page) -> Page:
    """Return a page that opened; fail with what it says otherwise."""
    assert page.status == 200, (page.status, urlsplit(page.url).path, page.words[:600])
    return page
