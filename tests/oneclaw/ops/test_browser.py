"""Tests share a browser, and see nothing of one another in it."""

import pytest

from tests.browser import PHONE, idle_contexts, open_page

pytestmark = [pytest.mark.browser]

KEEP = """async () => {
    localStorage.kept = sessionStorage.kept = document.cookie = "kept=1";
    await new Promise((resolve, reject) => {
        const opening = indexedDB.open("kept", 1);
        opening.onsuccess = () => resolve(opening.result.close());
        opening.onerror = () => reject(opening.error);
    });
}"""
KEPT = """async () => [
    ...Object.keys(localStorage), ...Object.keys(sessionStorage), document.cookie,
    ...(await indexedDB.databases()).map(({ name }) => name),
].join()"""


async def test_the_next_page_finds_nothing_that_one_before_it_kept(live, ada):
    for _ in range(2):
        async with open_page(live) as page:
            await page.goto("/healthz")
            assert await page.evaluate(KEPT) == ""
            await page.evaluate(KEEP)
            assert "kept" in await page.evaluate(KEPT)
            await page.context.new_page()
    async with open_page(live, ada) as page:
        await page.goto("/")
        assert "/login" not in page.url
    async with open_page(live) as page:
        await page.goto("/")
        assert "/login" in page.url


async def test_what_cannot_be_undone_is_not_used_again(live):
    def idle():
        return sum(map(len, idle_contexts.values()))

    async with open_page(live) as page:
        before = idle()
        await page.goto("/healthz")
    assert idle() == before + 1
    async with open_page(live) as page:
        assert idle() == before
        await page.clock.install()
    assert idle() == before
    with pytest.raises(LookupError):
        async with open_page(live) as page:
            raise LookupError
    assert idle() == before


async def test_two_pages_at_once_have_nothing_in_common(live, ada):
    async with open_page(live, ada) as page, open_page(live) as other, open_page(live, viewport=PHONE) as phone:
        assert len({page.context, other.context, phone.context}) == 3
        await page.goto("/")
        await other.goto("/")
        assert "/login" not in page.url
        assert "/login" in other.url


@pytest.mark.parametrize(
    ("ask", "event"),
    [
        ("new Image().src = 'http://example.org/a.png'", "requestfailed"),
        ("fetch('http://192.0.2.1/').catch(() => {})", "requestfailed"),
        ("location = 'http://example.org/'", "requestfailed"),
        ("new WebSocket('ws://example.org/')", "websocket"),
    ],
)
async def test_a_page_that_asks_another_host_fails_its_test(live, ask, event):
    async def visit():
        async with open_page(live) as page:
            # A page without a policy, which would forbid it.
            await page.route("**/plain", lambda route: route.fulfill(body="Hello"))
            await page.goto("/plain")
            async with page.expect_event(event):
                await page.evaluate(f"() => {{ {ask} }}")

    with pytest.raises(AssertionError, match=r"The page asked another host: \w+://(example\.org|192\.0\.2\.1)/"):
        await visit()
