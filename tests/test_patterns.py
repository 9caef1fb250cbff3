"""The regular expressions that screen and search stored texts take time in proportion to these, whatever they hold.

A megabyte may take MEGABYTE_SECONDS of processor time, and a further MATCH_SECONDS for each match. Inputs are made of
each pattern itself: its characters, repeated parts and beginnings, alone and one after the other, many times.
"""

import ast
import importlib
import re
import re._constants as codes  # Python's own parser of patterns; checked with Python 3.11.
import re._parser as parser
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory.policy.secrets import masked

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE_SECONDS, MATCH_SECONDS = 0.05, 2e-6
# The sizes at which an input is tried; a larger one only if the one before took longer than its share.
SIZES_CHARS = (4_000, 16_000, 64_000, 256_000, 1_000_000)
# Shorter times are not measured.
CLOCK_SECONDS = 0.002
ONCE = {"match", "fullmatch"}
METHODS = {*ONCE, "search", "finditer", "findall", "sub", "subn", "split"}
# Patterns for texts of the product itself, or of a length that another rule limits: the most characters of the text.
BOUNDED_CHARS = {"chat.library.excerpts.MARKS": 2_000}
# The packages whose patterns read what people and models have written, without a limit of time.
SCREENING = ("memory/policy", "memory/search", "memory/notes", "chat/library", "chat/conversations")
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: "-",
}


@dataclass(frozen=True)
class Used:
    """A pattern, where it stands, and whether it is only matched at the beginning of a text."""

    where: str
    pattern: re.Pattern[str]
    once: bool


def sources() -> list[Path]:
    return [file for folder in SCREENING for file in sorted((ROOT / folder).rglob("*.py"))]


