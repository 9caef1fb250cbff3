"""Draw the pictures under docs/screenshots: `python docs/screenshots.py [--into FOLDER] [NAME …]`, all or those named.

It runs the product on a data folder of its own that is thrown away, with a scripted model and the system's Chromium.
"""

# ruff: noqa: E402 - settings are read when Django is imported, so the data folder is chosen before

import argparse
import asyncio
import datetime as dt
import io
import os
import sys
import tempfile
import uuid
from pathlib import Path
from unittest import mock

HOME = tempfile.TemporaryDirectory(prefix="oneclaw-screenshots-")
os.environ["ONECLAW_HOME"] = HOME.name
os.environ["DJANGO_SETTINGS_MODULE"] = "oneclaw.settings"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import django

django.setup()

import screenshots_team
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone
from PIL import Image, ImageDraw
from playwright.async_api import Page

from chat.conversations import agents, transcript
from chat.conversations.keys import Sender
from chat.library import saved_prompts
from chat.library.spaces import move
from chat.models import ChatSession, IdentityLink, ResetChoice, SharedLink, Turn
from chat.routes import deliver
from chat.schedules import beat as beats
from chat.schedules import changes, planning
from memory.documents import write as documents
from memory.documents.write import Append, Author, Source
from memory.lab import golden
from memory.models import MemoryDocument, MemoryRevision, Suggestion, Topic
from memory.skills import importing, writing
from memory.tools import decisions, reviews
from memory.tools.contradictions import Contradicted
from memory.trust.rule import SourceText
from memory.trust.suggestions import wait
from oneclaw import runtime_settings
from oneclaw.demo import model as demo
from oneclaw.llm import Block
from oneclaw.models import RuntimeSetting, Space, User
from oneclaw.spaces import lifecycle as spaces
from oneclaw.spaces import members
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, LiveServer, open_page
from tests.scripted import ScriptedModel, answer, key_refused, text, tool_use

PLAN = """Here is a plan for Saturday, as **short** as you like it.

## Before the van comes

1. Book the lift for *9:00*
2. Label the boxes by room
3. Cancel the old router

| Room | Boxes | Who |
|---|---:|---|
| Kitchen | 12 | Grace |
| Study | 21 | you |

```python
def boxes(rooms: dict[str, int]) -> int:
    \"\"\"How many there are in all.\"\"\"
    return sum(rooms.values())  # 33
```

> Measure the sofa first: the stairs allow `90 cm`.
"""
FACT = "Ada moves house on Saturday, 28 November 2026, and prefers short answers."
SEEN = """The sofa has **2.10 m**, and the wall between the doors 2.40 m: it fits, with 15 cm to spare on each side.

The table leaves enough room to walk around it.
"""
LETTERS = """---
name: tax-letters
description: Answers letters of the tax office. Use it for assessments, deadlines and objections.
compatibility: Needs the letter as text or PDF.
allowed-tools: Read
---

# Letters of the tax office

1. Find the deadline first: it is one month after the letter arrived.
2. You must never promise a result.
3. Answer in the language of the letter, in at most one page.
"""
DEADLINE = """import datetime as dt

print(dt.date.today() + dt.timedelta(days=30))
"""
WEEK = """Three things this week:

- **Tuesday**, 18:00: piano lesson
- **Friday**: return the spare key to Mr. Okoye
- **Saturday**: the move; the van comes at 9:00
"""
OFFERS = "Nordwind asks €480, Hafen €560, and Tide €610. Only Nordwind has a van on Saturday."
CHEAPEST = "**Nordwind**: it is the cheapest, and the only one that has a van on Saturday."
TITLES = ["A birthday present for Grace", "Why the evening sky turns red", "Dinner for six, two of them vegan"]

