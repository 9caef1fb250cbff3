"""How a request reaches its view, and what every answer carries."""

import functools

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.core.cache import cache
from django.test import Client

from chat.attachments import store
from chat.library import search
from oneclaw.asgi import BODY_MAX_BYTES, application
from tests import files


async def headers(path, settings, status=200):
    settings.SERVESTATIC_USE_MANIFEST, settings.SERVESTATIC_USE_FINDERS = False, True
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [(b"host", b"localhost")]}
    asked = ApplicationCommunicator(get_asgi_application(), scope)
    await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
    start = await asked.receive_output(5)
    assert start["status"] == status
    while (await asked.receive_output(5)).get("more_body"):
        pass
    await asked.wait(5)
    return {name.decode().lower(): value.decode() for name, value in start["headers"]}


async def test_a_static_file_has_the_headers_of_a_page(settings):
    file, page = await headers("/static/icon.svg", settings), await headers("/healthz", settings)
    assert file["content-type"] == "image/svg+xml"
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-opener-policy"):
        assert file[name] == page[name]


async def test_what_is_no_static_file_is_a_page_that_is_not_there(settings, db):
    assert "default-src 'self'" in (await headers("/static/none.svg", settings, 404))["content-security-policy"]


class Stage:
    """Ada, signed in, and what it takes to be answered in every way."""

    def __init__(self, ada, settings, monkeypatch):
        self.ada, self.settings, self.monkeypatch = ada, settings, monkeypatch
        self.client = Client(raise_request_exception=False, enforce_csrf_checks=True)
        self.client.force_login(ada)

    def get(self, path, **how):
        return self.client.get(path, **how)

    def fails(self):
        self.monkeypatch.setattr(search, "titles", lambda *arguments: 1 / 0)
        return self.get("/search")

    def too_often(self):
        self.settings.ACCOUNT_RATE_LIMITS = {"login": "1/m/ip"}
        cache.clear()
        for _ in range(2):
            answer = Client().post("/accounts/login/")
        cache.clear()
        return answer

    def redirected(self):
        self.settings.SECURE_SSL_REDIRECT = True
        return self.get("/")

    def redirected_with_a_wrong_host(self):
        self.settings.SECURE_SSL_REDIRECT = True
        return self.get("/", headers={"Host": "evil.example"})

    def too_large(self):
        return async_to_sync(start_of_answer)(application, content_length=BODY_MAX_BYTES + 1)

    def image(self, **headers):
        kept = store.store_file(self.ada, "cat.png", files.image())
        return self.get(f"/files/{kept.pk}", headers=headers and {"If-None-Match": f'"{kept.sha256}"'})


async def start_of_answer(asked, content_length):
    """The headers of what an ASGI application answers to a request of this length, of which nothing comes."""
    headers = [(b"host", b"localhost"), (b"content-length", str(content_length).encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    communicator = ApplicationCommunicator(asked, scope)
    start = await communicator.receive_output(5)
    await communicator.receive_output(5)
    await communicator.wait(5)
    return Answer(start["status"], {name.decode().title(): value.decode() for name, value in start["headers"]})


class Answer(dict):
    def __init__(self, status_code, headers):
        super().__init__(headers)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "ask"),
    [
        (200, functools.partial(Stage.get, path="/")),
        (200, functools.partial(Stage.get, path="/conversations/export.zip")),
        (200, functools.partial(Stage.get, path="/memory/export.zip")),
        (200, Stage.image),
        (301, Stage.redirected),
        (304, functools.partial(Stage.image, again=True)),
        (400, functools.partial(Stage.get, path="/", headers={"Host": "evil.example"})),
        (400, Stage.redirected_with_a_wrong_host),
        (401, functools.partial(Stage.get, path="/api/v1/sessions")),
        (403, lambda stage: stage.client.post("/settings/")),
        (404, functools.partial(Stage.get, path="/nowhere")),
        (404, functools.partial(Stage.get, path="/api/v1/nowhere")),
        (413, Stage.too_large),
        (429, Stage.too_often),
        (500, Stage.fails),
    ],
)
def test_every_answer_says_what_a_browser_may_run(ada, settings, monkeypatch, status, ask):
    answer = ask(Stage(ada, settings, monkeypatch))
    assert answer.status_code == status
    assert answer["Content-Security-Policy"]
    assert "unsafe" not in answer["Content-Security-Policy"]
