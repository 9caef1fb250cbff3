"""What Markdown becomes on the page."""

import re

import pytest

from chat.rendering.incremental import blocks, render

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Hello **you** and *me* and ~~them~~.", "<p>Hello <strong>you</strong> and <em>me</em> and <s>them</s>.</p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("a & b < c", "<p>a &amp; b &lt; c</p>"),
        ("`a < b`", "<p><code>a &lt; b</code></p>"),
        ("## Two", '<h3 data-level="2">Two</h3>'),
        ("> said", '<blockquote dir="auto">\n<p>said</p>\n</blockquote>'),
        ("3. three", '<ol start="3">\n<li dir="auto">three</li>\n</ol>'),
        ("---", "<hr>"),
        (
            "- [ ] open\n- [x] done",
            '<ul class="contains-task-list">\n'
            '<li class="task-list-item" dir="auto"><span class="task">☐</span> open</li>\n'
            '<li class="task-list-item" dir="auto"><span class="task">☑</span> done</li>\n</ul>',
        ),
        (
            "| a | b |\n|:-:|--:|\n| 1 | 2 |",
            '<div class="wide" tabindex="0" dir="auto"><table>\n<thead>\n<tr>\n<th class="center">a</th>\n'
            '<th class="right">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td class="center">1</td>\n'
            '<td class="right">2</td>\n</tr>\n</tbody>\n</table></div>',
        ),
        ("[x](mailto:a@b.c)", f'<p><a href="mailto:a@b.c" {LINK}>x</a></p>'),
        ("[the docs]\n\n[the docs]: http://a.b", f'<p><a href="http://a.b" {LINK}>the docs</a></p>'),
        ("1 < 2 <b>bold</b>", "<p>1 &lt; 2 &lt;b&gt;bold&lt;/b&gt;</p>"),
        ("", ""),
    ],
)
def test_markdown_becomes(text, html):
    assert render(text) == html


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://a.b/c_d_e.", "https://a.b/c_d_e"),
        ("(https://en.wikipedia.org/wiki/Tea_(drink))", "https://en.wikipedia.org/wiki/Tea_(drink)"),
        ("http://a.b?x=1&y=2, then", "http://a.b?x=1&y=2"),
        ("**https://a.b**", "https://a.b"),
        ("https://a.b/ä", "https://a.b/%C3%A4"),
        ("请看 https://a.b/docs（中文说明）了解更多", "https://a.b/docs"),
        ("见 https://a.b/a，谢谢。", "https://a.b/a"),
        ("看https://a.b/a。", "https://a.b/a"),
        ("**https://a.b/x**。后续", "https://a.b/x"),
        ("**https://a.b/x**后续", "https://a.b/x"),
        ("「https://a.b/x」", "https://a.b/x"),
        ("https://zh.wikipedia.org/wiki/北京", "https://zh.wikipedia.org/wiki/%E5%8C%97%E4%BA%AC"),
        ("https://a.example的文档", "https://a.example"),
        ("https://a.example:8080的文档", "https://a.example:8080"),
        ("(见https://a.b/x)后", "https://a.b/x"),
        ("https://a.b/茶_(饮料)", "https://a.b/%E8%8C%B6_(%E9%A5%AE%E6%96%99)"),
        ("参见https://a.b/x,然后", "https://a.b/x"),
        ('"https://a.b/x"后', "https://a.b/x"),
        ("راجع https://a.b/x، ثم", "https://a.b/x"),
        ("देखें https://a.b/x।", "https://a.b/x"),
        ("“https://a.b/x”", "https://a.b/x"),
        ("https://a.b/x—and", "https://a.b/x"),
        ("https://a.b/Foo–Bar", "https://a.b/Foo%E2%80%93Bar"),
    ],
)
def test_a_bare_address_is_a_link_without_the_punctuation_after_it(text, address):
    assert f'href="{address.replace("&", "&amp;")}"' in render(text)


@pytest.mark.parametrize("text", ["xhttp://a.b", "http://", "`https://a.b`", "ftp://a.b", "http:/a.b"])
def test_what_is_no_address_is_no_link(text):
    assert "<a " not in render(text)


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("这是**“重点”**内容。", "“重点”"),
        ("**注意：**正文继续。", "注意："),
        ("含**「重点」**内容", "「重点」"),
        ("日本語の**「太字」**です。", "「太字」"),
        ("**스크립트(script)**라고", "스크립트(script)"),
        ("**(ไทย)**ต่อ", "(ไทย)"),
        ("这是**重点**。", "重点"),
        ("**https://a.b/x**。", "https://a.b/x"),
    ],
)
def test_emphasis_beside_a_script_without_spaces(text, strong):
    html = re.sub(r"</?a\b[^>]*>", "", render(text))
    assert f"<strong>{strong}</strong>" in html


