"""Changes carried over to a text that others have changed."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory.documents.diff import apply_hunks, diff, reverse
from memory.documents.merge import OverlapError, merge, rebase

texts = st.lists(st.sampled_from(["", "a", "b", "- tea", "\r", "é 🫖"]), max_size=10).map("\n".join)
numbers = st.lists(st.integers(), unique=True, max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(texts, texts)
def test_a_change_that_nothing_follows_is_taken_back_whole(old, new):
    assert apply_hunks(new, rebase(reverse(diff(old, new)), [])) == old


@given(texts, texts, st.lists(texts, max_size=3))
def test_carried_hunks_fit_the_newest_text_or_overlap(old, new, later):
    states = [new, *later]
    changes = [diff(one, other) for one, other in zip(states, later, strict=False)]
    try:
        hunks = rebase(reverse(diff(old, new)), changes)
    except OverlapError:
        assume(False)
    apply_hunks(states[-1], hunks)


@given(numbers, st.lists(st.integers(0, 9), min_size=2, max_size=2, unique=True))
def test_of_two_lines_added_anywhere_the_first_can_be_undone_and_the_second_stays(text, places):
    lines = text.split("\n")[:-1]
    first = lines.copy()
    first.insert(places[0], "first")
    second = first.copy()
    second.insert(places[1], "second")
    one, two, three = ("\n".join([*state, ""]) for state in (lines, first, second))
    undone = apply_hunks(three, rebase(reverse(diff(one, two)), [diff(two, three)]))
    assert undone.split("\n") == [line for line in three.split("\n") if line != "first"]


@given(texts, texts)
def test_merging_with_an_unchanged_side_gives_the_other_one(base, changed):
    assert merge(base, base, changed).text == changed
    assert merge(base, changed, base).text == changed
    assert merge(base, changed, changed).text == changed
    assert merge(base, changed, changed).is_whole


@given(texts, texts, texts)
def test_a_whole_merge_holds_every_line_that_either_side_added(base, ours, theirs):
    merged = merge(base, ours, theirs)
    for side in (ours, theirs) if merged.is_whole else (ours,):
        for hunk in diff(base, side):
            assert set(hunk["added"]) <= set(merged.text.split("\n"))


def test_lines_that_both_sides_append_are_both_kept_ours_first():
    assert merge("a\n", "a\nours\n", "a\ntheirs\n").text == "a\nours\ntheirs\n"


def test_where_both_changed_the_same_line_ours_stays_and_the_merge_is_not_whole():
    merged = merge("a\nb\nc\n", "A\nb\nc\n", "x\nb\nC\n")
    assert (merged.text, merged.is_whole) == ("A\nb\nC\n", False)


def test_a_line_that_was_put_back_already_is_not_put_back_twice():
    gone, back = diff("a\nb\nc", "a\nc"), diff("a\nc", "a\nb\nc")
    with pytest.raises(OverlapError, match="is there already"):
        rebase(reverse(gone), [back])
