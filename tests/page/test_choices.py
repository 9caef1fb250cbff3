"""Who answers, and commands with own prompts, in a browser: on a desk and on a phone."""

import pytest
from playwright.async_api import expect

from chat.library.saved_prompts import save
from chat.models import Agent, ChatSession
from oneclaw import llm
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts
from oneclaw.threads import in_database
from tests.browser import PHONE, open_page, violations

pytestmark = pytest.mark.browser


@pytest.fixture
def stage(ada, scripted, settings):
    """Ada's agent, her prompts, and two models, one of which has levels of effort."""
    settings.MODEL, settings.MODELS = "server-model", {"great-model": "Great", "small-model": "Small"}
    ModelFacts.objects.create(server=server_hash(), model="great-model", efforts=["low", "high"])
    llm.facts_of("great-model")  # as a process does at its start
    Agent.objects.create(owner=ada, slug="rhymer", name="Rhymer", instructions="Rhyme.", model="small-model")
    save(ada, "translate", "Translate into {{language}}: {{text}}")
    save(ada, "report", "Write the report.")


async def answered_by(*names):
    rows = await in_database(
        lambda: list(ChatSession.objects.order_by("created_at").values_list("agent__slug", "model"))
    )
    assert rows == list(names)


async def test_agent_model_and_prompts_on_a_desk(live, ada, scripted, ask, write, stage):
    await in_database(lambda: [save(ada, f"kept-{number:02}", "Text.") for number in range(30)])
    async with open_page(live, ada) as page:
        await page.goto("/agents/")
        assert await violations(page) == ""
        await page.get_by_role("link", name="New agent").click()
        await expect(page.get_by_label("Its own memory, which no other agent can see")).to_be_visible()
        assert await violations(page) == ""
        await page.goto("/prompts/")
        assert await violations(page) == ""
        await page.goto("/")
        text, model = page.get_by_label("Message", exact=True), page.get_by_label("Model")
        # Each model once, the default as such.
        await expect(model.locator("option")).to_have_text(["Default: server-model", "Great", "Small"])
        await model.select_option("Great")
        await page.get_by_label("Agent").select_option("Rhymer")
        # An agent with a model of its own begins with that.
        await expect(model).to_have_value("")
        await expect(model.locator("option:checked")).to_have_text("Default: Small")
        await expect(model.locator("option")).to_have_text(["Default: Small", "server-model", "Great"])
        await model.select_option("Great")
        await page.get_by_label("Effort").select_option("High")
        options = page.get_by_role("option").and_(page.locator("[data-commands-list] *"))
        await text.press_sequentially("/")
        await expect(options).to_have_count(39)
        assert await violations(page) == ""
        await text.press_sequentially("r")
        names = page.locator(".commands__name")
        await expect(names).to_have_text(["/reset", "/remember", "/report", "/translate"])
        await page.keyboard.press("ArrowUp")
        await expect(text).to_have_attribute("aria-activedescendant", "command-3")
        await expect(options.nth(3)).to_have_attribute("aria-selected", "true")
        await page.keyboard.press("Escape")
        await expect(options).to_have_count(0)
        await expect(text).to_have_value("/r")
        await text.press_sequentially("ep")
        await expect(names).to_have_text(["/report"])
        await page.keyboard.press("Tab")
        await expect(text).to_have_value("Write the report.")
        await text.fill("/tra")
        await expect(names).to_have_text(["/translate"])
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="/translate")
        await expect(dialog.get_by_label("language")).to_be_focused()
        assert await violations(page) == ""
        await page.keyboard.type("French")
        await dialog.get_by_label("text").fill("Good morning")
        await page.keyboard.press("Enter")
        await expect(text).to_have_value("Translate into French: Good morning")
        await expect(text).to_be_focused()
        answer = await ask(page, "Translate into French: Good morning")
        await expect(answer).to_have_attribute("data-status", "complete")
        await expect(page.get_by_label("Agent")).to_be_hidden()
        await expect(page.locator("[data-agent-mark]")).to_have_text("Rhymer")
        await answered_by(("rhymer", "great-model"))
        assert scripted.requests[-1].body["output_config"] == {"effort": "high"}
        # Another model from the next message on; the agent stays.
        await page.reload()
        await expect(model).to_have_value("great-model")
        await expect(page.get_by_label("Effort")).to_have_value("high")
        await expect(model.locator("option")).to_have_text(["Default: Small", "server-model", "Great"])
        await model.select_option("Default: Small")
        await ask(page, "/nothing of the kind")
        await answered_by(("rhymer", ""))
        assert scripted.requests[-1].body["model"] == "small-model"
        # A new conversation begins with the model of the last one, and with the usual agent.
        await model.select_option("Great")
        await ask(page, "Once more")
        await page.goto("/")
        await expect(model).to_have_value("great-model")
        await expect(page.get_by_label("Agent")).to_have_value("oneclaw")
        assert await violations(page) == ""


async def test_the_same_on_a_phone(live, ada, scripted, ask, stage):
    async with open_page(live, ada, viewport=PHONE, has_touch=True) as page:
        await page.goto("/?agent=rhymer")
        await expect(page.get_by_label("Agent")).to_have_value("rhymer")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        text = page.get_by_label("Message", exact=True)
        await text.press_sequentially("/rem")
        await page.get_by_role("option", name="/remember").tap()
        await expect(text).to_have_value("/remember ")
        await expect(text).to_be_focused()
        assert await violations(page) == ""
        answer = await ask(page, "/remember I like tea")
        await expect(answer).to_contain_text("I like tea")
        await expect(page.locator("article[data-role=assistant] .message__body").last).to_have_text(
            "I will remember that."
        )
        assert scripted.requests == []
        # A prompt with variables, and another model from the next message on.
        await text.press_sequentially("/tra")
        await page.get_by_role("option", name="/translate").tap()
        dialog = page.get_by_role("dialog", name="/translate")
        await dialog.get_by_label("language").fill("French")
        await dialog.get_by_label("text").fill("Good morning")
        await dialog.get_by_role("button", name="Insert").tap()
        await expect(text).to_have_value("Translate into French: Good morning")
        await page.get_by_label("Model").select_option("Great")
        await ask(page, "Translate into French: Good morning")
        await answered_by(("rhymer", "great-model"))
        assert scripted.requests[-1].body["model"] == "great-model"
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.goto("/agents/")
        await page.get_by_role("link", name="Rhymer", exact=True).tap()
        await expect(page.get_by_label("Instructions")).to_have_value("Rhyme.")
        assert await violations(page) == ""
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