@pytest.mark.parametrize(
    "text", ["a**(b)**c", "5 * 3 * 2", "snake_case_名前_x", "** 注意 **", "foo*“bar”*baz", "~~ 「x」 ~~"]
)
def test_emphasis_beside_other_scripts_is_as_in_commonmark(text):
    assert render(text) == f"<p>{text}</p>"


def test_emphasis_by_underscores_and_struck_text_beside_them():
    assert render("含~~「重点」~~内容") == "<p>含<s>「重点」</s>内容</p>"
    assert render("_「重点」_ 内容") == "<p><em>「重点」</em> 内容</p>"
    assert render("含_重点_内容") == "<p>含_重点_内容</p>"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one<br>two<BR/>three<br />four", "<p>one<br>\ntwo<br>\nthree<br>\nfour</p>"),
        ("one<br>\ntwo", "<p>one<br>\ntwo</p>"),
        ("H<sub>2</sub>O, 10<sup>3</sup>", "<p>H<sub>2</sub>O, 10<sup>3</sup></p>"),
        (
            "<kbd>Ctrl</kbd>+<mark>**C**</mark> <u>*x*</u>",
            "<p><kbd>Ctrl</kbd>+<mark><strong>C</strong></mark> <u><em>x</em></u></p>",
        ),
        ("the tag <u> and `<sub>x</sub>`", "<p>the tag &lt;u&gt; and <code>&lt;sub&gt;x&lt;/sub&gt;</code></p>"),
        ('<u class="x">y</u>', '<p>&lt;u class="x"&gt;y&lt;/u&gt;</p>'),
        ("**a<u>b**c</u>", "<p>**a<u>b**c</u></p>"),
    ],
)
def test_html_that_models_write(text, html):
    assert render(text) == html


def test_html_in_a_cell_of_a_table():
    html = render("| A | B |\n|---|---|\n| one<br>two | H<sub>2</sub>O |")
    assert "<td>one<br>\ntwo</td>\n<td>H<sub>2</sub>O</td>" in html


FOLDED = "<details>\n<summary>More <em>of</em> it</summary>\n<p>Hidden <strong>bold</strong></p>\n</details>"


@pytest.mark.parametrize(
    "text",
    [
        "<details>\n<summary>More *of* it</summary>\n\nHidden **bold**\n\n</details>",
        "<details><summary>More *of* it</summary>\nHidden **bold**\n</details>",
        "<details><summary>More *of* it</summary>Hidden **bold**</details>",
        "<details open>\n\n<summary>More *of* it</summary>\n\nHidden **bold**\n</details>",
        "<DETAILS>\n  <summary>More *of* it</summary>\n  Hidden **bold**</DETAILS>",
    ],
)
def test_details_are_folded(text):
    assert blocks(f"Before.\n{text}\n\nAfter.") == ["<p>Before.</p>", FOLDED, "<p>After.</p>"]
    assert FOLDED in render("- one\n\n  " + text.replace("\n", "\n  ") + "\n- two")
    assert FOLDED in render("> " + text.replace("\n", "\n> "))


def test_details_lie_in_details_and_hold_blocks():
    inner = "<details>\n\n```html\n</details>\n```\n\n- a\n- b\n\n</details>"
    outer = f"<details>\n<summary>Out</summary>\n\n{inner}\n\n</details>\n\nAfter."
    html, after = blocks(outer)
    assert html.count("<details>") == html.count("</details>") == 2
    assert '<li dir="auto">b</li>' in html
    assert "&lt;/" in html
    assert after == "<p>After.</p>"


def test_details_that_nothing_closes_are_shown_as_they_are_written():
    assert render("<details>\n<summary>More</summary>\n\n**x**") == (
        "<div>\n<p>&lt;details&gt;</p>\n<p>&lt;summary&gt;More&lt;/summary&gt;</p>\n<p><strong>x</strong></p>\n</div>"
    )
    assert "<details>" not in render("Put it into <details> and </details>.")
    assert "<details>" not in render("```html\n<details>\n</details>\n```")


def test_each_top_level_block_is_one():
    assert len(blocks("# A\n\nb\n\n- c\n- d\n\n```\ne\n\nf\n```\n\n> g\n\n[h]: http://i.j\n")) == 5
