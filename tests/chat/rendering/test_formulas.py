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
