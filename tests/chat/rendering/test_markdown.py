"""What Markdown becomes on the page."""

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
        ("3. three", '<ol start="3" dir="auto">\n<li>three</li>\n</ol>'),
        ("---", "<hr>"),
        (
            "- [ ] open\n- [x] done",
            '<ul class="contains-task-list" dir="auto">\n<li class="task-list-item"><span class="task">☐</span> open</li>\n'
            '<li class="task-list-item"><span class="task">☑</span> done</li>\n</ul>',
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
    ],
)
def test_a_bare_address_is_a_link_without_the_punctuation_after_it(text, address):
    assert f'href="{address.replace("&", "&amp;")}"' in render(text)


@pytest.mark.parametrize("text", ["xhttp://a.b", "http://", "`https://a.b`", "ftp://a.b", "http:/a.b"])
def test_what_is_no_address_is_no_link(text):
    assert "<a " not in render(text)


def test_each_top_level_block_is_one():
    assert len(blocks("# A\n\nb\n\n- c\n- d\n\n```\ne\n\nf\n```\n\n> g\n\n[h]: http://i.j\n")) == 5
