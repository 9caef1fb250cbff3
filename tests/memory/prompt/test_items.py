"""Pieces of documents as data: whole lines, what of them the model was sent, and lines blanked in them."""

import pytest

from memory.prompt.items import BLANK, LINE_MAX_CHARS, blanked, passage_piece, piece, shown

TEXT = "# Tea\n\n- Ada likes green tea.\n- Ada lives in Bern.\n- Ada has a cat."


def cut_out(start, end):
    return piece("file", "a.md", 3, TEXT, TEXT.index(start), TEXT.index(end) + len(end))


@pytest.mark.parametrize(
    ("start", "end", "lines", "text"),
    [
        ("# Tea", "a cat.", [1, 5], TEXT),
        ("- Ada likes", "tea.", [3, 3], "- Ada likes green tea."),
        ("likes", "lives", [3, 4], "- Ada likes green tea.\n- Ada lives in Bern."),
        ("in Bern", "has", [4, 5], "- Ada lives in Bern.\n- Ada has a cat."),
    ],
)
def test_a_piece_holds_whole_lines_and_knows_what_was_sent(start, end, lines, text):
    item = cut_out(start, end)
    assert (item["lines"], item["text"], item["revision"]) == (lines, text, 3)
    assert shown(item) == TEXT[TEXT.index(start) : TEXT.index(end) + len(end)]
    assert ("shown" in item) == (shown(item) != text)
    assert "cut" not in item


def test_of_a_line_without_end_only_the_piece_is_kept():
    text = "- short\n" + "x" * (3 * LINE_MAX_CHARS)
    item = piece("file", "a.md", 1, text, 0, 20)
    assert (item["text"], item["cut"]) == (text[:20], True)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("- Ada likes green tea.", "- Ada likes green tea."),
        ("likes gr", "- Ada likes green tea."),
        ("- Ada likes green tea.\n- Ada li", "- Ada likes green tea.\n- Ada lives in Bern."),
        ("green tea.\n- Ada lives in Bern.\n- Ada h", "- Ada likes green tea.\n- Ada lives in Bern.\n- Ada has a cat."),
    ],
)
def test_a_passage_that_was_cut_is_kept_with_its_whole_lines(text, whole):
    item = passage_piece("a.md", 3, [3, 5], text, TEXT.split("\n"))
    assert (item["text"], shown(item), "cut" in item) == (whole, text, False)


def test_a_passage_whose_document_has_changed_says_that_it_may_be_cut():
    item = passage_piece("a.md", 3, [3, 3], "- Ada likes", [])
    assert (item["text"], item["cut"]) == ("- Ada likes", True)


@pytest.mark.parametrize(
    ("start", "end", "sent"),
    [
        ("- Ada likes", "Bern.", f"- Ada likes green tea.\n{BLANK}"),
        ("- Ada likes", "lives", f"- Ada likes green tea.\n{BLANK}"),
        ("green", "lives", f"green tea.\n{BLANK}"),
        ("in Bern", "a cat.", f"{BLANK}\n- Ada has a cat."),
        ("lives", "has", f"{BLANK}\n- Ada has"),
        ("lives", "lives", BLANK),
        ("green", "tea.", "green tea."),
    ],
)
def test_a_forgotten_line_is_blanked_also_where_a_part_of_it_was_sent(start, end, sent):
    item = cut_out(start, end)
    fresh = blanked(item, lambda line: "Bern" in line, lambda line: False)
    assert "Bern" not in fresh["text"]
    assert shown(fresh) == sent
    assert (fresh is item) == ("Bern" not in item["text"])


def test_a_forgotten_heading_goes_and_of_what_may_be_cut_the_beginning_of_a_line():
    item = passage_piece("a.md", 3, [3, 3], "- Tea.\n- Ada likes", []) | {"heading": "Ada likes tea"}
    fresh = blanked(item, lambda line: line == "Ada likes tea", lambda line: line == "- Ada likes")
    assert "heading" not in fresh
    assert fresh["text"] == f"- Tea.\n{BLANK}"
