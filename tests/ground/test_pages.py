"""How a request reaches its view, and what every answer carries."""

from asgiref.testing import ApplicationCommunicator
from django.template import engines
from django.utils import translation

from oneclaw.pages import Pages


async def headers(path, settings, status=200):
    settings.SERVESTATIC_USE_MANIFEST, settings.SERVESTATIC_USE_FINDERS = False, True
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [(b"host", b"localhost")]}
    asked = ApplicationCommunicator(Pages(), scope)
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


def test_what_is_kept_for_all_holds_nothing_of_one(rf, ada):
    page = engines["django"].from_string(
        "{% load constant i18n %}{% constant %}"
        "{{ user }}{% csrf_token %}{{ word }}{% translate 'Yes' %}{% endconstant %}"
    )
    request = rf.get("/")
    request.user = ada
    assert page.render({"word": "secret"}, request) == "Yes"
    with translation.override("de"):
        assert page.render({"word": "secret"}, request) == "Ja"
    assert page.render({}, request) == "Yes"
