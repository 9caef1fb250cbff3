"""Formulas and footnotes in a real browser: set by KaTeX under the page's policy, narrow enough for a phone."""

import pytest
from playwright.async_api import expect

from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations

pytestmark = pytest.mark.browser

LONG = " + ".join(f"x_{{{number}}}" for number in range(60))
# Those whose parts KaTeX would give a style attribute: \vec, \pmb, \fcolorbox, a tall brace.
TEXT = (
    r"So $\vec{a}_1 + \pmb{b} = \sqrt{2}$[^1] and \(\fcolorbox{red}{white}{c}\), but $\nothing{$ and $5 and $10."
    "\n\n"
    r"$$\left\{\begin{matrix}1\\2\\3\\4\\5\\6\\7\\8\end{matrix}\right\}$$"
    f"\n\n\\[\n{LONG}\n\\]\n\n"
    rf"Among words: $\text{{{'long ' * 60}}}$"
    "\n\n| A table | of words | that are |\n|---|---|---|\n| 1 | incomprehensibilities | counterrevolutionaries |\n\n"
    "[^1]: Its *note*.\n"
)


def remembered(user):
    """The address of a page of memory that holds a formula."""
    page = Author(Source.PAGE, user)
    revision = write.apply(Space.objects.own_of(user), "MEMORY.md", Append("- It is $x^2$.\n"), page)
    return f"/memory/{revision.document_id}/"


async def test_formulas_are_set_and_fit_a_phone(live, ada, scripted, ask):
    scripted.script(model.answer(model.text(TEXT, size=9, pace=0.002)), model.answer(model.text("Plain.")))
    asked = []
    async with open_page(live, ada, viewport=PHONE) as page:
        page.on("request", lambda request: asked.append(request.url))
        await page.goto("/")
        assert not any("katex" in url for url in asked)
        answer = await ask(page, "Formulas, please")
        formulas = answer.locator(".math")
        await expect(formulas).to_have_count(6)
        await expect(answer.locator(".math--set .katex-html")).to_have_count(5)
        await expect(answer.locator(".math:not(.math--set)")).to_have_text(r"$\nothing{$")
        await expect(answer).to_contain_text("and $5 and $10.")
        assert await formulas.first.locator("svg").first.evaluate("svg => svg.style.width") != ""
        assert await page.evaluate("document.fonts.ready.then(f => [...f].some(({family, status}) => "
                                   "family.includes('KaTeX_Math') && status === 'loaded'))")  # fmt: skip
        # What is too wide scrolls in its own place.
        assert await page.evaluate("[document.documentElement, document.querySelector('[data-scroller]')]"
                                   ".every(one => one.scrollWidth <= one.clientWidth)")  # fmt: skip
        for wide in (formulas.nth(4), answer.locator(".block", has_text="Among words"), answer.locator(".wide")):
            assert await wide.evaluate("one => one.scrollWidth > one.clientWidth && one.clientWidth < 390")
        # Screen readers were told TeX, once.
        told = await page.locator("[data-announcer]").inner_text()
        assert told.count("x_{59}") == 1
        assert await violations(page) == ""
        await answer.get_by_role("link", name="1", exact=True).press("Enter")
        await expect(answer.locator(".note")).to_be_focused()
        # Nothing is set anew when the answer is done, nor with the next one.
        await formulas.first.evaluate("formula => (window.first = formula.firstElementChild)")
        await ask(page, "Go on")
        assert await page.evaluate("window.first.isConnected")
        # On a desk, too.
        await page.set_viewport_size(DESKTOP)
        await page.reload()
        await expect(answer.locator(".math--set .katex-html")).to_have_count(5)
        await answer.first.get_by_role("link", name="1", exact=True).press("Enter")
        await expect(answer.first.locator(".note")).to_be_focused()
        assert await fits(page)
        await page.goto(await in_database(remembered, ada))
        await expect(page.locator(".memory__document .math--set .katex")).to_have_count(1)