def every_pattern() -> list[Used]:
    """All patterns of the modules, and those that are written where they are used; each once."""
    trees = {file: ast.parse(file.read_text()) for file in sources()}
    methods: dict[str, set[str]] = {}
    for node in (each for tree in trees.values() for each in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            methods.setdefault(node.value.id, set()).add(node.attr)
    found: dict[tuple[str, int, bool], Used] = {}
    for file, tree in trees.items():
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = sys.modules.get(name) or importlib.import_module(name)
        for variable, value in list(vars(module).items()):
            used = methods.get(variable, set())
            for pattern in patterns_in(value):
                add(found, Used(f"{name}.{variable}", pattern, bool(used) and used <= ONCE))
        for where, pattern, once in written_in(tree):
            add(found, Used(f"{file.relative_to(ROOT)}:{where}", pattern, once))
    return list(found.values())


def add(found: dict[tuple[str, int, bool], Used], used: Used) -> None:
    found.setdefault((used.pattern.pattern, used.pattern.flags, used.once), used)


def patterns_in(value: object, depth: int = 4) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif depth and isinstance(value, dict):
        yield from patterns_in(list(value.values()), depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_in(each, depth - 1)


def written_in(tree: ast.Module) -> Iterator[tuple[int, re.Pattern[str], bool]]:
    """Calls such as re.sub("a+", …)."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
            continue
        of, first = node.func.value, node.args[0] if node.args else None
        if isinstance(of, ast.Name) and of.id == "re" and isinstance(first, ast.Constant):
            names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr.isupper()}
            flags = sum(int(getattr(re, name, 0)) for name in names)
            yield node.lineno, re.compile(first.value, flags), node.func.attr in ONCE


# -- Inputs ---------------------------------------------------------------------------------------


def inputs(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """(beginning, what follows many times)"""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    chars = list(dict.fromkeys([*"a \n0.-", *chars_in(tree)]))[:14]
    repeated = list(dict.fromkeys(repeated_in(tree)))[:8]
    begun = list(dict.fromkeys(example(tree[:length]) for length in range(1, len(tree) + 1)))[:12]
    pairs = [first + second for first in chars[:8] for second in chars[:8] if first != second]
    yield from (("", unit) for unit in dict.fromkeys([*chars, *repeated, *begun, *pairs]) if unit)
    yield from ((beginning, unit) for beginning in begun[:8] for unit in [*repeated, *chars[:6]] if unit)


def chars_in(tree: Iterable[Any]) -> Iterator[str]:
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.IN:
            yield from of_class(value)[:3]
        else:
            for inner in inside(code, value):
                yield from chars_in(inner)


def repeated_in(tree: Iterable[Any]) -> Iterator[str]:
    """What may be repeated without a limit."""
    for code, value in tree:
        if code in REPEATS and (value[1] is codes.MAXREPEAT or value[1] > 50):
            yield example(value[2])
        for inner in inside(code, value):
            yield from repeated_in(inner)


def example(tree: Iterable[Any]) -> str:
    """A text that the beginning of `tree` matches, about."""
    text = ""
    for code, value in tree:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.NOT_LITERAL or code is codes.ANY:
            text += "a" if value != ord("a") else "b"
        elif code is codes.IN:
            text += of_class(value)[0]
        elif code in REPEATS:
            text += example(value[2]) * max(value[0], 1)
        elif code is not codes.ASSERT and code is not codes.ASSERT_NOT and (inner := list(inside(code, value))):
            text += example(inner[0])
    return text[:2_000]


def inside(code: Any, value: Any) -> Iterator[Any]:
    if code in REPEATS:
        yield value[2]
    elif code is codes.SUBPATTERN:
        yield value[3]
    elif code is codes.ATOMIC_GROUP:
        yield value
    elif code is codes.BRANCH:
        yield from value[1]
    elif code is codes.ASSERT or code is codes.ASSERT_NOT:
        yield value[1]


def of_class(items: list[Any]) -> list[str]:
    found = []
    for code, value in items:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            found.append(chr(value[0]))
        elif code is codes.CATEGORY:
            found.append(OF_CATEGORY[value])
    if items[0][0] is codes.NEGATE:
        return [next(char for char in "a- 0\n.<z" if char not in found)]
    return found


# -- Times ----------------------------------------------------------------------------------------


def seconds_of(used: Used, text: str) -> float:
    """The processor time of a pass over `text`, without what each match takes."""
    began = time.process_time()
    matches = bool(used.pattern.match(text)) if used.once else sum(1 for _ in used.pattern.finditer(text))
    return time.process_time() - began - matches * MATCH_SECONDS


def slowest(used: Used) -> str:
    """An input that takes too long, in words; "" when there is none."""
    most = BOUNDED_CHARS.get(used.where, SIZES_CHARS[-1])
    for beginning, unit in inputs(used.pattern):
        for size in (size for size in SIZES_CHARS if size <= max(most, SIZES_CHARS[0])):
            # The last character keeps what ends with $ from matching.
            text = (beginning + unit * (size // len(unit) + 1))[: min(size, most)] + "\0"
            allowed = max(MEGABYTE_SECONDS * size / SIZES_CHARS[-1], CLOCK_SECONDS)
            # The best of several: other programs have this machine, too.
            if seconds_of(used, text) < allowed:
                break
            if min(seconds_of(used, text) for _ in range(2)) > max(MEGABYTE_SECONDS, 0.01):
                return f"{size:,} characters of {(beginning, unit)}"
    return ""


@pytest.mark.timeout(600)
def test_no_text_makes_a_pattern_slow() -> None:
    used = every_pattern()
    assert len(used) > 30
    found = {f"{each.where} {each.pattern.pattern[:80]}": slow for each in used if (slow := slowest(each))}
    assert found == {}


@pytest.mark.parametrize("pattern", [r"\b[a-z][a-z.]*://", r"\s*\n\s*x", r"<[^>]*>y"])
def test_slow_patterns_are_found(pattern):
    assert slowest(Used("", re.compile(pattern), once=False))


@pytest.mark.parametrize(
    "unit", ["a.", "eyJ-", "password:", "password is ", "PRIVATE KEY", "Bearer  ", "4111 ", "DE12 "]
)
@pytest.mark.parametrize("beginning", ["", "zebra ", "-----BEGIN "])
def test_a_long_message_is_masked_at_once(unit, beginning):
    text = (beginning + unit * 100_000)[:120_000]
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < 0.5
