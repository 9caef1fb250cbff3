"""Every page passes axe, in light and dark, and can be used by keyboard."""

import datetime as dt
import re

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from playwright.async_api import expect

from chat.attachments import store
from chat.context.prompt import build_request
from chat.conversations import agents
from chat.library import organise, saved_prompts
from chat.models import ChatSession, ImportJob, Message, Schedule, SessionRoute
from chat.rendering import outgoing_links
from chat.transfer import share
from memory.documents import write as documents
from memory.documents.write import Append, Author, Source
from memory.forgetting import forget
from memory.index.documents import index_document
from memory.library import files as library
from memory.library import reading
from memory.models import Topic
from oneclaw.models import Budget, ModelServer, Offboarding, Space, User
from oneclaw.people import invitations, keys, roles
from oneclaw.spaces import groups, members
from oneclaw.spaces import lifecycle as spaces
from oneclaw.threads import in_database
from tests import files
from tests import scripted as model
from tests.browser import PHONE, open_page, requested
from tests.browser import violations_in_both_schemes as violations
from tests.conversations import cite, send, settle
from tests.skills import unapproved_skill
from tests.summaries import summarised

pytestmark = pytest.mark.browser

# Seconds for a test that looks at some fifty pages, each in two sizes and both schemes, on a busy machine.
EVERY_PAGE_SECONDS = 360

NAME_OF_FOCUSED = """() => {
    const element = document.activeElement;
    if (element.hasAttribute("aria-labelledby")) {
        return document.getElementById(element.getAttribute("aria-labelledby")).textContent;
    }
    return element.ariaLabel || element.labels?.[0]?.textContent || element.textContent.trim();
}"""

ANSWER = (
    "# A plan\n\nWith [a link](https://example.org) and `code`.\n\n> Quoted.\n\n- [x] done\n- [ ] open\n\n"
    '| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\n@cache\ndef f(x: int) -> str:\n    """Doc."""\n'
    "    return f'{x:.2f}'  # why\n```\n\n```diff\n- old\n+ new\n```\n"
)


async def test_every_door(live, db):
    first = await in_database(invitations.first_account_link, live.url)
    paths = ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", first, "/welcome/MQ/x-y/"]
    async with open_page(live, expect=["410"]) as page:
        for path in paths:
            await page.goto(path)
            await asks_for_few_files(page)
            assert await violations(page) == "", path


