"""Texts that were made to cost: each ends soon, and none loses its words silently."""

import re
import time

import pytest

from chat.rendering import markdown
from chat.rendering.incremental import GrowingText, render

N = 30_000
BOMBS = {
    "brackets": "[" * N,
    "open links": "[a](" * (N // 4),
    "images": "![" * (N // 2),
    "emphasis": "*a**b" * (N // 5),
    "underscores": "_a__b_a" * (N // 7),
    "strikes": "~~a" * (N // 3),
    "backticks of every length": " ".join("`" * count for count in range(1, 240)),
    "quotes in quotes": ">" * N + "deep",
    "lists in lists": "- " * (N // 2) + "deep",
    "lists deeper and deeper": "".join("  " * level + f"- level{level}\n" for level in range(150)),
    "a wide table": "| a " * 1500 + "|\n" + "|---" * 1500 + "|\n" + ("| b " * 1500 + "|\n") * 2,
    "definitions": "".join(f"[{number}]: http://x.y/{number}\n" for number in range(1200)) + "[1] " * 1200,
    "references": "[a]" * (N // 3) + "\n\n[a]: http://b.c",
    "entities": "&#x41;" * (N // 6),
    "ampersands": "&" * N,
    "half a tag": "<a " * (N // 3),
    "tags": "<div>" * (N // 5),
    "addresses": "http://a.b " * (N // 11),
    "parentheses": "http://a" + ")" * N,
    "titles": "[a](b '" * (N // 7),
    "a heading of many lines": "a\n" * (N // 2) + "===",
    "rules": "---\n" * (N // 8),
    "code that starts strings": "```python\n" + '("' * (N // 2) + "\n```",
    "code for a slow lexer": "```perl\n" + "s/" * (N // 2) + "\n```",
    "one word": "a" * N * 4,
    "dollars": "$" * N,
    "dollars and words": "$a " * (N // 3),
    "open formulas": "\\(a" * (N // 3),
    "formulas": "$a$ " * (N // 4),
    "displayed formulas that nothing closes": "$$\na\n\n" * (N // 6),
    "backslashes in a formula": "$$" + "\\" * N + "$$",
    "footnotes": "".join(f"[^{number}]: note\n" for number in range(1200)) + "[^1] " * 1200,
    "footnotes in footnotes": "[^a]: " * (N // 6),
    "footnotes that point": "[^a]" * (N // 4) + "\n\n[^a]: b",
    "folds": "<details>\n" * (N // 10),
    "folds that end": "<details>x</details>\n" * (N // 20),
    "folds in folds": "<details>\n" * (N // 20) + "</details>\n" * (N // 20),
    "open tags": "<u>" * (N // 3),
    "tags that one tag ends": "<u>" * (N // 3) + "</u>",
    "tags in tags": "<u>" * (N // 7) + "</u>" * (N // 7),
    "tags side by side": "<u>a</u>" * (N // 8),
    "thoughts": "<think>" * (N // 7),
    "words and displayed formulas": "a $$\n" + "$$\n" * (N // 3),
    "emphasis beside Chinese": "重**“点”**" * (N // 8),
    "an address that ends late": "https://a.b/" + "ä" * N + "。",
    "line ends": "\n" * N * 4,
    "white space": " " * N * 4 + "x",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_soon(name):
    began = time.thread_time()
    render(BOMBS[name])
    assert time.thread_time() - began < 3 * markdown.PARSE_SECONDS


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_that_grows_ends_soon(name):
    text, growing = BOMBS[name], GrowingText()
    began = time.thread_time()
    for start in range(0, len(text), len(text) // 30 + 1):
        growing.append(text[start : start + len(text) // 30 + 1])
        growing.changes()
    assert time.thread_time() - began < 4


@pytest.mark.parametrize(
    "text",
    [
        ">" * 100 + " treasure",
        "- " * 100 + "treasure",
        "".join("  " * level + "- x\n" for level in range(100)) + "  " * 100 + "- treasure",
        "**" * 200 + "treasure" + "**" * 200,
        "[" * 200 + "treasure" + "]" * 200,
        "word " * 20_000 + "treasure",
        "a\n" * 20_000 + "treasure",
    ],
)
def test_what_is_too_deep_or_too_long_is_still_shown(text):
    assert "treasure" in re.sub(r"<[^>]*>", "", render(text))


def test_what_takes_too_long_is_shown_as_it_was_written(monkeypatch):
    monkeypatch.setattr(markdown, "PARSE_SECONDS", -1.0)
    (block,) = markdown.rendered("**a** <b>\n" * 100, markdown.Definitions(), seconds=-1.0)
    assert block.html == markdown.as_written("**a** <b>\n" * 100)


def test_a_long_code_block_costs_no_more_for_each_line_than_a_short_one():
    def seconds(lines):
        growing = GrowingText()
        growing.append("```python\n")
        began = time.thread_time()
        for number in range(lines):
            growing.append(f"value_{number} = compute({number})\n")
            if number % 20 == 0:
                growing.changes()
        return (time.thread_time() - began) / lines

    seconds(200)
    assert seconds(4000) < 10 * seconds(400)
