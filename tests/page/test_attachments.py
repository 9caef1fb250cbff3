"""Attaching files: by button, paste and drop, before they are sent and after."""

from dataclasses import replace

import pytest
from playwright.async_api import expect

from chat.models import Attachment
from oneclaw.threads import in_database
from tests import files
from tests import scripted as model
from tests.browser import PHONE, open_page, violations

pytestmark = pytest.mark.browser

# A file by the clipboard or by the mouse, as the browser brings it.
GIVE = """async ([type, name, mime, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], name, { type: mime }));
    const target = document.getElementById("text");
    const how = { bubbles: true, cancelable: true };
    if (type === "paste") target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, ...how }));
    else target.dispatchEvent(new DragEvent(type, { dataTransfer: data, ...how }));
}"""
# A folder by the mouse, between two files: no script can make one that is real.
GIVE_FOLDER = """([selector, type]) => {
    const given = ["a.txt", "photos", "b.txt"].map((name) => ({
        kind: "file",
        getAsFile: () => new File(["x"], name),
        webkitGetAsEntry: () => ({ isDirectory: name === "photos" }),
    }));
    const data = { types: ["Files"], items: given, files: given.map((item) => item.getAsFile()), getData: () => "" };
    const event = new Event(type, { bubbles: true, cancelable: true });
    event[type === "paste" ? "clipboardData" : "dataTransfer"] = data;
    document.querySelector(selector).dispatchEvent(event);
}"""
LOADED = "images => images.every(image => image.complete && image.naturalWidth > 0)"


async def test_a_file_field_offers_the_kinds_that_are_read(live, ada, scripted):
    async with open_page(live, ada) as page:
        await page.goto("/")
        kinds = (await page.get_by_label("Attach files", exact=True).get_attribute("accept")).split(",")
        assert {"image/jpeg", "application/pdf", ".docx", ".xlsx", ".odp", "text/*", ".csv", ".py"} <= set(kinds)
        # So that a phone converts its pictures.
        assert not {"image/heic", "image/*"} & set(kinds)
        await page.goto("/memory/documents/")
        field = page.get_by_label("Choose files, or drop them here")
        kinds = (await field.get_attribute("accept")).split(",")
        assert {".pdf", ".docx", ".xlsx", ".xls", ".ods", ".pptx", ".html"} <= set(kinds)
        assert "image/jpeg" not in kinds


