"""A real server and a real browser for tests.

    async def test_something(live, ada):
        async with open_page(live, ada) as page:        # signed in as Ada
            await page.goto("/")

A page that logs an error, throws, or asks another host for anything fails its test.
"""

import atexit
import contextlib
import functools
import mimetypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
import uvicorn
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.contrib.staticfiles import finders
from django.test import Client
from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route, async_playwright, expect

from oneclaw.ops import bundle
from oneclaw.threads import in_database
from tests.leftovers import await_threads

DESKTOP = {"width": 1280, "height": 800}
# What does not fit, in words.
MISFITS = """() => {
  const found = document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the window"] : [];
  const add = (element, what) => found.push(`${what}: ${element.textContent.trim().slice(0, 60)}`);
  for (const table of document.querySelectorAll("table"))
    if (table.checkVisibility() && table.parentElement.clientWidth < 200) add(table, "a squeezed table");
  for (const one of document.querySelectorAll("nav a, button, .button"))
    if (one.textContent.trim() && one.checkVisibility() && getComputedStyle(one).overflowX === "visible")
      if (one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1) add(one, "wider than its box");
  for (const bar of document.querySelectorAll("nav"))
    if (bar.checkVisibility() && bar.scrollWidth > bar.clientWidth + 1) add(bar, "a bar of links with a hidden part");
  return found;
}"""
PHONE = {"width": 390, "height": 844}
# From where a page loads axe: the browser fetches and compiles it once, and not half a megabyte for each page.
AXE_PATH = "/static/axe.js"
# The rules of axe that ask for colours.
COLOR_RULES = ("color-contrast", "link-in-text-block")

# Milliseconds: what takes a tenth of it on an idle machine takes all of it on a busy one.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)

FLAGS = [
    "--headless",
    "--no-sandbox",
    # The tabs of a context share a renderer, and what it has compiled.
    "--process-per-site",
    # There is no other host.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Who connects while the first window opens may wait for it for ever.
    "--no-startup-window",
    # As on a desk: a mouse, and tabs behind another one go on as ever.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
]