# What was saved how many days ago.
MEMORIES = [
    (171, "My sister Ines lives in Lisbon with her two sons."),
    (164, "I am vegetarian, and allergic to hazelnuts."),
    (158, "I work at the harbour office; my boss is Grace Hopper."),
    (120, "The piano lesson is on Tuesdays at 18:00."),
    (96, "I like green tea in the morning, and no coffee after noon."),
    (88, "The spare key of the flat lies with our neighbour, Mr. Okoye."),
    (61, "My mother’s birthday is on 3 May."),
    (40, "Plan: the boat is painted on {passed}."),
    (23, "My cat is called Miso and sleeps on the radiator."),
    (12, "We want to travel to the Azores in spring."),
    (5, "The deadline of the lighthouse project is 18 December."),
]
CONTRADICTION = "The piano lesson is on Thursdays at 18:00 now."
NOTES = [
    "Compared three moving companies; Nordwind is the cheapest.",
    "Ines visits over Easter and brings both boys.",
    "The lighthouse project needs a second electrician.",
    "Tried the lentil soup with lemon: keep the recipe.",
    "The surgery moved the check-up to the afternoon.",
]
OFFER = "The offer of Nordwind Removals is valid until the end of the month."

# The pictures that are taken; none named: all.
wanted: set[str] = set()


async def main(folder: Path, chosen: list[str]) -> None:
    wanted.update(chosen)
    await in_database(call_command, "migrate", verbosity=0)
    ada = await in_database(User.objects.create_user, "ada@example.org", None, first_name="Ada Lovelace")
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    await in_database(remember, ada)
    with ScriptedModel() as model, LiveServer() as live:
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "scripted", model.url
        async with open_page(live, ada) as page:
            for title in TITLES:
                await page.goto("/")
                await ask(page, title)
            model.script(
                answer(text("I will keep that in mind."), tool_use("save_memory", {"content": FACT})),
                answer(text("Saved. What do you need for the move?")),
                answer(text(PLAN)),
            )
            await page.goto("/")
            await ask(page, "Remember that we move on Saturday, and that I like short answers.")
            await ask(page, "Plan the day.\nTwo rooms, 33 boxes.")
            conversation = page.url
            model.script(key_refused())
            await page.goto("/")
            await ask(page, "What did we say about the sofa?")
            failure = page.url
            model.script(answer(text(SEEN)))
            await page.goto("/")
            plan = {"name": "living-room.png", "mimeType": "image/png", "buffer": floor_plan()}
            measures = {"name": "measures.csv", "mimeType": "text/csv", "buffer": b"what,cm\nsofa,210\nwall,240\n" * 9}
            await page.get_by_label("Attach files", exact=True).set_input_files([plan, measures])
            await page.locator(".chip[data-state=ready]").nth(1).wait_for()
            await ask(page, "Does the sofa fit between the doors?")
            attachments = page.url
            await in_database(arrange, ada)
            space = await in_database(work_together, ada)
        for scheme in ("light", "dark"):
            async with open_page(live, color_scheme=scheme) as page:
                await take(page, folder, "sign-in", scheme, "/accounts/login/")
            async with open_page(live, ada, color_scheme=scheme, viewport=DESKTOP) as page:
                await take(page, folder, "welcome", scheme, "/")
                await take(page, folder, "answer", scheme, conversation)
                await take(page, folder, "conversation", scheme, conversation, top=True)
                await take(page, folder, "failure", scheme, failure)
                await page.keyboard.press("Control+k")
                await search_for(page, "sofa")
                await take(page, folder, "search", scheme)
                await take(page, folder, "conversations", scheme, "/conversations")
                await take(page, folder, "forget", scheme, "/memory/forget?q=Ada")
                await take(page, folder, "memory", scheme, "/memory/")
                await take(page, folder, "skill", scheme, "/memory/skills/own/tax-letters/")
                await take(page, folder, "topic", scheme, f"/memory/topics/{Topic.PEOPLE}")
                await take(page, folder, "memory-search", scheme, "/memory/search?q=sister")
                await take(page, folder, "past", scheme, f"/memory/past?day={days_ago(25)}")
                await take(page, folder, "inbox", scheme, "/memory/inbox/")
                await take(page, folder, "lab", scheme, "/memory/lab?q=Where+does+my+sister+live%3F")
                await take(page, folder, "settings", scheme, "/settings/")
                await take(page, folder, "agents", scheme, "/agents")
                await take(page, folder, "space", scheme, f"/spaces/{space.pk}/")
                await take(page, folder, "space-members", scheme, f"/spaces/{space.pk}/members")
                await page.goto(attachments)
                await page.get_by_label("Attach files", exact=True).set_input_files(plan)
                await page.locator(".chip[data-state=ready] img").wait_for()
                await take(page, folder, "attachments", scheme)
                await page.get_by_role("button", name="Remove living-room.png").click()
                await slash(page)
                await take(page, folder, "prompts", scheme)
                await in_database(SharedLink.objects.all().delete)
                await page.goto(f"{conversation}/share")
                await page.get_by_role("button", name="Create link").click()
                await take(page, folder, "share", scheme)
            async with open_page(live, ada, color_scheme=scheme, viewport=PHONE) as page:
                await take(page, folder, "phone-welcome", scheme, "/")
                await take(page, folder, "phone", scheme, conversation, top=True)
                await page.get_by_role("button", name="Show the list of conversations").click()
                await take(page, folder, "phone-drawer", scheme)
                await page.get_by_role("link", name="Search").click()
                await search_for(page, "sofa")
                await take(page, folder, "phone-search", scheme)
                await take(page, folder, "phone-conversations", scheme, "/conversations")
                await take(page, folder, "phone-memory", scheme, "/memory/")
                await take(page, folder, "phone-skills", scheme, "/memory/skills/")
                await take(page, folder, "phone-topic", scheme, f"/memory/topics/{Topic.PEOPLE}")
                await take(page, folder, "phone-past", scheme, f"/memory/past?day={days_ago(25)}")
                await take(page, folder, "phone-inbox", scheme, "/memory/inbox/")
                await take(page, folder, "phone-settings", scheme, "/settings/")
                await take(page, folder, "phone-space", scheme, f"/spaces/{space.pk}/")
                await take(page, folder, "phone-space-members", scheme, f"/spaces/{space.pk}/members")
                await page.goto(attachments)
                await page.locator("article img").wait_for()
                await take(page, folder, "phone-attachments", scheme)
                await slash(page)
                await take(page, folder, "phone-prompts", scheme)
                await in_database(SharedLink.objects.all().delete)
                await page.goto(f"{conversation}/share")
                await page.get_by_role("button", name="Create link").click()
                await take(page, folder, "phone-share", scheme)
        await unattended(live, folder, ada, model)
        await team(live, folder, ada)
        await walk(live, folder)


