"""The regular expressions that screen and search stored texts take time in proportion to these, whatever they hold.

All patterns of oneclaw, chat and memory are tried in the way in which they are used. A text may take MEGABYTE_SECONDS
of processor time, and a further MATCH_SECONDS for each match. Inputs are made of
each pattern itself: its characters, repeated parts and beginnings, alone and one after the other, many times.
"""

import ast
import functools
import importlib
import re
import re._constants as codes  # Python's own parser of patterns; checked with Python 3.11.
import re._parser as parser
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from chat.models import Message
from chat.rendering import plain_items
from chat.transfer.importing import folded
from memory.index import vectors
from memory.notes import summary
from memory.overview import topics
from memory.policy import personal_data
from memory.policy.secrets import masked
from memory.provenance import cited
from memory.text import states
from oneclaw import words
from oneclaw.demo import model as demo_model
from oneclaw.llm import quoting
from oneclaw.people import devices

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE_SECONDS, MATCH_SECONDS = 0.05, 1e-6
# The sizes at which an input is tried; a larger one only if the one before took longer than its share.
SIZES_CHARS = (4_000, 16_000, 64_000, 256_000, 1_000_000)
# Shorter times are not measured.
CLOCK_SECONDS = 0.002
ONCE = {"match", "fullmatch"}
METHODS = {*ONCE, "search", "finditer", "findall", "sub", "subn", "split"}
# Patterns for texts whose length another rule limits: the most characters of the text.
BOUNDED_CHARS = {
    "chat.attachments.web_pages.CHARSET": 4_000,  # The beginning of a page.
    "chat.library.excerpts.MARKS": 2_000,
    "chat.rendering.citations.BEGUN": 60,  # BEGUN_MAX_CHARS.
    "chat.rendering.plain_text.CLOSING_TAGS": 400,  # WordAppender takes the end of the HTML,
    "chat.rendering.plain_text.LAST_WORD": 80,  # and of the text.
    "memory.prompt.technical.TECHNICAL": 16_000,  # Both END_CHARS, for these four.
    "memory.prompt.technical.FAILURES": 16_000,
    "memory.prompt.technical.CODE": 16_000,
    "memory.prompt.technical.COMMANDS": 16_000,
    "memory.prompt.technical.PERSONAL": 16_000,
    "memory.overview.topics._unspaced": 4_000,  # READ_MAX_CHARS.
    "memory.policy.sync_copies.PATTERNS": 255,  # PATH_MAX_BYTES.
    "memory.text.dates.ASKS_WHEN": 10_000,  # QUERY_READ_MAX_CHARS, for both.
    "memory.text.dates.READERS": 10_000,
    "memory.text.states._MARK": 1_000_000,  # This one reads all lines, and so does the next.
    "memory.text.states._YEAR": 1_000_000,
    "memory.text.states": states.LINE_MAX_CHARS,  # A longer line is not looked at.
    "memory.text.plans.PATTERNS": 4_000,  # PLAN_MAX_CHARS.
    "memory.text.plans.RECURRING": 4_000,
    "oneclaw.demo.intents.PAST": 10_000,  # Both END_CHARS.
}
# Patterns for HTML that the sanitiser or a template has written, or for templates and prompts of the product: what is
# opened there is closed, so texts that open again and again do not occur. Each is tried with such a whole, many times.
WELL_FORMED = {
    "chat.rendering.citations.CITE": '<span class="cite" data-cite="m1-1">1</span>',
    "chat.rendering.completed_parts.BEFORE_LIST": "<ul>\n<li>a</li></ul>",
    "chat.rendering.completed_parts.BEFORE_PARTS": "<table><tbody>\n</tbody></table>",
    "chat.rendering.messages.CARD": '<tool-card class="card a" data-tool="t1">a</tool-card>',
    "chat.rendering.messages.CODE": '<pre class="code">a</pre>',
    "oneclaw.web.compact_templates.IN_TAG": '<a href="{{ a }}">',
    "oneclaw.web.compact_templates.TOKEN": "<p>{% if a %}{{ b }}{% endif %}</p>",
    "chat.rendering.outgoing_links.LINK": '<a href="https://example.org" rel="a">a</a>',
}
# Patterns of many words, whose time is in proportion to the text, and longer: their own seconds a megabyte.
MANY_WORDS_MAX_CHARS = 64_000
MANY_WORDS_SECONDS = {
    "chat.compaction.supplement.IDENTIFIERS": 1.5,
    "chat.compaction.supplement.WISH": 0.2,
    "memory.trust.rule.RELATIVE_DAY": 0.2,
    "memory.trust.terms.TOKEN": 0.8,
    "oneclaw.demo.intents.REMEMBER": 0.8,
}
# The functions that make patterns of parts, with parts such as the product gives them.
BUILT: dict[str, Callable[[], object]] = {
    "oneclaw.demo.model._inside": lambda: demo_model._inside("", "summary"),
    "oneclaw.llm.quoting.quoted": lambda: quoting.quoted("file", ""),
    "oneclaw.people.devices.name_of": lambda: devices.name_of("?"),
    "chat.rendering.plain_items.__init__": lambda: [
        plain_items.ItemAppender("", closing, "", re.compile("a"), plain_items.ITEM_LINE.match(item))
        for closing in plain_items.CLOSED_LISTS
        for item in ("- a", "    12. a")
    ],
    "chat.transfer.importing.folded._end_of_fence": lambda: [
        folded._end_of_fence("", folded.SIGN.match(fence)) for fence in ("```", "~~~~")
    ],
    "chat.transfer.importing.folded._end_of_code": lambda: folded._end_of_code("", folded.SIGN.match("``")),
    "memory.index.vectors._pattern": lambda: vectors._pattern.__wrapped__(frozenset({"Ada", "Mary Ann"})),
    "memory.notes.summary.notes_of": lambda: summary.notes_of("?"),
    "memory.overview.topics._unspaced": lambda: topics._unspaced.__wrapped__()[0],
    "memory.policy.personal_data._number": lambda: personal_data._number(r"\d{4}(?:[ -]?\d{4}){2,3}"),
    "memory.policy.personal_data._label": lambda: personal_data._label("card|iban"),
    "memory.provenance.cited.statement_before": lambda: cited.statement_before(Message(content=[]), "m1-1"),
    "memory.text.states._compiled": lambda: [states._compiled.__wrapped__(ended) for ended in (True, False)],
    "memory.text.states._hint": lambda: states._hint.__wrapped__(),
    "memory.text.states._present": lambda: list(states._present("?", frozenset())),
    "oneclaw.words.found_in": lambda: words.found_in("", ["zebra", "東京"]),
}
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


