"""What a search shows of a text: its words, without the marks of Markdown."""

import pytest

from chat.library.excerpts import around, excerpt, plain


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("## Which **tea**?", "Which tea?"),
        ("- [x] *green* tea\n- `black` tea", "green tea\nblack tea"),
        ('1. See [the shop](https://example.org/tea "Tea").', "See the shop."),
        ("> a ~~bad~~ __good__ tea", "a bad good tea"),
        ("```python\nbrew(tea)\n```", "\nbrew(tea)\n"),
        ("| Tea | Minutes |\n|---|---:|\n| green | 2 |", " Tea · Minutes \n\n green · 2 "),
        # What is no mark stays.
        ("2 * 3 * 4, snake_case_name, a | b", "2 * 3 * 4, snake_case_name, a · b"),
        ("**never closed", "**never closed"),
    ],
)
def test_the_marks_are_left_out(markdown, words):
    assert plain(markdown) == words


def test_the_words_around_what_was_found_are_shown_as_text():
    text = (
        "# Notes\n\n"
        + "Some words. " * 200
        + "The **camomile** is [here](https://example.org) <b>now</b>. "
        + "More. " * 400
    )
    shown = excerpt(text, ["camomile"])
    assert "The <mark>camomile</mark> is here &lt;b&gt;now&lt;/b&gt;. More." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 400


def test_words_that_only_an_address_has_are_shown_with_it():
    assert "<mark>camo</mark>mile" in excerpt("See [this](https://example.org/camomile).", ["camo"])


def test_what_a_person_wrote_is_shown_as_it_is():
    assert excerpt("**tea** and *milk*", ["tea"], is_markdown=False) == "**<mark>tea</mark>** and *milk*"


@pytest.mark.parametrize("at", [0, 30, 1_995, 2_003, 90_000])
def test_a_long_text_is_read_around_what_was_found(at):
    text = ("lorem ipsum " * 10_000)[:at] + " the needle is here " + "dolor sit " * 10_000
    near = around(text, ["needle", "is"], 500)
    assert "needle is here" in near
    assert len(near) <= 1_000
    assert "<mark>needle</mark>" in excerpt(near, ["needle"])


def test_a_text_without_the_words_is_read_from_its_beginning():
    assert around("lorem ipsum " * 1_000, ["needle"], 500) == ("lorem ipsum " * 1_000)[:500]
