"""Which paths a document may have."""

import pytest

from memory.policy.paths import BadPathError, checked_path


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory/2026-11-21.md",
        "Recent Conversations.md",
        "a/b/ü 🫖.md",
        "skills/a/run.py",
        "skills/a/b/c.json",
    ],
)
def test_a_relative_markdown_file_is_taken_as_it_is(path):
    assert checked_path(path) == path


def test_a_decomposed_name_is_stored_composed():
    assert checked_path("cafe\u0301.md") == "café.md"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "may be empty"),
        ("/etc/passwd.md", "relative"),
        ("../other/MEMORY.md", "may be empty"),
        ("memory/../../x.md", "may be empty"),
        ("memory/./x.md", "may be empty"),
        ("memory//x.md", "may be empty"),
        ("memory\\x.md", "relative"),
        ("C:x.md", "relative"),
        ("a\nb.md", "control characters"),
        ("a\x00.md", "control characters"),
        ("a\ud800.md", "control characters"),
        (".git/x.md", "hidden"),
        (".md", "hidden"),
        ("memory/.md", "hidden"),
        ("memory /x.md", "space"),
        ("x.txt", "must end with .md"),
        ("skills/x.py", "must end with .md"),
        ("skills/a/logo.png", "only text files"),
        ("skills/a/run.py.refused", "only text files"),
        ("skills/a/v1.2/x.md", "a folder may not be named like a file"),
        ("skills/a/../x.py", "may be empty"),
        ("skills/a/.env.py", "hidden"),
        ("memory", "must end with .md"),
        ("notes.md/x.md", "a folder may not be named like a file"),
        ("é" * 127 + ".md", "longer than 255 bytes"),
    ],
)
def test_any_other_path_is_refused_with_a_sentence(path, why):
    with pytest.raises(BadPathError, match=why):
        checked_path(path)


def test_255_bytes_are_taken():
    path = "é" * 126 + ".md"
    assert len(path.encode()) == 255
    assert checked_path(path) == path