def addresses(patterns=None, before="/"):
    """All addresses of the product, with their parts as they are to be filled in: a new page is looked at by itself."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, address)
        elif not address.startswith(("/admin/", "/api/", "/^")):
            yield address


async def asks_for_few_files(page):
    assert await requested(page, "css") == ["/static/css/oneclaw.css"], page.url
    scripts = await requested(page, "js")
    assert len(scripts) <= 3, (page.url, scripts)


async def passes(page, path):
    """The page at this address asks for few files, fits a small window, and axe finds nothing wrong with it."""
    await page.goto(path)
    await asks_for_few_files(page)
    await page.set_viewport_size({"width": 320, "height": 640})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    await page.set_viewport_size({"width": 1280, "height": 720})
    assert await violations(page) == "", path


def make_owner(person):
    """Let the person run the server for others, and open every page for that."""
    roles.set_role(person, User.Role.OWNER)
    person.save()


async def prove(page):
    """Let the person whose page it is have entered their password just now, as before rights are changed."""
    [key] = [each["value"] for each in await page.context.cookies() if each["name"] == "sessionid"]

    def enter():
        browser = Client()
        browser.cookies["sessionid"] = key
        assert browser.post("/accounts/reauthenticate/", {"password": "correct horse battery"}).status_code == 302

    await in_database(enter)


@pytest.mark.timeout(EVERY_PAGE_SECONDS)
async def test_every_page_of_a_person(live, ada):
    await in_database(make_owner, ada)
    pages = []
    # A program that asks to sign in without saying which it is gets 400.
    async with open_page(live, ada, expect=["404", "400"]) as page:
        await prove(page)
        # Nothing can be loaded into that frame without an origin; test_diagrams.py looks at what it draws.
        whole = [path for path in addresses() if "<" not in path and path != "/diagrams"]
        for path in [*whole, "/nowhere", await in_database(invitations.invitation_link, ada, live.url)]:
            # Parts of pages, files, and data for programs are no pages.
            if (await (await page.request.get(path)).body()).lower().startswith(b"<!doctype html"):
                await passes(page, path)
                pages.append(path)
    wanted = {"/", "/settings/", "/agents/", "/agents/new", "/prompts/", "/conversations", "/import", "/shared"}
    wanted |= {"/search", "/memory/", "/memory/forget", "/memory/import", "/accounts/logout/", "/nowhere"}
    wanted |= {"/team/people/", "/team/retention/", "/team/audit/", "/groups/", "/memory/documents/"}
    wanted |= {"/accounts/second-factor/totp/activate/", "/accounts/second-factor/webauthn/add/"}
    assert wanted <= set(pages)


@pytest.fixture
def parts(live, ada):
    """What fills in each part of an address: something of Ada's that there is."""
    tea, coffee, old, gone = (send(ada, f"Which {title} is good?") for title in ("tea", "coffee", "water", "juice"))
    for accepted in (tea, coffee, old, gone):
        settle(accepted, "**Camomile**, and `code`.")
    session = tea.message.session
    folder = organise.get_or_create_folder(ada, "Kitchen")
    organise.organise(ada, [coffee.message.session_id], "move", folder)
    organise.organise(ada, [old.message.session_id], "archive")
    organise.organise(ada, [gone.message.session_id], "delete")
    link, token = share.share(session.owner, session, "week")
    space = Space.objects.own_of(ada)
    revision = documents.apply(space, "MEMORY.md", Append("# Ada\n\n- tea\n- milk\n- honey"), Author(Source.PAGE, ada))
    log = documents.apply(
        space, "memory/2026-11-03.md", Append("The tea was brought from Naxos."), Author(Source.PAGE, ada)
    )
    index_document(log.document_id)
    # What the model is sent after it stays.
    forgetting = forget.forget(space, ["- milk"], ada)
    cited = send(ada, "Who brought the tea from Naxos?")
    build_request(cited.turn)
    settle(cited, "A ferry.")
    mark = cite(cited)
    server_said(cited.answer.pk)
    make_owner(ada)
    bob = User.objects.create_user("bob@example.org", "correct horse battery")
    team = spaces.create(ada, spaces.checked_draft("Engine room", "What we know of engines"))
    group = groups.create("Night shift")
    groups.add(group, ada)
    plan = library.add(team, ada, "plan.txt", b"The boilers are cold until Monday.\n")
    reading.run(plan.pk)
    passkey = Authenticator.objects.create(user=ada, type="webauthn", data={"name": "Laptop", "credential": {}})
    address = EmailAddress.objects.create(user=ada, email="ada@example.com")
    # Where one only presses something there is nothing to look at, and any number will do.
    pressed = [
        "proposal",
        "decision",
        "device",
        "key",
        "suggestion",
        "review",
        "task",
        "rule",
        "hold",
        "linked",
        "invitation",
        "row",
    ]
    return {f"{name}_id": 1 for name in (*pressed, "invitation")} | {
        "person_id": bob.pk,
        "offboarding_id": Offboarding.objects.create(person=2**31 - 9, status="done", finished_at=timezone.now()).pk,
        "key_id": keys.make(ada, "Agent", "year")[0].pk,
        "server_id": ModelServer.objects.create(name="far", url="http://127.0.0.1:9", offers=[{"model": "m"}]).pk,
        "budget_id": Budget.objects.create(period="month", user=bob, max_cost=20).pk,
        "name": "announcement",
        "file_id": plan.file_id,
        "cited": cited.answer.pk,
        "mark": mark,
        # It carries a word of memory that nobody typed, so the page asks.
        "to": outgoing_links.signed(cited.answer.pk, "https://example.org/?d=honey"),
        "pk": passkey.pk,
        "key": EmailConfirmationHMAC(address).key,
        "session_id": session.pk,
        "message_id": tea.message.pk,
        "attachment_id": store.store_file(ada, "cat.png", files.image()).pk,
        "job_id": ImportJob.objects.create(owner=ada, name="export.zip", status="done", total=1, done=1, brought=1).pk,
        "prompt_id": saved_prompts.save(ada, "greet", "Greet {{name}} kindly").pk,
        "slug": agents.create(ada, agents.AgentDraft("Poet", "Rhyme.", "", [])).slug,
        "folder_id": folder.pk,
        "space_id": team.pk,
        "member_id": team.members.get().pk,
        "group_id": group.pk,
        "held_id": members.add_group(team, group, "reader").pk,
        "link_id": link.pk,
        # Of the same conversation.
        "number": round_of(session).number,
        "token": token,
        "source": "own",
        "folder": unapproved_skill(ada).folder,
        "document_id": revision.document_id,
        "route_id": SessionRoute.objects.create(
            owner=ada,
            agent=session.agent,
            key=f"agent:oneclaw:user:{ada.pk}:dm:1",
            channel="telegram",
            peer="1",
            session=session,
        ).pk,
        "topic": Topic.OTHER.value,
        "schedule_id": Schedule.objects.create(
            owner=ada, kind="task", text="Water the plants", repeat="daily", at=dt.time(8), confirmed_at=timezone.now()
        ).pk,
        "line": 3,
        "question_id": 1,
        "memory_id": "0",
        "revision_id": revision.pk,
        "forgetting_id": forgetting.pk,
    }


def server_said(message_id):
    """An administrator may read what the model's server said about an answer."""
    message = Message.objects.get(pk=message_id)
    message.meta[Message.SERVER_SAID_KEY] = "overloaded"
    message.save(update_fields=["meta"])


def round_of(session):
    """A summary of the conversation that the model reads."""
    settle(send(session.owner, "And which one is better? " * 50, session.pk), "Mint. " * 50)
    settle(send(session.owner, "Why? " * 50, session.pk), "It is fresh. " * 50)
    return summarised(ChatSession.objects.select_related("agent", "owner", "head").get(pk=session.pk))


