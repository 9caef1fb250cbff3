"""Footnotes: a number where a note is pointed to, and the note where it stands."""

from chat.rendering.incremental import GrowingText, blocks, render


def pointer(number):
    return f'<sup class="note-ref" role="link" tabindex="0" data-note="{number}">{number}</sup>'


def note(number, html):
    number_html = f'<span class="note__number">{number}</span>'
    return f'<div class="note" role="doc-footnote" data-note="{number}" dir="auto">{number_html}\n{html}\n</div>'


def test_a_note_and_what_points_to_it():
    assert blocks("One[^a], two[^b].\n\n[^a]: The *first*.\n[^b]: The second,\n    [^a] again.\n\n    More.") == [
        f"<p>One{pointer(1)}, two{pointer(2)}.</p>",
        note(1, "<p>The <em>first</em>.</p>"),
        note(2, f"<p>The second,<br>\n{pointer(1)} again.</p>\n<p>More.</p>"),
    ]


def test_what_points_to_no_note_stays_as_it_was_written():
    assert render("One[^a].") == "<p>One[^a].</p>"
    assert render("`[^a]` [^b]\n\n[^a]: x").startswith("<p><code>[^a]</code> [^b]</p>")


def test_a_note_reaches_what_pointed_to_it_long_before():
    growing = GrowingText()
    for delta in ("One[^a].\n\n", "Two.\n\n", "[^a]: The", " note"):
        growing.append(delta)
        changes = growing.changes()
    assert growing.blocks() == [f"<p>One{pointer(1)}.</p>", "<p>Two.</p>", note(1, "<p>The note</p>")]
    assert [index for index, _ in changes] == [2]


def test_a_name_cannot_be_markup():
    html = render('[^"><script>]\n\n[^"><script>]: x')
    assert "<script" not in html
    assert pointer(1) in html
    many = "".join(f'[^"<{number}>]: x\n' for number in range(80))
    assert '<span class="note__number">"&lt;79&gt;</span>' in render(many)