@functools.cache
def sources() -> dict[str, ast.Module]:
    """The syntax tree of each module of the product that makes or uses a pattern, by the module's name."""
    files = (file for folder in ("oneclaw", "chat", "memory") for file in sorted((ROOT / folder).rglob("*.py")))
    texts = {".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text() for file in files}
    uses = re.compile(rf"^import re$|[A-Z]\.(?:{'|'.join(METHODS)})\b", re.MULTILINE)
    return {name.removesuffix(".__init__"): ast.parse(text) for name, text in texts.items() if uses.search(text)}


def every_pattern() -> list[Used]:
    """All patterns of the modules, those that are written where they are used, and those of BUILT; each once."""
    trees = {name: tree for name, tree in sources().items() if uses_patterns(tree)}
    methods = methods_used()
    found: dict[tuple[str | bytes, int, bool], Used] = {}
    for name, tree in trees.items():
        module = sys.modules.get(name) or importlib.import_module(name)
        imported = {
            alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        for variable, value in list(vars(module).items()):
            if variable in imported:
                # It is tried where it is made.
                continue
            used = methods.get((name, variable), set()) | methods.get(("", variable), set())
            for pattern in patterns_in(value):
                add(found, Used(f"{name}.{variable}", pattern, bool(used) and used <= ONCE))
        for line, pattern, once in written_in(module, tree):
            add(found, Used(f"{name}:{line}", pattern, once))
    for where, once in built_in_functions().items():
        for pattern in compiled_by(BUILT[where]):
            add(found, Used(where, pattern, once))
    return list(found.values())


def uses_patterns(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in ast.walk(tree))


def methods_used() -> dict[tuple[str, str], set[str]]:
    """With which methods each name of a module is used, in its own module and in those that import it."""
    methods: dict[tuple[str, str], set[str]] = {}
    for name, tree in sources().items():
        imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        attributes = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and id(node) in called
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in attributes:
                # It is handed on, or is one of several: anything may be done with it.
                methods.setdefault(imported.get(node.id, (name, node.id)), set()).add("search")
            elif isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
                methods.setdefault(imported.get(node.value.id, (name, node.value.id)), set()).add(node.attr)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.attr in METHODS:
                # Of some other module.
                methods.setdefault(("", node.value.attr), set()).add(node.attr)
    return methods


def add(found: dict[tuple[str | bytes, int, bool], Used], used: Used) -> None:
    found.setdefault((used.pattern.pattern, used.pattern.flags, used.once), used)


def patterns_in(value: object, depth: int = 4) -> Iterator[re.Pattern[str]]:
    """Those of bytes as patterns of the same characters."""
    if isinstance(value, re.Pattern):
        text, flags = value.pattern, value.flags
        yield value if isinstance(text, str) else re.compile(text.decode("latin-1"), flags | re.ASCII)
    elif depth and isinstance(value, dict):
        yield from patterns_in(list(value.values()), depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_in(each, depth - 1)
    elif depth and is_dataclass(value) and not isinstance(value, type):
        yield from patterns_in([getattr(value, each.name) for each in fields(value)], depth - 1)


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str, bool]]:
    """(call of re, its function, whether it stands in a function)"""
    inside_functions = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
            )
            and node.func.value.id == "re"
            and node.func.attr in {*METHODS, "compile"}
        ):
            yield node, node.func.attr, id(node) in inside_functions


