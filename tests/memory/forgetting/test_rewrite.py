"""Lines taken out of a whole history."""

from hypothesis import given
from hypothesis import strategies as st

from memory.documents.diff import apply_hunks, diff
from memory.forgetting.rewrite import erase_lines

# Few lines, some of them to go, so that they meet; and texts with and without a last line end.
LINES = st.sampled_from(["", "tea", "milk", "SECRET", "SECRET too"])
CONTENTS = st.lists(LINES, max_size=6).map("\n".join)


def is_gone(line):
    return line.startswith("SECRET")


def lines_of(history):
    return {line for hunk in history for line in hunk["removed"] + hunk["added"]}


@given(st.lists(CONTENTS, max_size=8))
def test_what_remains_is_a_history_of_the_contents_without_the_lines(contents):
    history = [diff(before, after) for before, after in zip(["", *contents], contents, strict=False)]
    text = ""
    for content, old, (hunks, after) in zip(contents, history, erase_lines(history, is_gone), strict=True):
        text = apply_hunks(text, hunks)
        assert text == after == "\n".join(line for line in content.split("\n") if not is_gone(line))
        assert lines_of(hunks) <= lines_of(old) | {""}


def test_without_such_lines_nothing_changes():
    history = [diff("", "tea\n"), diff("tea\n", "tea\nmilk\n")]
    assert [hunks for hunks, _ in erase_lines(history, is_gone)] == history
