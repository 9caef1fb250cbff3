"""The parts of a page that are cached for all people of one language: right in each language, and with nothing of a
person."""

import re
from dataclasses import replace

import pytest
from django.core.cache import caches
from django.test import Client

from tests.conversations import send, settle

# What differs each time a page is rendered: the masked CSRF token, and the id of the next message.
TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")
CLIENT_ID = re.compile(r'name="client_id" value="[^"]*"')


@pytest.fixture(autouse=True)
def fragments():
    caches["template_fragments"].clear()
    yield caches["template_fragments"]
    caches["template_fragments"].clear()


@pytest.fixture
def pages(ada, stranger):
    """Pages of two people who differ in all that a page shows of a person, as (person, path)."""
    ada.is_staff, ada.appearance = True, "dark"
    ada.save()
    accepted = [send(ada, "Tea"), send(ada, "Water"), send(stranger, "Kaffee")]
    for each in accepted:
        settle(each, "Well.")
    addresses = [f"/c/{each.message.session_id}" for each in accepted]
    listed = [
        (ada, addresses[0]),
        (stranger, addresses[2]),
        (ada, addresses[1]),
        (ada, "/memory/"),
        (stranger, "/memory/"),
    ]
    for person, path in listed:
        # Opening a conversation marks it as read.
        shown(person, path)
    return listed


def shown(person, path):
    client = Client()
    client.force_login(person)
    response = client.get(path)
    assert response.status_code == 200
    html = CLIENT_ID.sub("", response.content.decode())
    # A page has one token; one of another request would be the second.
    for number, token in enumerate(dict.fromkeys(TOKEN.findall(html))):
        html = html.replace(token, f"token {number}")
    return html


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_page_with_cached_parts_is_the_page_without_them(stranger, pages, fragments, language):
    stranger.language = language
    stranger.save()
    uncached = []
    for person, path in pages:
        fragments.clear()
        uncached.append(shown(person, path))
    fragments.clear()
    for _ in range(2):
        assert [shown(person, path) for person, path in pages] == uncached
    assert len(set(uncached)) == len(uncached)


def test_a_part_is_cached_for_each_language(ada, pages):
    question = "What is on your mind?"
    assert question in shown(*pages[0])
    for language in ("de", "fr"):
        ada.language = language
        ada.save()
        assert question not in shown(*pages[0])
    ada.language = "en"
    ada.save()
    assert question in shown(*pages[0])


def test_a_changed_setting_changes_the_cached_part(pages, settings):
    assert 'name="files"' in shown(*pages[0])
    settings.FILES = replace(settings.FILES, kinds=[])
    assert 'name="files"' not in shown(*pages[0])


def test_a_page_is_made_of_what_is_cached(pages, fragments, monkeypatch):
    before = shown(*pages[0])
    monkeypatch.setattr(fragments.__class__, "get", lambda self, key, *rest, **more: "<!-- cached -->")
    after = shown(*pages[0])
    assert after.count("<!-- cached -->") > 5
    assert "What is on your mind?" in before
    assert "What is on your mind?" not in after