async def unattended(live: LiveServer, folder: Path, ada: User, model: ScriptedModel) -> None:
    """Draw what happens with nobody at the page, and work that is given to others."""
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "scripted", model.url
    settings.DM_SCOPE = "per-channel-peer"
    model.script(
        answer(tool_use("heartbeat_respond", {"tell": True, "text": WEEK, "note": "told the week"})),
        answer(tool_use("heartbeat_respond", {"tell": False, "note": "no new letter"})),
    )
    await in_database(schedule, ada)
    await in_database(talk_elsewhere, ada)
    await in_database(agents.turn_on, ada, ["sessions_spawn"])
    spawn = {"task": "Compare the offers of three moving companies for 33 boxes.", "wait": 60}
    model.script(answer(tool_use("sessions_spawn", spawn)), answer(text(OFFERS)), answer(text(CHEAPEST)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Which moving company is the best for us?")
        conversation = page.url
    for scheme in ("light", "dark"):
        async with open_page(live, ada, color_scheme=scheme, viewport=DESKTOP) as page:
            await take(page, folder, "schedules", scheme, "/schedules/")
            await page.locator("#news").scroll_into_view_if_needed()
            await take(page, folder, "schedules-done", scheme)
            await take(page, folder, "sub-session", scheme, conversation)
            await take(page, folder, "channels", scheme, "/settings/channels")
            await slash(page, "$")
            await take(page, folder, "named-skill", scheme)
        async with open_page(live, ada, color_scheme=scheme, viewport=PHONE) as page:
            await take(page, folder, "phone-schedules", scheme, "/schedules/")
            await take(page, folder, "phone-channels", scheme, "/settings/channels")


def schedule(user: User) -> None:
    """Make two tasks, and carry out one of them and the heartbeat."""
    morning, days = "08:00", ["0"]
    weekly = changes.checked_task("List what I have planned for the week.", "weekly", morning, days, None, None)
    monthly = changes.checked_task("Remind me of the rent.", "monthly", "09:30", [], 1, None)
    nothing = changes.checked_options(user, {}, [])
    task = changes.save_task(user, weekly, nothing, None)
    changes.save_task(user, monthly, nothing, None)
    space = Space.objects.own_of(user)
    documents.apply(space, "HEARTBEAT.md", Append("- [ ] Tell me when a letter has come\n"), Author(Source.PAGE, user))
    heartbeat = planning.heartbeat_of(user)
    changes.set_enabled(heartbeat, True)
    for each in (task, heartbeat):
        changes.run_now(each)
        for beat_id in planning.sweep():
            beats.run(beat_id)


def talk_elsewhere(user: User) -> None:
    """Write from three channels, two of which are linked."""
    ResetChoice.objects.create(owner=user, reset="daily")
    said = [
        ("telegram", "@ada", "Is the lift booked?"),
        ("signal", "+41 44 123 45 67", "Where is the key of the cellar?"),
        ("terminal", "study", "List the files of yesterday"),
    ]
    for channel, peer, words in said:
        sender = Sender(channel, peer)
        accepted = deliver.accept(user, deliver.Incoming(sender, uuid.uuid4(), words))
        content: list[Block] = [{"type": "text", "text": "Yes."}]
        transcript.finish_turn(accepted.turn, accepted.answer, content, Turn.Status.COMPLETE)
        if channel != "terminal":
            IdentityLink.objects.create(
                owner=user, canonical="Ada", provider=channel, peer=peer, proven_at=timezone.now()
            )


async def team(live: LiveServer, folder: Path, ada: User) -> None:
    """Draw the pages of those who run the installation for a team."""
    owner, person = await in_database(screenshots_team.gather, ada)
    for scheme in ("light", "dark"):
        async with open_page(live, owner, color_scheme=scheme, viewport=DESKTOP) as page:
            await page.goto("/settings/")
            await take(page, folder, "team-announcement", scheme, "/")
            await page.get_by_role("button", name="Dismiss").click()
            await take(page, folder, "team-people", scheme, "/team/people/")
            await take(page, folder, "team-person", scheme, f"/team/people/{person.pk}/")
            await page.goto(f"/team/people/{person.pk}/offboard")
            await page.get_by_label("Password").fill(screenshots_team.PASSWORD)
            await page.get_by_role("button", name="Confirm").click()
            await page.get_by_role("heading", name="Remove").wait_for()
            await take(page, folder, "team-removal", scheme)
            await take(page, folder, "team-invitations", scheme, "/team/invitations/")
            await take(page, folder, "team-groups", scheme, "/groups/")
            await page.goto("/team/usage/")
            await page.get_by_role("heading", name="By day").evaluate("heading => heading.scrollIntoView()")
            await take(page, folder, "team-usage", scheme)
            await take(page, folder, "team-budgets", scheme, "/team/budgets/")
            await take(page, folder, "team-limits", scheme, "/team/limits/")
            await take(page, folder, "team-settings", scheme, "/team/settings/")
            await take(page, folder, "team-retention", scheme, "/team/retention/")
            await take(page, folder, "team-audit", scheme, "/team/audit/")
            await take(page, folder, "team-health", scheme, "/team/health/")
        await in_database(User.objects.filter(pk=owner.pk).update, dismissed_announcement="")
        async with open_page(live, owner, color_scheme=scheme, viewport=PHONE) as page:
            await take(page, folder, "phone-team-people", scheme, "/team/people/")
            await take(page, folder, "phone-team-usage", scheme, "/team/usage/")
        async with open_page(live, ada, color_scheme=scheme, viewport=PHONE) as page:
            await take(page, folder, "phone-looks", scheme, "/memory/looks")
    await in_database(RuntimeSetting.objects.all().delete)
    runtime_settings.stored.forget()


async def walk(live: LiveServer, folder: Path) -> None:
    """Draw the steps that lead a new person of an installation without a key through memory."""
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    model = demo.start()
    settings.DEMO_URL = model.url
    for scheme in ("light", "dark"):
        grace = await in_database(User.objects.create_user, f"{scheme}@example.org", None, first_name="Grace Hopper")
        async with open_page(live, grace, color_scheme=scheme, viewport=DESKTOP) as page:
            await take(page, folder, "walk", scheme, "/")
            await take_step(page, "Remember that my cat is called Miso.")
            await page.get_by_role("main").get_by_role("link", name="New conversation").click()
            await take_step(page, "What is my cat called?")
            # The end is shown once, so on the page that is open.
            await page.set_viewport_size(PHONE)
            await take(page, folder, "phone-walk", scheme)
    model.stop()


async def take_step(page: Page, words: str) -> None:
    """Send what a step of the walk suggests, and wait for the next step."""
    current = page.locator(".walk [aria-current=step]")
    step = await current.inner_text()
    await page.get_by_role("button", name=words).click()
    await ask(page, words)
    await current.get_by_text(step, exact=True).wait_for(state="detached")


def work_together(user: User) -> Space:
    """Make a space with members, and move conversations into it."""
    about = "What we know of the lighthouse, and who does what until the winter."
    made = spaces.create(user, spaces.checked_draft("Lighthouse", about, 5, "team"))
    for name, role in (("Grace Hopper", "editor"), ("Joan Clarke", "editor"), ("Alan Turing", "reader")):
        email = f"{name.split()[0].lower()}@lighthouse.example.org"
        User.objects.create_user(email, None, first_name=name)
        members.add_by_email(made, email, role)
    for session in ChatSession.objects.visible_to(user).listed().filter(title__in=TITLES):
        move(user, session.pk, made)
    return made


def days_ago(count: int) -> dt.date:
    return timezone.localdate() - dt.timedelta(days=count)


def remember(user: User) -> None:
    """Fill the memory of half a year, the inbox and the recall lab."""
    space = Space.objects.own_of(user)
    passed = f"{days_ago(9):%-d %B}"
    for days in range(180, 0, -1):
        day = days_ago(days)
        for line in (line.format(passed=passed) for before, line in MEMORIES if before == days):
            write(space, user, day, "MEMORY.md", f"- {line}\n")
        if days * days % 11 < 4:
            notes = "".join(f"- {NOTES[(days + number) % len(NOTES)]}\n" for number in range(1 + days % 3))
            write(space, user, day, f"memory/{day}.md", f"# {day}\n\n{notes}")
    revision = write(space, user, days_ago(0), "MEMORY.md", f"- {CONTRADICTION}\n")
    lines = MemoryDocument.objects.get(space=space, path="MEMORY.md").content.split("\n")
    number = next(number for number, line in enumerate(lines, 1) if "on Tuesdays" in line)
    decisions.ask_about_contradiction(revision, Contradicted("MEMORY.md", number, number, lines[number - 1]))
    wait(space, "MEMORY.md", OFFER, SourceText(Suggestion.Kind.ATTACHMENT, "offer.pdf", ""))
    reviews.ask(user)
    golden.keep(space, "Where does my sister live?", MEMORIES[0][1])
    golden.keep(space, "What must I not eat?", MEMORIES[1][1])
    golden.run(space, user)


def write(space: Space, user: User, day: dt.date, path: str, text: str) -> MemoryRevision:
    """Append `text` to a document as if it were the morning of `day`."""
    morning = dt.datetime.combine(day, dt.time(7, 30), dt.UTC)
    with mock.patch("django.utils.timezone.now", return_value=morning):
        revision = documents.apply(space, path, Append(text), Author(Source.TOOL, user))
    assert revision is not None
    return revision


def arrange(user: User) -> None:
    """Create agents and prompts."""
    tutor = "Speak French with me, in short sentences. Correct each mistake once, and say why."
    agents.create(user, agents.AgentDraft("French tutor", tutor, "", ["memory_search"], own_memory=True))
    agents.create(user, agents.AgentDraft("Proofreader", "Mend spelling and grammar. Change nothing else.", "", []))
    saved_prompts.save(user, "weekly-report", "Write the report of week {{number}} for {{team}}, in five lines.")
    saved_prompts.save(user, "shorter", "Say the same in half as many words.")
    written = (
        "1. Group the changes into Added, Changed and Fixed.\n2. Write one sentence for each, in the words of a user."
    )
    about = "Writes release notes from merged changes. Use it when a release is prepared."
    writing.create(user, Space.objects.own_of(user), "release-notes", writing.new_text("release-notes", about, written))
    files = {"tax-letters/SKILL.md": LETTERS.encode(), "tax-letters/scripts/deadline.py": DEADLINE.encode()}
    importing.store(user, "skills.zip", importing.skills_in(files))


def floor_plan() -> bytes:
    """Return a PNG of a room with two doors and a sofa."""
    image = Image.new("RGB", (480, 320), "#f7f3ea")
    pen = ImageDraw.Draw(image)
    pen.rectangle((30, 30, 450, 290), outline="#4a4038", width=8)
    for left in (60, 350):
        pen.rectangle((left, 24, left + 70, 40), fill="#f7f3ea")
        pen.arc((left, -30, left + 140, 110), 90, 180, fill="#4a4038", width=3)
    pen.rounded_rectangle((150, 45, 330, 120), 14, fill="#b5651d", outline="#4a4038", width=3)
    pen.ellipse((160, 190, 320, 260), fill="#e3d9c6", outline="#4a4038", width=3)
    kept = io.BytesIO()
    image.save(kept, "PNG")
    return kept.getvalue()


async def ask(page: Page, words: str) -> None:
    """Send `words` and wait for the end of the answer."""
    asked = page.locator("article[data-role=user]")
    before = await asked.count()
    await page.get_by_label("Message", exact=True).fill(words)
    await page.keyboard.press("Enter")
    await asked.nth(before).wait_for()
    await page.locator("article[data-role=assistant]:last-child:not([data-status=running])").wait_for()
    await page.get_by_role("button", name="Send").wait_for()


async def search_for(page: Page, words: str) -> None:
    """Search for `words` in the open search dialog."""
    await page.get_by_label("Search conversations, or choose a command").fill(words)
    await page.locator("#palette mark").first.wait_for()


async def slash(page: Page, key: str = "/") -> None:
    """Open a new conversation with the list of commands, or with that which another key opens."""
    await page.goto("/")
    await page.mouse.move(0, 0)
    text = page.get_by_label("Message", exact=True)
    # Wait until the script handles the field.
    await page.wait_for_function("document.getElementById('text').hasAttribute('aria-controls')")
    await text.press(key)
    await page.locator("#commands [role=option]").first.wait_for()


async def take(page: Page, folder: Path, name: str, scheme: str, address: str = "", *, top: bool = False) -> None:
    if address:
        await page.goto(address)
    if wanted and name not in wanted:
        return
    if top:
        await page.locator("[data-scroller]").evaluate("scroller => { scroller.scrollTop = 0 }")
    await page.wait_for_timeout(300)
    await page.screenshot(path=folder / f"{name}-{scheme}.png", animations="disabled", caret="hide")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "screenshots")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(options.into, options.names))
