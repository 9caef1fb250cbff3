"""What changed between two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.documents.diff import HunkMismatchError, apply_hunks, diff, reverse

texts = st.lists(st.sampled_from(["", "a", "b", "- tea", "\r", "é 🫖"]), max_size=12).map("\n".join) | st.text()


@given(texts, texts)
def test_the_hunks_of_a_change_make_the_new_text_of_the_old_one(old, new):
    assert apply_hunks(old, diff(old, new)) == new


@given(texts, texts)
def test_the_reversed_hunks_make_the_old_text_of_the_new_one(old, new):
    assert apply_hunks(new, reverse(diff(old, new))) == old


@given(texts)
def test_equal_texts_have_no_hunks(text):
    assert diff(text, text) == []


def test_an_appended_line_is_one_hunk_of_one_line():
    assert diff("a\nb\n", "a\nb\nc\n") == [{"at": 2, "removed": [], "added": ["c"]}]


def test_several_changes_stand_by_descending_line():
    hunks = diff("a\nb\nc\nd\ne", "A\nb\nc\nD\ne")
    assert [hunk["at"] for hunk in hunks] == [3, 0]


def test_hunks_do_not_fit_another_text():
    with pytest.raises(HunkMismatchError, match="Line 1 is not what it was"):
        apply_hunks("x\ny", diff("a\nb", "b"))


def test_two_large_different_texts_are_compared_in_no_time():
    old = "\n".join(f"old {number}" for number in range(20_000))
    new = "\n".join(f"new {number}" for number in range(20_000))
    assert len(diff(old, new)) == 1
