"""Diagrams of Mermaid in a real browser: drawn in a frame without rights, shown as images, and code when that fails."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser

KINDS = {
    "flowchart": 'flowchart LR\n  A["Order placed"] -->|paid| B(Shipped)\n  B --> C{Arrived?}\n',
    "sequence": "sequenceDiagram\n  Ada->>Ben: Are you there?\n  Ben-->>Ada: Yes\n",
    "class": "classDiagram\n  Animal <|-- Cat\n  Animal : +int age\n  Cat : +purr()\n",
    "state": "stateDiagram-v2\n  [*] --> Open\n  Open --> Closed: answer\n  Closed --> [*]\n",
    "er": "erDiagram\n  PERSON ||--o{ MEMORY : has\n",
    "gantt": "gantt\n  dateFormat YYYY-MM-DD\n  section Plan\n  Write :a1, 2026-11-01, 5d\n  Read :after a1, 3d\n",
    "pie": 'pie showData title Pets\n  "Dogs" : 386\n  "Cats" : 85.5\n',
    "timeline": "timeline\n  title Years\n  2025 : First\n  2026 : Second\n",
    "journey": "journey\n  title A day\n  section Morning\n    Make tea: 5: Me\n",
    "quadrant": 'quadrantChart\n  x-axis Low --> High\n  y-axis Slow --> Fast\n  "One": [0.3, 0.6]\n',
    "xychart": 'xychart-beta\n  x-axis [jan, feb]\n  y-axis "Sales" 0 --> 10\n  bar [3, 7]\n',
    "mindmap": "mindmap\n  root((Memory))\n    Days\n    Topics\n",
    "kanban": "kanban\n  todo[To do]\n    a[Write]\n  done[Done]\n    b[Read]\n",
    "requirement": "requirementDiagram\n  requirement test_req {\n    id: 1\n    text: the test text.\n  }\n",
}
BROKEN = "flowchart LR\n  A --> --> B[\n"
HOSTILE = (
    """%%{init: {"securityLevel": "loose", "themeCSS": "* { background: url(//other.example/a.png) }"}}%%
flowchart TD
  A["<img src=x onerror='parent.postMessage(1, `*`); parent.ran = 1'><script>parent.ran = 1</script>"] --> B
  B["<a href='javascript:parent.ran=1' onclick='parent.ran=1'>go</a>"] --> C
  C["<foreignObject><iframe src='//other.example'></iframe></foreignObject>"]
  click A href "javascript:parent.ran=1" "tip"
  click B href "https://other.example" "tip"
""",
    "flowchart TD\n  A --> B\n  style A background:url(https#colon;//other.example/b.png)\n",
    "flowchart TD\n  A --> B\n  click A call alert(1)\n",
)
# Left out of the vendored build.
OTHER = "gitGraph\n  commit\n"


def fenced(*codes):
    return "\n\n".join(f"```mermaid\n{code}```" for code in codes)


async def loaded(page):
    names = await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    return [name for name in names if "diagram" in name or "mermaid" in name]


async def test_a_diagram_is_drawn_when_its_message_is_finished(live, ada, scripted, ask):
    scripted.script(
        model.answer("```python\nprint()\n```"), model.answer(model.text(fenced(KINDS["flowchart"]), size=9))
    )
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Some code")
        assert await loaded(page) == []
        answer = await ask(page, "Draw it")
        image = answer.get_by_role("img", name="Diagram")
        await expect(image).to_be_visible()
        assert await image.evaluate("image => image.decode().then(() => image.naturalWidth > 100)")
        code = answer.locator("pre.code")
        await expect(code).to_be_hidden()
        for size in (PHONE, DESKTOP):
            await page.set_viewport_size(size)
            assert await fits(page)
            assert await violations(page) == ""
        await answer.get_by_role("button", name="Show code").click()
        await expect(code).to_be_visible()
        await expect(image).to_be_hidden()
        await answer.get_by_role("button", name="Show diagram").click()
        await image.click()
        await expect(page.locator("#enlarged img")).to_be_in_viewport(ratio=1)
        await page.keyboard.press("Escape")
        # The colours follow the scheme.
        await page.emulate_media(color_scheme="light")
        await expect(answer.locator(".diagram")).to_have_count(1)
        before = await image.get_attribute("src")
        await page.emulate_media(color_scheme="dark")
        await expect(image).not_to_have_attribute("src", before)


async def test_each_kind_is_drawn_and_others_stay_code(live, ada, scripted, ask):
    scripted.script(model.answer(fenced(*KINDS.values(), BROKEN, OTHER)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        answer = await ask(page, "Draw them")
        await expect(answer.locator(".code-box[data-drawn]")).to_have_count(len(KINDS))
        await expect(answer.locator(".diagram__note")).to_have_count(2)
        await expect(answer.locator("pre.code:visible")).to_have_count(2)
        await expect(answer.locator("pre.code").nth(len(KINDS))).to_contain_text("A --> --> B[")


async def test_a_hostile_diagram_runs_nothing_and_reaches_nothing(live, ada, scripted, ask):
    scripted.script(model.answer(fenced(KINDS["sequence"], *HOSTILE)))
    asked = []
    # A violation of a policy would be an error of the console, which fails a test.
    async with open_page(live, ada) as page:
        page.on("request", lambda request: asked.append(request.url))
        await page.goto("/")
        answer = await ask(page, "Draw it")
        await expect(answer.locator(".diagram, .diagram__note")).to_have_count(1 + len(HOSTILE))
        await expect(answer.locator(".code-box").nth(1)).to_have_attribute("data-drawn", "")
        assert not any("other.example" in url for url in asked)
        assert not await page.evaluate("'ran' in window")
        assert await page.evaluate("document.querySelector('.diagram-frame').contentDocument") is None
        assert page.url.startswith(f"{live.url}/c/")


def test_the_frame_may_run_its_script_and_nothing_else(client, db):
    policy = client.get("/diagrams")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts" in policy
    assert "script-src 'self'" in policy
