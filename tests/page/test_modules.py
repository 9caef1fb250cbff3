"""Modules of the page by themselves: how long a reconnect waits, and what happens when the browser's store is full."""

import pytest

from tests.browser import open_page

pytestmark = pytest.mark.browser

# Sockets that close at once, or after they have lived for so many milliseconds; a clock that runs by itself.
WAITS = """async ([random, lives]) => {
    const { Socket } = await import("/static/js/socket.js");
    const waits = [];
    let again = null, now = 0;
    Math.random = () => random;
    Date.now = () => now;
    window.setTimeout = (call, wait) => { if (wait !== 45000) { waits.push(wait); again = call; } };
    window.WebSocket = class extends EventTarget {
        constructor() { super(); opened.push(this); }
        close() {}
    };
    const opened = [];
    new Socket({ onOpen() {}, onFrame() {}, onState() {} }).connect();
    for (const life of lives) {
        const socket = opened.at(-1);
        if (life) {
            socket.dispatchEvent(new Event("open"));
            socket.dispatchEvent(new MessageEvent("message", { data: "{}" }));
        }
        now += life;
        socket.dispatchEvent(Object.assign(new Event("close"), { code: 1013 }));
        again();
    }
    return waits;
}"""
FULL = """async (isForbidden) => {
    const { Unsent } = await import("/static/js/unsent.js");
    const full = () => { throw new DOMException("It is full.", "QuotaExceededError"); };
    if (isForbidden) Object.defineProperty(window, "localStorage", { get: full });
    else Storage.prototype.setItem = full;
    const unsent = new Unsent("7");
    unsent.add({ client_id: "a", session: "s", text: "One" }, false);
    unsent.add({ client_id: "b", session: "s", text: "Two" }, false);
    unsent.remove("a");
    unsent.keepDraft("s", "A draft");
    return [unsent.of("s").map(({ message }) => message.text), unsent.draft("s")];
}"""


async def test_a_reconnect_waits_ever_longer_up_to_half_a_minute_and_by_chance(live):
    async with open_page(live) as page:

        async def waits(random, lives):
            await page.goto("/accounts/login/")
            return await page.evaluate(WAITS, [random, lives])

        shortest = await waits(0, [0] * 8)
        assert shortest == [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]
        longest = await waits(1, [0] * 8)
        assert longest == [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
        assert (await waits(0.5, [0]))[0] == 750
        # One that speaks and is dropped at once is no reason to hurry; one that has lived is.
        assert await waits(0, [0, 100, 100, 60_000, 100]) == [500, 1000, 2000, 500, 1000]


async def test_what_the_browser_does_not_store_is_kept_as_long_as_the_page(live):
    async with open_page(live) as page:
        for is_forbidden in (False, True):
            await page.goto("/accounts/login/")
            assert await page.evaluate(FULL, is_forbidden) == [["Two"], "A draft"]