# Tests of their own look at what these links open; what is below the last one is for programs.
LINKS = ("/welcome/", "/first/", "/invited/", "/confirmed/", "/scim/")


@pytest.mark.timeout(EVERY_PAGE_SECONDS)
async def test_every_page_of_something(live, ada, parts, settings):
    filled = [
        re.sub(
            r"<(?:\w+:)?(\w+)>",
            lambda part: str(parts[part[1]]),
            re.sub("message_id>/(sources|leave|said)", r"cited>/\1", path),
        )
        for path in addresses()
        if "<" in path and not path.startswith(LINKS)
    ]
    filled += ["/search?q=camomile", "/conversations?show=archived", "/conversations?show=deleted", "/shared"]
    filled += [f"/conversations?show=folder-{parts['folder_id']}", f"/memory/forget?document={parts['document_id']}"]
    pages = []
    async with open_page(live, ada, expect=["410"]) as page:
        await prove(page)
        settings.MAIL = True
        for path in filled:
            answer = await page.request.get(path, max_redirects=0)
            # Something is there; or it is only pressed, or a part of another page.
            assert answer.status in (200, 204, 302, 405), path
            if answer.status == 200 and (await answer.body()).lower().startswith(b"<!doctype html"):
                await passes(page, path)
                pages.append(path)
        await passes(page, "/confirmed/nothing/")
    wanted = ["/team/people/{person_id}/", "/team/people/{person_id}/offboard", "/team/offboardings/{offboarding_id}"]
    wanted += ["/team/models/servers/{server_id}/"]
    wanted += ["/team/budgets/{budget_id}/", "/groups/{group_id}", "/memory/documents/{file_id}/"]
    wanted += ["/messages/{cited}/leave/{to}"]
    wanted += ["/accounts/confirm-email/{key}/", "/accounts/second-factor/webauthn/keys/{pk}/remove/"]
    assert {path.format_map(parts) for path in wanted} <= set(pages)
    assert len(pages) >= 30, pages


async def test_the_chat_in_each_of_its_states(live, ada, scripted, ask, write, settings):
    scripted.script(
        model.answer(model.text("I keep that."), model.tool_use("save_memory", {"content": "Ada likes tea."})),
        model.answer(model.text(ANSWER)),
        model.key_refused(),
        model.answer(model.text(["One"] + [" more"] * 400, pace=0.1)),
    )
    async with open_page(live, ada) as page:
        await page.goto("/")
        assert await violations(page) == ""
        await ask(page, "Remember that I like tea")
        await page.locator(".card summary").first.click()
        await page.locator(".card").get_by_text("Details", exact=True).click()
        await ask(page, "And now?")
        assert await violations(page) == ""
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One")
        # It is queued until the answer is finished.
        await write(page, "And then?")
        await expect(page.get_by_role("button", name="Remove")).to_be_visible()
        assert await violations(page) == ""
        settings.MESSAGE_LENGTH = 3
        await page.keyboard.press("Escape")
        await expect(page.locator("article[data-status=stopped]")).to_be_visible()
        await expect(page.locator(".message--refused")).to_be_visible()
        await page.locator(".session").first.hover()
        assert await violations(page) == ""
        await page.get_by_role("link", name="More for “").click()
        await page.get_by_text("Move to a folder").click()
        assert await violations(page) == ""
        await page.get_by_role("link", name="Rename").click()
        await expect(page.get_by_label("Title")).to_be_focused()
        assert await violations(page) == ""


async def test_the_drawer_and_the_hints(live, ada, settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        assert await violations(page) == ""
        await page.get_by_role("button", name="Show the list of conversations").click()
        assert await violations(page) == ""
        settings.DEMO_URL = "http://127.0.0.1:1"
        await page.goto("/")
        assert await violations(page) == ""


async def test_the_keyboard_reaches_everything(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await page.locator(".skip-link").focus()
        wanted = ["Skip to content", "OneClaw", "Hide the sidebar", "New conversation", "Search", "Memory", "Spaces"]
        wanted += ["Tea", "More for “Tea”", "All conversations", "ada@example.org"]
        wanted += ["More for this conversation", "Messages"]
        fork = "Fork into a new conversation from here"
        wanted += ["Copy", "Edit", fork, "Details"]
        wanted += ["Copy", "Regenerate", "Good answer", "Bad answer", "Show source", fork, "Details"]
        wanted += ["Message", "Add", "Memory", "Effort"]
        reached = []
        for _ in range(len(wanted) + 2):
            reached.append(await page.evaluate(NAME_OF_FOCUSED))
            await page.keyboard.press("Tab")
        *others, meter, send = reached
        assert (others, send) == (wanted, "Send")
        assert meter.startswith("Context: ")


async def test_the_skip_link_leads_past_the_list(live, ada):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.locator(".skip-link").press("Enter")
        await expect(page.locator("main")).to_be_focused()
