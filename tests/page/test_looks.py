"""Pages are examined as they are drawn: on a desk, and on a phone that is touched; light and dark; in two languages."""

import datetime as dt

import pytest
from django.utils import timezone

from chat.models import ChatSession
from memory.documents.write import Append, Author, Source, apply
from memory.models import MemoryDocument
from oneclaw.models import Space, SpaceMember, User
from oneclaw.people import roles
from tests.browser import DESKTOP, PHONE, open_page
from tests.conversations import send, settle
from tests.looks import seen_faults

pytestmark = pytest.mark.browser

LONG_NAME = "Donaudampfschifffahrtsgesellschaftskapitän Maximiliane von und zu Oberhausen"
LINES = [
    "My sister Ines lives in Lisbon with her two sons.",
    "I am vegetarian, and allergic to hazelnuts.",
    "The deadline of the lighthouse project is 18 December.",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz is the longest word that I use at work.",
    "אחותי גרה בליסבון עם שני בניה.",
    "妹はリスボンに住んでいて、息子が二人います。",
]
ANSWER = """Here is a plan.

| Room | Boxes | Who |
|---|---:|---|
| Kitchen | 12 | Grace |

```python
def boxes(rooms: dict[str, int]) -> int: return sum(rooms.values())  # how many there are in all, which is a long line
```

- A list whose items are long enough to take more than one line on a phone, and to be read there as well
"""
PAGES = [
    "/", "{conversation}", "/more", "/memory/", "/memory/past", "/memory/documents/", "/memory/switches",
    "/memory/inbox/", "/memory/search?q=sister", "/memory/files", "/memory/lab?q=sister", "/settings/",
    "/settings/channels", "/settings/programs/", "/conversations", "/spaces/", "/spaces/new", "{space}",
    "{space}members", "{space}memory", "/agents/", "/agents/new", "/prompts/", "/memory/skills/", "/schedules/",
    "/import", "/shared", "/team/people", "/team/invitations", "/team/usage", "/team/budgets", "/team/limits",
    "/team/models", "/team/settings", "/team/audit", "/team/health", "/settings/usage/", "/news",
]  # fmt: skip


@pytest.fixture
def lived_in(live, ada):
    """Ada's memory, a conversation and a space with another member, as after some weeks; Ada is an owner."""
    roles.set_role(ada, User.Role.OWNER)
    ada.save()
    own = Space.objects.own_of(ada)
    for line in LINES:
        apply(own, "MEMORY.md", Append(f"- {line}\n"), Author(Source.PAGE, ada))
    for days in range(0, 60, 4):
        day = timezone.localdate() - dt.timedelta(days=days)
        apply(own, f"memory/{day}.md", Append("- Compared three moving companies.\n"), Author(Source.FLUSH, ada))
    settle(send(ada, "Plan the day.\nTwo rooms, 33 boxes."), ANSWER)
    session = ChatSession.objects.get()
    grace = User.objects.create_user("grace.hopper.of.the.harbour.office@example.org", None, first_name=LONG_NAME)
    space = Space.objects.create(kind="team", name="Lighthouse of the northern harbour", owner=ada)
    for person, role in ((ada, "owner"), (grace, "editor")):
        SpaceMember.objects.create(space=space, user=person, role=role)
    apply(space, "MEMORY.md", Append(f"- {LINES[2]}\n"), Author(Source.PAGE, ada))
    assert MemoryDocument.objects.count() > len(LINES)
    return {"conversation": session.get_absolute_url(), "space": f"/spaces/{space.pk}/"}


@pytest.mark.parametrize(
    ("viewport", "scheme", "language"),
    [(PHONE, "dark", "de"), (DESKTOP, "light", "de"), (PHONE, "light", "ja"), (DESKTOP, "dark", "en")],
    ids=["phone-dark-de", "desk-light-de", "phone-light-ja", "desk-dark-en"],
)
@pytest.mark.timeout(300)
async def test_nothing_is_seen_wrong(live, ada, lived_in, viewport, scheme, language):
    touched = {"is_mobile": True, "has_touch": True} if viewport == PHONE else {}
    found = {}
    async with open_page(live, ada, viewport=viewport, color_scheme=scheme, locale=language, **touched) as page:
        for path in PAGES:
            answer = await page.goto(path.format(**lived_in))
            assert answer.status == 200, path
            assert await page.get_attribute("html", "lang") == language
            await page.locator("#sessions ul").first.wait_for(state="attached")
            if faults := await seen_faults(page):
                found[path] = faults
    assert not found


WRONG = {
    "text that is cut": '<p style="width: 40px; overflow: hidden; white-space: nowrap">This text is cut</p>',
    "text over": '<div style="position: relative"><p>Over it</p><p style="position: absolute; top: 0">Under</p></div>',
    "text without a size": '<div style="width: 0; overflow: auto"><table><tr><td>1</td></tr></table></div>',
    "the page scrolls sideways": '<p style="width: 200vw">Wide</p>',
    "a target of": '<button style="min-width: 0; min-height: 0; padding: 0">x</button>',
    "a drawing without a size": '<svg width="0" height="0"></svg>',
}


async def test_what_is_wrong_is_seen(live, ada):
    async with open_page(live, ada, viewport=PHONE, has_touch=True, bypass_csp=True) as page:
        for fault, markup in WRONG.items():
            await page.goto("/more")
            main = page.locator("#main")
            await main.evaluate("(main, markup) => main.insertAdjacentHTML('afterbegin', markup)", markup)
            assert any(one.startswith(fault) for one in await seen_faults(page)), fault