class LiveServer:
    """The product's own ASGI application, in a thread of this process, on the test's database.

    Its address is the same for all tests of a process, so that the browser need not fetch every script again.
    """

    def __init__(self) -> None:
        self.socket = bound(reserved().getsockname()[1])
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        config = uvicorn.Config(serve, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        give_up = time.monotonic() + 15
        while not self.server.started:
            assert self.thread.is_alive(), "The server did not start."
            assert time.monotonic() < give_up, "The server did not start in time."
            time.sleep(0.01)
        return self

    def __exit__(self, *failure: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()
        assert not self.thread.is_alive(), "The server did not stop."
        await_threads()


@functools.cache
def reserved() -> socket.socket:
    """Keep a free port for the servers of this process: it is bound, but nothing listens on it."""
    return bound(0)


def bound(port: int) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind(("127.0.0.1", port))
    return found


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """Static files as deployment serves them; everything else is the application's."""
    from oneclaw.asgi import application

    found = static_file(scope["path"]) if scope["type"] == "http" else None
    if found is None:
        await application(scope, receive, send)
        return
    headers = [(b"content-type", found[0]), (b"cache-control", b"max-age=3600, immutable")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": found[1]})


@functools.cache
def static_file(path: str) -> tuple[bytes, bytes] | None:
    """Return the type and the bytes of a static file, with those inside that it imports."""
    source = source_file(path)
    text = bundle.bundled(path.removeprefix("/static/"), source_text) if source and path != AXE_PATH else None
    return (source[0], text.encode()) if source and text is not None else source


@functools.cache
def source_file(path: str) -> tuple[bytes, bytes] | None:
    """Return the type and the bytes of a static file as it lies in the checkout, or of axe."""
    if path == AXE_PATH:
        return b"text/javascript", AXE_SCRIPT.encode()
    name = path.removeprefix("/static/")
    file = None if name == path else finders.find(name)
    if file is None or not Path(file).is_file():
        return None
    return (mimetypes.guess_type(file)[0] or "application/octet-stream").encode(), Path(file).read_bytes()


def source_text(name: str) -> str:
    return Path(finders.find(name)).read_text()


async def serve_sources(page: Page) -> None:
    """Give this page the static files as they lie in the checkout, as in development."""

    async def answer(route: Route) -> None:
        content_type, body = source_file(urlsplit(route.request.url).path)
        await route.fulfill(content_type=content_type.decode(), body=body)

    await page.route("**/static/**", answer)


async def requested(page: Page, kind: str) -> list[str]:
    """Return the names of the static files of this kind that the page has fetched, but for axe and formulas."""
    urls = await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    paths = [urlsplit(url).path for url in urls]
    return [path for path in paths if path.endswith(f".{kind}") and "/katex/" not in path and path != AXE_PATH]


def chromium() -> str:
    """The system's browser, or better its shell without windows of its own, which takes a third of the time; without
    any a test fails rather than pretends."""
    wanted = os.environ.get("CHROMIUM", "")
    for name in (wanted, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if name and (found := shutil.which(name)):
            return found
    return pytest.fail(
        "These tests drive Chromium, and there is none: apt-get install --no-install-recommends chromium "
        "fonts-dejavu-core, or set CHROMIUM to one.",
        pytrace=False,
    )


@functools.cache
def the_browser() -> str:
    """One browser for all tests of this process, which starts with the first; each tab has a context of its own."""
    profile = tempfile.TemporaryDirectory(prefix="oneclaw-browser-", ignore_cleanup_errors=True)
    command = [chromium(), *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile.name}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def end() -> None:
        # The program may be a script that waits for the browser: both are told.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
        profile.cleanup()

    atexit.register(end)
    # Chromium writes its port, and the path of its debugging socket, once it listens.
    written = Path(profile.name) / "DevToolsActivePort"
    give_up = time.monotonic() + 30
    while not written.exists() or written.read_text().count("\n") < 1:
        assert process.poll() is None, "Chromium did not start."
        assert time.monotonic() < give_up, "Chromium did not start in time."
        time.sleep(0.02)
    return f"http://127.0.0.1:{written.read_text().splitlines()[0]}"


async def connected() -> Browser:
    """The browser, from the loop that all its tests share."""
    if not connections:
        playwright = await async_playwright().start()
        connections.append(await playwright.chromium.connect_over_cdp(the_browser(), timeout=PATIENCE))
    return connections[0]


connections: list[Browser] = []


class ReusedContext:
    """A browser's context that tests of this process use one after the other.

    One page of it stays open, and keeps the renderer's process with all that it has fetched and compiled.
    """

    # What pages keep. Not the cache of HTTP: files that never change may stay.
    STORAGE = "cookies,local_storage,indexeddb,service_workers,cache_storage,file_systems"

    def __init__(self, context: BrowserContext, keeper: Page, storage: CDPSession) -> None:
        self.context, self.keeper, self.storage = context, keeper, storage

    @classmethod
    async def open(cls, options: dict[str, Any]) -> Self:
        context = await (await connected()).new_context(**options)
        keeper = await context.new_page()
        await keeper.goto("/healthz")
        return cls(context, keeper, await context.new_cdp_session(keeper))

    async def empty(self) -> bool:
        """Close the other pages and remove what they kept; False when something stays that only closing removes."""
        for page in self.context.pages:
            if page is not self.keeper:
                await page.close()
        origin = self.keeper.url.removesuffix("/healthz")
        await self.storage.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": self.STORAGE})
        await self.context.clear_cookies()
        has_fake_clock = await self.keeper.evaluate("'__pwClock' in globalThis")
        return not has_fake_clock


# Those that no test uses now, by their options.
idle_contexts: dict[str, list[ReusedContext]] = {}


@contextlib.asynccontextmanager
async def empty_context(options: dict[str, Any]) -> AsyncIterator[BrowserContext]:
    """A context in which nobody is signed in and nothing is kept. That of a test that failed serves no other."""
    idle = idle_contexts.setdefault(repr(sorted(options.items())), [])
    reused = idle.pop() if idle else await ReusedContext.open(options)
    is_empty = False
    try:
        yield reused.context
        is_empty = await reused.empty()
    finally:
        if is_empty:
            idle.append(reused)
        else:
            await reused.context.close()


def session_cookie(user: Any) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


@contextlib.asynccontextmanager
async def open_page(
    live: LiveServer, user: Any = None, *, expect: Iterable[str] = (), **options: Any
) -> AsyncIterator[Page]:
    """A tab, signed in as `user` when given. `options` go to the browser's context (viewport, color_scheme, …).

    `expect` are parts of messages that this test's console may hold, such as the status of an error page.
    """
    problems: list[str] = []
    # Nobody travels, unless a test says so.
    here = {"timezone_id": user.timezone} if user is not None else {}
    options = {"viewport": DESKTOP, "reduced_motion": "reduce", "base_url": live.url, **here} | options
    async with empty_context(options) as context:
        if user is not None:
            value = await in_database(session_cookie, user)
            await context.add_cookies([{"name": "sessionid", "value": value, "url": live.url}])
        watching = functools.partial(watch, live=live, problems=problems)
        context.on("page", watching)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE)
        yield page
        context.remove_listener("page", watching)
    unexpected = [problem for problem in problems if not any(part in problem for part in expect)]
    assert not unexpected, unexpected


def watch(page: Page, live: LiveServer, problems: list[str]) -> None:
    host = urlsplit(live.url).netloc

    def asked(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != host:
            problems.append(f"The page asked another host: {url}")

    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    # Every request to another host fails, and to be told of those alone costs a test less than to be told of all.
    page.on("requestfailed", lambda request: asked(request.url))
    page.on("websocket", lambda opened: asked(opened.url))


async def fits(page: Page) -> bool:
    """Whether nothing is wider than the window, no table is squeezed, and no link or button overflows its box."""
    found = await page.evaluate(MISFITS)
    print(page.url, page.viewport_size, *found)
    return not found


async def violations(page: Page, rules: Iterable[str] = ()) -> str:
    """What axe finds wrong with the page as it is now, by these rules or by all; "" when nothing is."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(f"import('{AXE_PATH}')")
    found = await page.evaluate("(options) => axe.run(options).then(({ violations }) => ({ violations }))", options)
    return AxeResults(found).generate_report() if found["violations"] else ""


async def violations_in_both_schemes(page: Page) -> str:
    """What axe finds wrong in light or in dark, which differ by their colours alone."""
    found = ""
    for scheme, rules in (("light", ()), ("dark", COLOR_RULES)):
        await page.emulate_media(color_scheme=scheme)
        assert await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
        found += await violations(page, rules)
    return found