async def test_an_image_opens_large_on_the_page(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        large = picked("cat.png", files.image((900, 700)), "image/png")
        await page.get_by_label("Attach files", exact=True).set_input_files(large)
        await expect(page.locator(".chip[data-state=ready]")).to_have_count(1)
        await ask(page, "Look")
        image = page.get_by_role("dialog", name="cat.png").get_by_role("img")
        for viewport in {"width": 1280, "height": 800}, PHONE:
            await page.set_viewport_size(viewport)
            await page.get_by_role("link", name="cat.png").click()
            await expect(image).to_be_in_viewport(ratio=1)
            await image.evaluate("image => image.decode()")
            assert (await image.bounding_box())["width"] > min(800, viewport["width"] * 0.8)
            assert await violations(page) == ""
            await page.keyboard.press("Escape")
            await expect(image).to_have_count(0)
        await page.get_by_role("link", name="cat.png").click()
        await image.click()
        await expect(image).to_have_count(0)
        assert len(page.context.pages) <= 2  # the browser's own and this one: no tab was opened


async def test_a_folder_is_said_to_be_one(live, ada):
    """A browser gives it as a file that cannot be read."""
    async with open_page(live, ada) as page:
        for type in "drop", "paste":
            await page.goto("about:blank")
            await page.goto("/")
            await page.evaluate(GIVE_FOLDER, ["#text", type])
            told = page.locator("[data-notices]")
            await expect(told).to_contain_text("“photos” is a folder. Folders cannot be attached")
            await expect(page.locator(".chip[data-state=ready] .chip__name")).to_have_text(["a.txt", "b.txt"])
            for name in "a.txt", "b.txt":
                await page.get_by_role("button", name=f"Remove {name}").click()
        await page.goto("/memory/documents/")
        await page.evaluate(GIVE_FOLDER, ["[data-library]", "drop"])
        await expect(page.get_by_text("photos is a folder. Add the files in it.")).to_be_visible()
        await expect(page.locator(".library__file")).to_have_count(2)


PASTE_TEXT = """text => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const how = { clipboardData: data, bubbles: true, cancelable: true };
    return document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", how));
}"""


async def test_a_long_pasted_text_becomes_a_file(live, ada, scripted, write):
    async with open_page(live, ada) as page:
        await page.goto("/")
        # The browser itself inserts a short one.
        assert await page.evaluate(PASTE_TEXT, "a" * 4000)
        await expect(chips(page)).to_have_count(0)
        assert not await page.evaluate(PASTE_TEXT, "a long log\n" * 1000)
        await expect(page.locator(".chip[data-state=ready] .chip__name")).to_have_text("Pasted text.txt")
        await expect(page.get_by_text("The long text was attached as a file.")).to_be_visible()
        assert await violations(page) == ""
        await write(page, "What is this?")
        await expect(page.locator("article[data-role=user] .attached__file")).to_contain_text("Pasted text.txt")
        await page.get_by_label("Message", exact=True).press("Shift+Home")
        assert await page.evaluate(PASTE_TEXT, "a long log\n" * 1000)


def chips(page):
    return page.get_by_role("list", name="Attached files").get_by_role("listitem")


def picked(name, data, mime="text/plain"):
    return {"name": name, "mimeType": mime, "buffer": data}


async def test_files_by_button_paste_and_drop(live, ada, scripted, settings):
    settings.FILES = replace(settings.FILES, message_max_files=4, max_bytes=102_400)
    scripted.script(model.answer(model.text("I see.")))
    async with open_page(live, ada, expect=["422", "ERR_FAILED", "Failed to load"]) as page:
        await page.goto("/")
        button = page.get_by_label("Attach files", exact=True)
        await button.set_input_files([picked("cat.png", files.image(), "image/png"), picked("tea.md", b"# Tea")])
        await page.evaluate(GIVE, ["paste", "image.png", "image/png", list(files.image((50, 20)))])
        drop = page.get_by_text("Drop the files here")
        await expect(drop).to_be_hidden()
        await page.evaluate(GIVE, ["dragenter", "a.txt", "text/plain", [65]])
        await expect(drop).to_be_visible()
        await page.evaluate(GIVE, ["drop", "a.txt", "text/plain", [65]])
        await expect(drop).to_be_hidden()
        await expect(page.locator(".chip[data-state=ready] .chip__name")).to_have_text(
            ["cat.png", "tea.md", "image.png", "a.txt"]
        )
        # A screen reader is told of each, as of what is refused.
        for name in "cat.png", "tea.md", "image.png", "a.txt":
            await expect(page.locator("[data-announcer]")).to_contain_text(f"“{name}” is attached.")
        assert await violations(page) == ""

        # What is refused is told, and leaves no chip.
        told = page.locator("[data-notices][aria-live=polite]")
        await button.set_input_files(picked("b.txt", b"B"))
        await expect(told).to_have_text("A message can have 4 files. Send the others with your next message.")
        await page.get_by_role("button", name="Remove a.txt").click()
        await button.set_input_files(picked("large.txt", b"x" * 102_401))
        await expect(told).to_contain_text("“large.txt” has 100 kB. The limit is 100 kB per file.")
        await button.set_input_files(picked("virus.txt", b"MZ\x90\x00"))
        await expect(told).to_contain_text("This type of file cannot be attached: “virus.txt”.")
        await expect(chips(page)).to_have_count(3)

        # What could not be uploaded is tried again.
        await page.route("**/files", lambda route: route.abort())
        await button.set_input_files(picked("late.txt", b"Late"))
        await expect(told).to_contain_text("could not be uploaded")
        await page.unroute("**/files")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".chip[data-state=ready]")).to_have_count(4)
        await page.get_by_role("button", name="Remove late.txt").click()

        # They stay over a reload, with the draft.
        await page.get_by_label("Message", exact=True).fill("Look at this")
        await page.wait_for_timeout(400)
        await page.reload()
        await expect(chips(page)).to_have_count(3)
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Look at this")
        assert await page.locator(".chip img").evaluate_all("images => images.length") == 2
        await page.get_by_label("Message", exact=True).press("Enter")
        said = page.locator("article[data-role=user]")
        await expect(page.locator("article[data-role=assistant]")).to_contain_text("I see.")
        await expect(chips(page)).to_have_count(0)
        await expect(said.locator(".said")).to_have_text("Look at this")
        await expect(said.locator("img")).to_have_count(2)
        await page.wait_for_function(f"() => ({LOADED})([...document.querySelectorAll('.attached img')])")
        await expect(said.get_by_role("link", name="tea.md")).to_have_attribute("download", "")
        assert await violations(page) == ""
    sent = scripted.requests[0].body["messages"][0]["content"]
    assert [block["type"] for block in sent] == ["text", "text", "image", "text", "text", "image", "text"]
    assert "# Tea" in sent[3]["text"]


