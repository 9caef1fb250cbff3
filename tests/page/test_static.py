"""What `collectstatic` makes of the scripts and styles: few files, in which every name is there, and hashed."""

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string
from django.test import override_settings
from playwright.async_api import expect

from oneclaw.ops import static_files
from tests import scripted as model
from tests.browser import open_page, requested, serve_sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where everything was collected once: the tests only read it."""
    folder = tmp_path_factory.mktemp("collected")
    with override_settings(STATIC_ROOT=folder):
        static_files.collect()
    return folder


@pytest.fixture
def collected(settings, folder):
    settings.STATIC_ROOT = folder
    # The storage was made before this test chose the folder.
    staticfiles_storage.__dict__.pop("base_location", None)
    return folder


def test_scripts_and_styles_name_each_other_by_their_hashed_names(collected):
    named = re.compile(r"""(?:import\(|url\()["']?((?:\.|fonts/)[^"')]+)""")
    seen = 0
    for file in [*collected.glob("js/*.js"), *collected.glob("css/*.css"), *collected.glob("vendor/*/*.css")]:
        if not re.search(r"\.[0-9a-f]{12}\.", file.name):
            continue
        for name in named.findall(file.read_text()):
            seen += 1
            assert re.search(r"\.[0-9a-f]{12}\.(js|woff2)$", name), (file.name, name)
            assert (file.parent / name).exists(), (file.name, name)
    # KaTeX of the scripts that show Markdown, two fonts, and those of KaTeX.
    assert seen > 3 + 2 + 20


def test_no_script_and_no_style_waits_for_another_one(collected):
    files = [*collected.glob("js/*.????????????.js"), *collected.glob("css/*.????????????.css")]
    imports = re.compile(r"^(?:import\b(?!\()|export .* from|@import).*", re.MULTILINE)
    assert len(files) > 40
    assert {file.name: found for file in files if (found := imports.findall(file.read_text()))} == {}


def test_the_script_of_every_page_brings_no_state_that_another_one_has_too():
    # Each bundle has modules of its own: one with state would be there twice on a page.
    assert re.findall(r'^import .*"(.*)";$', Path(finders.find("js/palette.js")).read_text(), re.MULTILINE) == [
        "./dom.js"
    ]


def test_every_handler_of_keys_asks_for_the_input_methods_of_safari_too():
    # isComposing alone is false there for the Enter that chooses a word.
    found = {
        file.name for file in Path("static/js").glob("*.js") if re.search(r"\.isComposing|keyCode", file.read_text())
    }
    assert found == {"dom.js"}


def test_what_the_chat_loads_is_small(collected):
    names = ["django_htmx/htmx-2.min.js", "js/chat.js", "css/oneclaw.css"]
    files = [collected / staticfiles_storage.stored_name(name) for name in names]
    # Bytes: 2,000 of them since the page patches what grows, prints whole and sets directions; 3,000 since frames carry
    # what was appended and the pages of memory and spaces have their styles (the goal stays 63,000).
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 66_500


@pytest.mark.parametrize("path", ["/accounts/login/", "/nowhere", "/"])
def test_every_page_forbids_script_and_style_inside_it(client, db, path):
    response = client.get(path, follow=True)
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


def test_no_template_has_a_style_or_a_script_inside_it():
    found = []
    for file in Path("templates").rglob("*.html"):
        html = file.read_text()
        if re.search(r"<style|\sstyle=|\son[a-z]+=\"|<script(?![^>]*\ssrc=)|javascript:", html):
            found.append(str(file))
    assert found == []
    assert render_to_string("404.html")


@pytest.mark.browser
async def test_the_chat_works_from_its_sources_too(live, ada, scripted, ask):
    scripted.script(model.answer("From **sources**: $x^2$"))
    async with open_page(live, ada) as page:
        await serve_sources(page)
        await page.goto("/")
        answer = await ask(page, "Hello")
        await expect(answer.locator("strong")).to_have_text("sources")
        await expect(answer.locator(".katex")).to_have_count(1)
        assert len(await requested(page, "js")) > 20
        assert len(await requested(page, "css")) > 10
