"""The search page of memory."""

import re

import pytest

from memory.search.passage import Passage
from memory.search.typos import corrected
from memory.views.search import curated_first
from oneclaw.models import Space, SpaceMember
from tests.browser import PHONE, open_page, violations


@pytest.fixture
def find(client, ada, write):
    """find("q=tea&…"): the texts of the results, without markup."""
    write(ada, "MEMORY.md", "# Memory\n\n- **Allergic** to peanuts\n- Drinks jasmine tea in the morning\n")
    write(ada, "memory/2026-11-03.md", "- Bought jasmine tea at the market\n")
    write(ada, "AGENTS.md", "- Buy jasmine tea at the market\n")
    client.force_login(ada)

    def find(query, status=200):
        response = client.get(f"/memory/search?{query}", headers={"HX-Request": "true"})
        assert response.status_code == status
        html = response.content.decode()
        assert "<html" not in html
        return [re.sub(r"<[^>]+>", "", part) for part in re.findall(r'class="result"[^>]*>(.*?)</a>', html, re.S)]

    return find


def test_found_words_are_marked_without_markdown_and_lead_to_their_line(client, find, ada):
    assert find("q=allergic+peanuts")[0] == "Allergic to peanuts"
    html = client.get("/memory/search?q=allergic+peanuts").content.decode()
    assert "<mark>Allergic</mark> to <mark>peanuts</mark>" in html
    assert re.search(r'class="result" href="/memory/\d+/#line-3"', html)
    assert "Saved memory" in html


@pytest.mark.parametrize(("better_by", "first"), [(0.04, "MEMORY.md"), (0.06, "AGENTS.md")])
def test_curated_memory_comes_before_what_is_hardly_better(better_by, first):
    passages = [
        Passage(1, "AGENTS.md", 1, 1, 0.5 + better_by, 0.0, 0.0, "tea"),
        Passage(2, "MEMORY.md", 1, 1, 0.5, 0.0, 0.0, "tea"),
    ]
    assert curated_first(passages)[0].path == first


@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        ("kind=saved", ["Drinks jasmine tea in the morning"]),
        ("kind=notes", ["Bought jasmine tea at the market"]),
        ("kind=files", ["Buy jasmine tea at the market"]),
        ("kind=conversations", []),
        ("since=2026-11-03&until=2026-11-03", ["Bought jasmine tea at the market"]),
        ("since=2026-11-04", []),
    ],
)
def test_results_are_limited_by_kind_and_day(find, filter, wanted):
    assert find(f"q=jasmine+tea&{filter}")[:1] == wanted


def test_noise_is_folded_and_can_be_opened(find, client, ada, write):
    noise = "".join(f"- Ada likes the {thing} of the harbour.\n" for thing in ("crane", "bakery", "ferry", "lamp"))
    write(ada, "MEMORY.md", f"- My sister Ines lives in Lisbon.\n{noise}- Ines is coming in May.\n")
    html = client.get("/memory/search?q=sister+Ines", headers={"HX-Request": "true"}).content.decode()
    shown, _, folded = html.partition('<details class="memory__unlikely"')
    assert "lives in Lisbon" in shown
    assert "is coming in May" in folded
    assert find("q=sister+Ines")[0] == "My sister Ines lives in Lisbon."


def test_broken_filters_limit_nothing(find):
    assert find("q=jasmine+tea&kind=x&since=2026-02-30&until=x&space=x") == find("q=jasmine+tea")


def test_another_persons_space_is_not_searched(find, stranger, write):
    write(stranger, "MEMORY.md", "- Drinks jasmine tea at night\n")
    assert find(f"q=jasmine+tea&space={Space.objects.own_of(stranger).pk}") == []


def test_a_shared_space_can_be_chosen(find, stranger, ada, write):
    write(stranger, "MEMORY.md", "- Drinks jasmine tea at night\n")
    shared = Space.objects.own_of(stranger)
    SpaceMember.objects.create(space=shared, user=ada, role="reader")
    assert find(f"q=jasmine+tea&space={shared.pk}") == ["Drinks jasmine tea at night"]


def test_a_misspelled_word_is_corrected_and_can_be_searched_as_it_is(client, find, ada):
    assert find("q=alergic")[0] == "Allergic to peanuts"
    html = client.get("/memory/search?q=alergic").content.decode()
    assert "Results for “allergic”" in html
    assert "exactly=yes" in html
    assert "Results for" not in client.get("/memory/search?q=alergic&exactly=yes").content.decode()


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("jasmin tea", "jasmin tea"),
        ("jasmnie tea", "jasmine tea"),
        ("tae", "tae"),
        ("Xylophone", "Xylophone"),
        ("", ""),
    ],
)
def test_only_words_that_memory_lacks_are_corrected(find, ada, query, wanted):
    assert corrected(query, [Space.objects.own_of(ada)]) == wanted


@pytest.mark.browser
async def test_results_come_while_one_types(live, ada, write):
    from oneclaw.threads import in_database

    await in_database(write, ada, "MEMORY.md", "- Drinks jasmine tea in the morning\n" * 30 + "- Lives in Bern\n")
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/memory/search")
        await page.get_by_label("Search memory").press_sequentially("lives in")
        result = page.get_by_role("link", name="Lives in Bern")
        await result.wait_for()
        assert "q=lives" in page.url
        await page.get_by_text("Filters").click()
        assert await violations(page) == ""
        await page.get_by_label("Kind").select_option("notes")
        await page.get_by_text("No results in memory.").wait_for()
        await page.get_by_label("Kind").select_option("")
        await result.click()
        await page.wait_for_url("**/#line-31")
        assert await page.locator("#line-31").is_visible()
