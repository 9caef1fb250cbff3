"""Links out of answers show their host, and those with room for words lead to our own page."""

import re

import pytest

from chat.rendering import incremental
from chat.rendering.outgoing_links import has_room_for_words, signed, unsigned, with_hosts


def shown(markdown, message_id=7):
    return with_hosts("".join(incremental.blocks(markdown)), message_id)


def destination(html, message_id=7):
    (to,) = re.findall(r'href="/messages/7/leave/([^"]+)"', html)
    return unsigned(message_id, to)


def test_a_link_shows_its_host_unless_its_text_says_it():
    assert " (evil.example)</a>" in shown("[the weather](https://evil.example/)")
    assert " (evil.example)</a>" in shown("[www.bank.example](https://evil.example/)")
    assert "(docs.example.org)" not in shown("https://docs.example.org/en/5.2")
    assert "(docs.example.org)" not in shown("[docs.example.org](https://docs.example.org/)")


@pytest.mark.parametrize(
    "text",
    [
        "https://bank.example/?from=evil.example",
        "bank.example (not evil.example)",
        "evil.example.bank.example",
        "https://evil.example@bank.example/",
        "evil.example:x@bank.example",
    ],
)
def test_a_text_that_names_the_host_in_passing_says_not_where_it_leads(text):
    html = with_hosts(f'<a href="https://evil.example/" rel="noopener">{text}</a>', 7)
    assert " (evil.example)</a>" in html


def test_a_link_with_room_for_words_leads_to_our_page_with_the_address_as_it_was_written():
    address = "https://evil.example/collect?d=Lena+harbour&n=1#top"
    html = shown(f"[the weather]({address})")
    assert destination(html) == address
    assert 'rel="noopener noreferrer nofollow"' in html
    assert "evil.example/collect" not in html


@pytest.mark.parametrize(
    "markdown", ["[mail](mailto:ada@example.org)", "[back](/c/3f2b8c1e-8a4b-4f0e-9a3b-2f1f6b7f0a11)", "**no link**"]
)
def test_what_leads_nowhere_else_stays(markdown):
    assert shown(markdown) == "".join(incremental.blocks(markdown))


def test_a_copy_for_others_has_plain_addresses():
    assert 'href="https://evil.example/collect?d=1"' in shown("[x](https://evil.example/collect?d=1)", None)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://example.org", False),
        ("https://www.example.org/docs", False),
        ("https://example.org/docs/lena-harbour", True),
        ("https://example.org/?q=1", True),
        ("https://example.org/#harbour", True),
        ("https://lena.harbour.evil.example/", True),
        ("https://lena:harbour@evil.example/", True),
        ("https://[broken/", True),
    ],
)
def test_which_addresses_have_room_for_words(address, expected):
    assert has_room_for_words(address) is expected


def test_an_address_is_signed_for_one_message():
    to = signed(7, "https://example.org/long/path")
    assert unsigned(7, to) == "https://example.org/long/path"
    assert unsigned(8, to) is None
    assert unsigned(7, to[:-1] + ("a" if to[-1] != "a" else "b")) is None
    assert unsigned(7, "https://evil.example/") is None
