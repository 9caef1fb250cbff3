"""Makes every picture under docs/screenshots: `python docs/screenshots.py [FOLDER]`.

It runs the product on a data folder of its own that is thrown away, with a scripted model and the system's Chromium.
"""

# ruff: noqa: E402 - settings are read when Django is imported, so the data folder is chosen before

import asyncio
import os
import sys
import tempfile
from pathlib import Path

HOME = tempfile.TemporaryDirectory(prefix="oneclaw-screenshots-")
os.environ["ONECLAW_HOME"] = HOME.name
os.environ["DJANGO_SETTINGS_MODULE"] = "oneclaw.settings"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import django

django.setup()

from django.conf import settings
from django.core.management import call_command
from playwright.async_api import Page

from oneclaw.crossing import in_database
from oneclaw.models import User
from oneclaw.scripted import ScriptedModel, answer, key_refused, text, tool_use
from tests.browser import DESKTOP, PHONE, LiveServer, open_page

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
TITLES = ["A birthday present for Grace", "Why the evening sky turns red", "Dinner for six, two of them vegan"]


async def main(folder: Path) -> None:
    await in_database(call_command, "migrate", verbosity=0)
    ada = await in_database(User.objects.create_user, "ada@example.org", None, first_name="Ada Lovelace")
    settings.STATIC_ROOT.mkdir(exist_ok=True)
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
        for scheme in ("light", "dark"):
            async with open_page(live, color_scheme=scheme) as page:
                await take(page, folder, "sign-in", scheme, "/accounts/login/")
            async with open_page(live, ada, color_scheme=scheme, viewport=DESKTOP) as page:
                await take(page, folder, "welcome", scheme, "/")
                await take(page, folder, "answer", scheme, conversation)
                await take(page, folder, "conversation", scheme, conversation, top=True)
                await take(page, folder, "failure", scheme, failure)
                await page.keyboard.press("Control+k")
                await page.get_by_label("Search conversations, or choose a command").fill("sofa")
                await page.locator("#palette mark").first.wait_for()
                await take(page, folder, "search", scheme)
                await take(page, folder, "conversations", scheme, "/conversations")
                await take(page, folder, "forget", scheme, "/memory/forget?q=Ada")
                await take(page, folder, "memory", scheme, "/memory/")
                await take(page, folder, "settings", scheme, "/settings/")
            async with open_page(live, ada, color_scheme=scheme, viewport=PHONE) as page:
                await take(page, folder, "phone-welcome", scheme, "/")
                await take(page, folder, "phone", scheme, conversation, top=True)
                await page.get_by_role("button", name="Show the list of conversations").click()
                await take(page, folder, "phone-drawer", scheme)


async def ask(page: Page, words: str) -> None:
    """Write it, and wait for the end of its answer."""
    asked = page.locator("article[data-role=user]")
    before = await asked.count()
    await page.get_by_label("Message", exact=True).fill(words)
    await page.keyboard.press("Enter")
    await asked.nth(before).wait_for()
    await page.locator("article[data-role=assistant]:last-child:not([data-status=running])").wait_for()
    await page.get_by_role("button", name="Send").wait_for()


async def take(page: Page, folder: Path, name: str, scheme: str, address: str = "", *, top: bool = False) -> None:
    if address:
        await page.goto(address)
    if top:
        await page.locator("[data-scroller]").evaluate("scroller => { scroller.scrollTop = 0 }")
    await page.wait_for_timeout(300)
    await page.screenshot(path=folder / f"{name}-{scheme}.png", animations="disabled", caret="hide")


if __name__ == "__main__":
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "screenshots"
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
