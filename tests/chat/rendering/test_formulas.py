r"""TeX between dollars, or \( \) and \[ \], stays as it was written, marked for the page; money stays money."""

import pytest

from chat.rendering.incremental import GrowingText, blocks, render


def among_words(source):
    return f'<p>so <span class="math">{source}</span> is</p>'


def displayed(source, tag="div"):
    return f'<{tag} class="math math--display" tabindex="0">{source}</{tag}>'


@pytest.mark.parametrize("source", ["$x$", "$a_1 * b_1 * c$", r"\(a_1 *b* c\)", r"$\$5 + x$", "$3 x$", r"$`x`[y](z)$"])
def test_a_formula_among_words(source):
    assert render(f"so {source} is") == among_words(source)


@pytest.mark.parametrize(
    "text", ["当$x=2$时，最小。", "二次方程式$ax^2+bx+c=0$の解は", "한국어$x$는", "ให้$x$เป็น", r"若$2\text{ 个}$则"]
)
def test_a_formula_beside_a_script_without_spaces(text):
    before, source, after = text.partition("$")[0], text[text.find("$") : text.rfind("$") + 1], text.rpartition("$")[2]
    assert render(text) == f'<p>{before}<span class="math">{source}</span>{after}</p>'


def test_what_html_would_read_is_escaped():
    assert render("so $a<b & c$ is") == among_words("$a&lt;b &amp; c$")


@pytest.mark.parametrize(
    "source", ["$$x$$", "$$\nx\n$$", "$$\na_1 * b\n\\\\ - c\n= d * e$$", r"\[x\]", "\\[\nx\\\\\n\\]", "\\[\n- x\n\\]"]
)
def test_a_formula_of_its_own(source):
    assert blocks(source) == [displayed(source)]
    assert blocks(f"so\n{source}\n\nis") == ["<p>so</p>", displayed(source), "<p>is</p>"]


def test_a_formula_in_a_list_and_in_a_quotation():
    assert displayed("$$\nx * y\n$$") in render("1. So:\n   $$\n   x * y\n   $$\n2. b")
    assert displayed("$$\nx * y\n$$") in render("> $$\n> x * y\n> $$")


@pytest.mark.parametrize("begin", ["So: $$\n", "So: $$ ", "$$y = "])
def test_a_displayed_formula_that_begins_after_words(begin):
    lines = f"{begin}x = 1\n$$\nand so on."
    for text in (lines, "- " + lines.replace("\n", "\n  "), "> " + lines.replace("\n", "\n> ")):
        html = render(text)
        assert html.count("math--display") == 1, html
        assert "x = 1\n$$</span><br>\nand so on." in html
        assert blocks(f"{text}\n\nAfter")[-1] == "<p>After</p>"


def test_a_displayed_formula_among_words():
    assert render("so $$x_1$$ is") == f"<p>so {displayed('$$x_1$$', 'span')} is</p>"
    assert render("$$\nx\n$$ is") == f"<p>{displayed(chr(10).join(['$$', 'x', '$$']), 'span')} is</p>"


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $10",
        "It costs $5.",
        "from $5-$10 to $20",
        "US$5 or 5$ or 6$",
        "$5 and 10$",
        "$20k for one, 30$ for two",
        "echo $HOME and $PATH",
        "$1/€0.92 and ¥150/$ today",
        "从$5到10$。",
        "价格为$5和$10。",
        "in $/€ and €/$",
        "$5+ tax or 6$",
        "a 5-$-bill and a 10-$-bill",
        "￥700/$",
        "a $ b $ c",
        r"\$x\$",
        "$$",
        "$$x",
        "$$ $$",
        r"\(\)",
        "`$x$`",
        "$" * 30,
    ],
)
def test_what_is_no_formula(text):
    assert "math" not in render(text)


def test_a_formula_whose_end_has_not_come_shows_as_it_is_written():
    growing = GrowingText()
    growing.append("$$\na_1 * b * c")
    assert growing.changes() == [(0, "<p>$$<br>\na_1 * b * c</p>")]
    growing.append("\n\nNext")
    assert growing.changes()[-1] == (1, "<p>Next</p>")
    growing = GrowingText()
    for delta in ("$$\n", "a_1 *", " b", "\n$", "$"):
        growing.append(delta)
        growing.changes()
    assert growing.blocks() == [displayed("$$\na_1 * b\n$$")]