def written_in(module: ModuleType, tree: ast.Module) -> Iterator[tuple[int, re.Pattern[str], bool]]:
    """Of calls such as re.sub("a+", …)."""
    for node, method, _ in calls(tree):
        text = constant_of(module, node.args[0])
        if method in METHODS and text:
            names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr.isupper()}
            flags = sum(int(getattr(re, name, 0)) for name in names)
            yield node.lineno, re.compile(text, flags), method in ONCE


def constant_of(module: ModuleType, node: ast.expr) -> str:
    """The pattern that is written there, or at the top of the module; "" when it is made of parts."""
    if isinstance(node, ast.Constant):
        return node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
    text = vars(module).get(node.id, "") if isinstance(node, ast.Name) else ""
    return text if isinstance(text, str) else ""


def built_in_functions() -> dict[str, bool]:
    """Where a function makes patterns of parts, as module.function, and whether each of them is only matched."""
    found: dict[str, bool] = {}
    for name, tree in sources().items():
        methods = {
            id(node): method
            for node, method, is_inside in calls(tree)
            if is_inside and not constant_of(importlib.import_module(name), node.args[0])
        }
        for node in ast.walk(tree) if methods else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                made = [methods[id(inner)] for inner in ast.walk(node) if id(inner) in methods]
                if made:
                    found[f"{name}.{node.name}"] = set(made) <= ONCE
    return found


def compiled_by(call: Callable[[], object]) -> list[re.Pattern[str]]:
    """The patterns that the module re is asked for while `call` runs."""
    made: list[re.Pattern[str]] = []
    compile_one = re._compile

    def recorded(pattern, flags):
        made.append(compile_one(pattern, flags))
        return made[-1]

    with mock.patch.object(re, "_compile", recorded):
        call()
    assert made
    return made


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


def closed_inputs(used: Used) -> Iterator[tuple[str, str]]:
    """Inputs in which each beginning has its end."""
    whole = WELL_FORMED[used.where]
    assert used.pattern.search(whole)
    yield from (("", whole + rest) for rest in ("", "a", " ", "\n", "&lt;"))


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


def is_of(used: Used, where: str) -> bool:
    """Whether `where` names the pattern or its module."""
    return used.where == where or used.where.startswith((f"{where}.", f"{where}:"))


def slowest(used: Used) -> str:
    """An input that takes too long, in words; "" when there is none."""
    most = next((most for where, most in BOUNDED_CHARS.items() if is_of(used, where)), SIZES_CHARS[-1])
    if used.where in MANY_WORDS_SECONDS:
        most = min(most, MANY_WORDS_MAX_CHARS)
    megabyte = MANY_WORDS_SECONDS.get(used.where, MEGABYTE_SECONDS)
    most_seconds = megabyte * most / SIZES_CHARS[-1] if used.where in MANY_WORDS_SECONDS else megabyte
    for beginning, unit in closed_inputs(used) if used.where in WELL_FORMED else inputs(used.pattern):
        for size in (size for size in SIZES_CHARS if size <= max(most, SIZES_CHARS[0])):
            # The last character keeps what ends with $ from matching.
            text = (beginning + unit * (size // len(unit) + 1))[: min(size, most)] + "\0"
            if is_of(used, "memory.text.states"):
                # states_in() leaves one space between words.
                text = " ".join(text.split())
            allowed = max(megabyte * size / SIZES_CHARS[-1], CLOCK_SECONDS)
            # The best of several: other programs have this machine, too.
            if seconds_of(used, text) < allowed:
                break
            if min(seconds_of(used, text) for _ in range(2)) > most_seconds:
                return f"{size:,} characters of {(beginning, unit)}"
    return ""


@pytest.mark.timeout(600)
def test_no_text_makes_a_pattern_slow() -> None:
    used = every_pattern()
    assert len(used) > 350
    found = {f"{each.where} {each.pattern.pattern[:80]}": slow for each in used if (slow := slowest(each))}
    assert found == {}


def test_every_pattern_is_tried():
    """Each pattern that a module makes when it is loaded is among them, and each function that makes one is listed."""
    assert set(built_in_functions()) == set(BUILT)
    every = every_pattern()
    tried = {used.pattern.pattern for used in every}
    for name, tree in sources().items():
        module = importlib.import_module(name)
        for node, method, _is_inside in calls(tree):
            text = constant_of(module, node.args[0])
            assert not text or text in tried, f"{name}:{node.lineno} {method}"
    for where in (*BOUNDED_CHARS, *WELL_FORMED, *MANY_WORDS_SECONDS):
        assert any(is_of(used, where) for used in every), where


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
