"""A text that grows shows, after its last delta, exactly what the finished text shows."""

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.rendering import incremental, markdown
from chat.rendering.incremental import GrowingText, blocks, render

PIECES = [
    *("word ", "two words", "\n", "\n\n", "- ", "* ", "1. ", "2) ", "# ", "### ", "> ", "    ", "\t", "  \n"),
    *("```", "```py\n", "~~~\n", "`", "**", "*", "_", "~~", "[", "]", "(", ")", "[a]", "[a]: http://x.y\n", "[b]: <u>"),
    *(
        "|",
        "| a | b |\n|---|:-:|\n",
        "| 1 |\n",
        "| a | b |\n|---|:-:|\n| c",
        "| word ",
        "---\n",
        "===\n",
        "***",
        "- [ ] ",
        "- [x] ",
        "![i](http://x.y/p.png)",
    ),
    *(
        "http://a.b/c_d",
        "https",
        "://",
        "&amp;",
        "&",
        ";",
        "<b>",
        "<",
        ">",
        "\\",
        "\r\n",
        "\r",
        "\0",
        "é",
        "東京",
        "🦀",
        "!",
    ),
    *("'", '"', "'title'", "-", "=", "+", "1", ".", ":", "#", "\u2028", "\x0c", "\u00a0", "  ", "://x.y/"),
    *("a", "b, c.", "word", "plain words, and more", " ", "def f(x):\n    return 1\n", "!", "http", "ab.c", "\n    "),
    *("$", "$$", "$$\n", "$x$", "$a_1", "\\(", "\\)", "\\[", "\\]", "\\[\n", "x\n$$ y", "$5 and $10", "\\$", "x^2"),
    *("| a | b |\n|---|:-:|\n| c", "| word "),
    *("[^1]", "[^a]", "[^1]: note\n", "[^a]: ", "\n\n    more", "[^", "^1"),
    *(
        "**“重点”**",
        "**注意：**",
        "内容",
        "**",
        "当$x=2$时",
        "$5和$10",
        "看https://a.b/c",
        "，",
        "。",
        "（",
        "）",
        "https://a.b的",
    ),
    *(
        "<br>",
        "<br>\n",
        "H<sub>2</sub>O",
        "<u>",
        "</u>",
        "<kbd>",
        "</kbd>",
        "<mark>**",
        "</mark>",
        "so $$\nx\n$$\n",
        "so $$\n",
    ),
    *(
        "<details>\n",
        "<details>",
        "<summary>More</summary>\n",
        "</details>\n",
        "</details>",
        "\n\n</details>\n\n",
        "- <details>\n",
    ),
    *("(see", "it's", "a:", "b)", ' "t")', "[a](u", "x;", "é—", "a-b", "@", "%", "+1", "a=b", "\u2003", "…"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def grown(text, cuts):
    """(what the page shows after all deltas, the object)"""
    growing, page = GrowingText(), {}
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        growing.append(text[start:end])
        page.update(growing.changes())
    return [html for _, html in sorted(page.items()) if html], growing


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 500), max_size=12))
@example("p\n| a |\n|---|\n| 1 |\n", [2, 7, 10, 13])
@example("[a]: /url\n'ti\ntle'\n\n[a] x", [10, 14, 20])
@example("para\n1. x", [5, 6, 7])
@example("[x] first\n\n[x]: http://a.b\n\nlast", [9, 20, 27, 30])
@example("$$\nx\n\n- $$\n", [3, 5, 7, 9, 11])
@example("<details>\n<summary>a</summary>\n\nb\n\n</details>\n\nafter\n", [4, 9, 12, 31, 34, 38, 46, 49, 52])
@example("```a | b\n|---|---|\n| c", [8, 9, 12, 15, 18])
@example("<details>a\n\u2028\u2003\n\n</details>\n\nb", [9, 11, 12, 14, 15, 16, 20, 27])
@example("a $$\n# h\np\n$$\nx\n$$\n", [3, 5, 9, 11, 14, 16])
@example("a [^1]\n- b\n\n[^1]: x\n\n    [a]: /u\n", [7, 12, 15, 20, 25])
def test_any_split_of_deltas_gives_the_same_blocks(text, cuts):
    page, growing = grown(text, cuts)
    assert page == [html for html in blocks(text) if html]
    assert growing.blocks() == blocks(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
@example("word [a]: http://x.y\n- [a]: http://x.y\n")
@example("[a]: http://x.y\n'title'")
def test_character_by_character_gives_the_same_blocks(text):
    assert grown(text, range(len(text)))[0] == [html for html in blocks(text) if html]


LINES = [
    *(
        "- item {}",
        "- item {} *more*",
        "- {}",
        "* star {}",
        "+ plus {}",
        "  - inner {}",
        "    - deeper {}",
        "1. one {}",
        "{}. n",
    ),
    *(
        "{}) bracket",
        "  lazy {}",
        "  more of it",
        "",
        "-",
        "---",
        "===",
        "- [x] done {}",
        "- [ ] to do",
        "- `code {}`",
        "- > quoted",
    ),
    *(
        "| {} | b |",
        "| {} |",
        "|{} | b, c. | d",
        "|  |",
        "||",
        " | {} | in",
        "| (a) | 'b' |",
        "| `x|y` | {} | c |",
        "{} | b",
        "|",
        "plain {}",
        "# heading",
        "> quoted",
        "```",
        "    code",
        "- # h",
    ),
    *(
        "- [a] {}",
        "[a]: http://x.y",
        "- [^1]",
        "[^1]: note",
        "- $x$ {}",
        "  - a\n\n  - b",
        "- -",
        "12 34 {}",
        "{} 5.6 7",
        " - one in",
    ),
]
# What may come before a list or table.
HEADS = [
    "",
    "\n",
    "\n\n",
    " \n\t\n",
    "Here:\n",
    "Here:\n\n",
    "Here:\n\n\n",
    "**Here**\n\n \n\n",
    "[^1]: note\n\n",
    "> Here\n",
    "# Here\n",
]
LISTS = st.tuples(
    st.sampled_from(HEADS),
    st.sampled_from(
        [
            "- item {}",
            "1. item {}",
            "{}. item",
            "- item {}\n  - inner",
            "- a\n\n- b {}",
            "- a {}\n",
            "{}. a\n\n   b\n",
            "- a [^1] {}\n",
            "- [x] a\n",
            "| {} | b |",
            "| {} |",
            "| a | *{}* | c",
            "- **b** {}",
            "- [x] {}",
            "{} 2 3",
        ]
    ),
    st.integers(0, 25),
    st.lists(st.sampled_from(LINES), max_size=12),
    st.integers(0, 12),
).map(lambda drawn: drawn[0] + long_text(*drawn[1:]))


def long_text(line, count, others, more):
    """Many lines of one kind, then any others, then some of the first kind again."""
    head = ["| a | b |", "|---|:-:|"] if line.startswith("|") else []
    lines = [*head, *[line] * count, *others, *[line] * more]
    return "\n".join(each.replace("{}", str(number)) for number, each in enumerate(lines))


@pytest.mark.soak
@settings(max_examples=300, deadline=None)
@given(LISTS, st.lists(st.integers(0, 2000), max_size=40), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_long_lists_and_tables_give_the_same_blocks(text, cuts, by_lines, line_end):
    text = text.replace("\n", line_end)
    if by_lines:
        cuts = [*cuts, *(at for at, char in enumerate(text) if char == "\n")]
    with pytest.MonkeyPatch.context() as patched:
        # A collection of garbage may take longer than one update may.
        patched.setattr(incremental, "UPDATE_SECONDS", 10)
        page, growing = grown(text, cuts)
    assert page == [html for html in blocks(text) if html]
    assert growing.blocks() == blocks(text)


@pytest.mark.parametrize("line", ["- item {}", "{}. item", "{}) item\n", "  * item {}", "- item {}\n  1. in it"])
@pytest.mark.parametrize(
    "end", ["", "\n", "\n-", "\n- ", "\n\n- b", "\n12", "\n12.", "\n  more", "\n\nmore", "\n- *b*\n- c"]
)
def test_plain_items_character_by_character_give_the_same_blocks(line, end):
    text = long_text(line, 12, [], 0) + end + "\n- and more"
    for size in 1, 7:
        assert grown(text, range(0, len(text), size))[0] == [html for html in blocks(text) if html]
    growing, shown = GrowingText(), []
    for at, char in enumerate(text):
        growing.append(char)
        shown = growing.blocks()
        assert shown == blocks(text[: at + 1]), text[: at + 1]


@pytest.mark.parametrize("line", ["| {} | b |", "| {}", "|{}|b, c.|d", "| (a) | 'b {}' |", "|| {}"])
@pytest.mark.parametrize(
    "end",
    [
        "",
        "\n",
        "\n|",
        "\n| ",
        "\n| b",
        "\n||",
        "\n|||\n",
        "\n\n| b |",
        "\nmore",
        "\n- more",
        "\n \n|",
        "\n| *b* |\n| c |",
    ],
)
def test_plain_rows_character_by_character_give_the_same_blocks(line, end):
    text = long_text(line, 8, [], 0) + end + "\n| and | more |"
    for size in 1, 7:
        assert grown(text, range(0, len(text), size))[0] == [html for html in blocks(text) if html]
    growing = GrowingText()
    for at, char in enumerate(text):
        growing.append(char)
        assert growing.blocks() == blocks(text[: at + 1]), text[: at + 1]


@pytest.fixture
def parsed_sizes(monkeypatch):
    """The lengths of the texts that are parsed."""
    sizes, parse = [], markdown.rendered

    def counted(text, *arguments):
        sizes.append(len(text))
        return parse(text, *arguments)

    monkeypatch.setattr(markdown, "rendered", counted)
    # On a busy machine an update may take longer than it may.
    monkeypatch.setattr(incremental, "UPDATE_SECONDS", 10)
    return sizes


@pytest.mark.parametrize(
    ("head", "line"),
    # A line after a quotation's belongs to it, unless it begins a list.
    [(head, "- item {} has a few words") for head in HEADS]
    + [(head, "| item {} | has | a few words |") for head in HEADS if not head.startswith(">")],
)
def test_plain_items_and_rows_are_not_parsed_and_what_follows_them_without_them(line, head, parsed_sizes):
    text = long_text(line, 300, [], 0)
    growing = GrowingText()
    for start in range(0, len(head + text), 7):
        growing.append((head + text)[start : start + 7])
        growing.changes()
    assert len(parsed_sizes) < 20
    del parsed_sizes[:]
    growing.append("\n" + line.format("**bold**"))
    growing.changes()
    assert sum(parsed_sizes) < 300
    assert growing.blocks() == blocks(f"{head}{text}\n{line.format('**bold**')}")


@pytest.mark.parametrize("head", ["", "\n", "\n\n", "Here:\n\n\n"])
@pytest.mark.parametrize(
    "line",
    [
        "- item {} of *many*",
        "{}. item",
        "| {} | *b* |",
        "- item {}\n  - with an inner one",
        "- item {}\n",
        "{}. item\n\n   with a second paragraph\n",
        "- item {} with a note [^1] and [a link][a]",
        "- item {}[^1]\n",
    ],
)
def test_of_a_long_list_or_table_only_the_end_is_parsed_again(line, head, parsed_sizes):
    growing, text = GrowingText(), head + long_text(line, 150, [], 0)
    for start in range(0, len(text), 7):
        growing.append(text[start : start + 7])
        growing.changes()
    assert growing.blocks() == [block.html for block in markdown.rendered(text, markdown.Definitions(), 10)]
    assert max(parsed_sizes[:-1]) < 800


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_joined_blocks_carry_the_text_of_the_whole_message(text):
    def words(html):
        return re.sub(r"\s+", "", re.sub(r"<[^>]*>", "", html))

    assert words("".join(blocks(text))) == words(render(text))


def test_only_the_open_block_is_sent_again():
    growing = GrowingText()
    growing.append("One.\n\nTwo.\n\nThr")
    assert growing.changes() == [(0, "<p>One.</p>"), (1, "<p>Two.</p>"), (2, "<p>Thr</p>")]
    growing.append("ee.")
    assert growing.changes() == [(2, "<p>Three.</p>")]
    assert growing.changes() == []


def test_a_paragraph_is_rendered_once_when_it_came_at_once(monkeypatch):
    made = []

    class Counting:
        def clean(self, html):
            made.append(html)
            return html

    monkeypatch.setattr(markdown, "CLEANER", Counting())
    growing = GrowingText()
    for number in range(5):
        growing.append(f"**Paragraph** {number}.")
        growing.changes()
        growing.append("\n\n")
        growing.changes()
    growing.append("- one\n- *two*\n")
    growing.blocks()
    assert len(made) == 6


def test_a_block_that_is_no_more_is_sent_empty():
    growing = GrowingText()
    growing.append("para\n#")
    assert len(growing.changes()) == 2
    growing.append("hash")
    assert growing.changes() == [(0, "<p>para<br>\n#hash</p>"), (1, "")]


def test_a_link_defined_at_the_end_reaches_the_first_block():
    growing = GrowingText()
    growing.append("See [the docs].\n\nMore.\n\n")
    growing.changes()
    growing.append("[the docs]: https://docs.example.org\n")
    ((index, html),) = growing.changes()
    assert index == 0
    assert 'href="https://docs.example.org"' in html


@pytest.mark.parametrize("fence", ["```python\n", "1. Like so:\n   ```python\n   "])
def test_code_gets_its_colours_when_its_fence_closes(fence):
    growing = GrowingText()
    growing.append(f"{fence}def f(): ...\n")
    assert "<span" not in growing.blocks()[0]
    growing.append(f"{fence.rpartition('`')[2].splitlines()[-1] if '1.' in fence else ''}```\n")
    assert '<span class="k">def</span>' in growing.blocks()[0]
