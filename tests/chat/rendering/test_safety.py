"""Whatever a model writes, it cannot run, load, submit or cover anything."""

import uuid
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.rendering.incremental import GrowingText, render
from chat.rendering.markdown import ATTRIBUTES, TAGS

ATTEMPTS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A;avascript&colon;alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](data:image/png;base64,iVBORw0KGgo=)",
    "![x](javascript:alert(1))",
    '![x](http://a.b/c.png"onerror="alert(1))',
    "<javascript:alert(1)>",
    '[x](http://a.b "onmouseover=alert(1)")',
    '[x](http://a.b/"onmouseover="alert(1))',
    "[x]: javascript:alert(1)\n\n[x]",
    '```"><script>alert(1)</script>\ncode\n```',
    '``` x" onclick="alert(1)\ncode\n```',
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    "<style>*{display:none}</style>",
    '<form action=//evil><button>Send</button></form><input autofocus onfocus="alert(1)">',
    "<math><mtext></table><mglyph><style><!--</style><img title=--&gt;&lt;img src=1 onerror=alert(1)&gt;>",
    '<a href="//evil" style="position:fixed;inset:0">x</a>',
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "- [x] <svg onload=alert(1)>",
    "[x](//evil.example)",
    "[x](/admin/logout)",
    "http://a.b/<script>alert(1)</script>",
    "# <u onclick=alert(1)>x",
    "$<img src=x onerror=alert(1)>$",
    "$$\n</div><script>alert(1)</script>\n$$",
    '\\(" onmouseover="alert(1)\\)',
    "[^<img src=x onerror=alert(1)>]: <script>alert(1)</script>",
    'x[^"onclick="alert(1)]\n\n[^"onclick="alert(1)]: y',
    '<u onclick="alert(1)">x</u><kbd style="position:fixed">y</kbd>',
    "<details open ontoggle=alert(1)>\n<summary onclick=alert(1)>x</summary>\n\ny\n\n</details>",
    "<details>\n<summary><script>alert(1)</script></summary>\n\n<img src=x onerror=alert(1)>\n\n</details>",
    "<sub><sup></sub><script>alert(1)</script></sup>",
    "\u202e<script>\u202c",
    "<scr\0ipt>alert(1)</scr\0ipt>",
]


class Audit(HTMLParser):
    """Collects every tag and attribute that a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]


def assert_safe(html):
    audit = Audit(html)
    assert audit.tags <= TAGS
    for tag, name, value in audit.attributes:
        if name == "role":
            assert (tag, value) in {("div", "doc-footnote"), ("sup", "link")}
            continue
        assert name in ATTRIBUTES.get(tag, set()) | {"class", "tabindex", "target", "rel", "dir"}, (tag, name)
        if name == "href":
            assert value.startswith(("http://", "https://", "mailto:"))
        if name == "class":
            assert not set(value) & set("<>\"'=")
    links = [attributes for attributes in audit.attributes if attributes[0] == "a"]
    assert sum(name == "rel" for _, name, _ in links) == sum(name == "target" for _, name, _ in links)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_shows_as_text_or_not_at_all(attempt):
    html = render(f"Before.\n\n{attempt}\n\nAfter.")
    assert_safe(html)
    assert "Before." in html
    assert "After." in html


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_state_in_between_is_less_safe(attempt):
    growing = GrowingText()
    for character in f"word {attempt} word":
        growing.append(character)
        for _, html in growing.changes():
            assert_safe(html)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*ATTEMPTS, "\n", "`", "```\n", '"', ">", "](", "|", "- "]), max_size=8).map("".join))
def test_no_mixture_of_attempts_is_less_safe(text):
    assert_safe(render(text))


def test_links_leave_the_page_alone():
    html = render("[the docs](https://docs.example.org/a?b=1&c=2)")
    assert 'href="https://docs.example.org/a?b=1&amp;c=2"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_a_picture_is_a_link_that_nobody_loads():
    assert render("![a cat](https://a.b/cat.png)") == (
        '<p><a href="https://a.b/cat.png" target="_blank" rel="noopener noreferrer nofollow">a cat</a></p>'
    )
    assert render("[![a cat](https://a.b/cat.png)](https://a.b)").count("<a ") == 1


def test_a_conversation_is_the_only_address_without_a_host():
    own = f"/c/{uuid.uuid4()}"
    assert f'href="{own}"' in render(f"[here]({own})")
    for other in (f"{own}/delete", "/admin/", "//evil.example", f"/{own}", "c/x", "?x", "#x", "/\\evil.example"):
        assert "href" not in render(f"[here]({other})")