async def test_a_photo_alone_on_a_phone_waits_for_its_connection(live, ada, scripted):
    refused = ["ERR_FAILED", "Failed to load", "422"]
    async with open_page(live, ada, viewport=PHONE | {"width": 320}, expect=refused) as page:
        await page.goto("/")
        await page.route("**/files", lambda route: route.abort())
        photo = picked("A photo with a rather long name of its own.png", files.image((3000, 2000)), "image/png")
        await page.get_by_label("Attach files", exact=True).set_input_files(photo)
        await expect(page.locator("[data-notices]")).to_contain_text("could not be uploaded")
        # Words are not kept back by it; nothing else is sent.
        send = page.get_by_role("button", name="Send")
        await expect(send).to_have_attribute("aria-disabled", "true")
        await page.unroute("**/files")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".chip[data-state=ready]")).to_have_count(1)
        await expect(send).to_have_attribute("aria-disabled", "false")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        # One that was away for more than a day is gone, and the page says so.
        await page.wait_for_timeout(400)
        await in_database(Attachment.objects.all().delete)
        await page.reload()
        await expect(page.locator("[data-notices]")).to_contain_text("no longer exists on the server. Attach it again.")
        await expect(page.locator(".chip")).to_have_count(0)
        await page.get_by_label("Attach files", exact=True).set_input_files(photo)
        await expect(page.locator(".chip[data-state=ready]")).to_have_count(1)
        # Others with it, by the button and from the clipboard; what is refused is told.
        await page.get_by_label("Attach files", exact=True).set_input_files(picked("tea.md", b"# Tea"))
        await page.evaluate(GIVE, ["paste", "image.png", "image/png", list(files.image((50, 20)))])
        await expect(page.locator(".chip[data-state=ready]")).to_have_count(3)
        await page.get_by_label("Attach files", exact=True).set_input_files(picked("virus.txt", b"MZ\x90\x00"))
        await expect(page.locator("[data-notices]")).to_contain_text(
            "This type of file cannot be attached: “virus.txt”."
        )
        await expect(chips(page)).to_have_count(3)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        await send.click()
        said = page.locator("article[data-role=user]")
        await expect(said.get_by_role("link", name="tea.md")).to_be_visible()
        await expect(said.locator("img")).to_have_count(2)
        image = said.locator("img").first
        await expect(image).to_be_visible()
        await page.wait_for_function(f"() => ({LOADED})([...document.querySelectorAll('.attached img')])")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        assert (await image.bounding_box())["width"] < 320
        assert await violations(page) == ""
        # The whole of it opens by the picture.
        await image.click()
        whole = page.locator("#enlarged img")
        await whole.evaluate("image => image.decode()")
        assert await whole.evaluate("image => image.naturalWidth") == 3000
