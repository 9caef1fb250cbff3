"""The words of the code: docstrings begin with a verb, numbers carry their unit, no private word stands in a name."""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ("oneclaw/settings.py",)
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for app in ("oneclaw", "chat", "memory")
    for path in (ROOT / app).rglob("*.py")
    if "migrations" not in path.parts
)
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "static/js/*.js", "static/css/*.css")
    for path in ROOT.glob(pattern)
)
# Words that had a meaning of their own in this code, where the field has a standard word (docs/glossary.md).
PRIVATE_WORDS = {
    *("settle", "settles", "settled", "standing", "beside", "elsewhere", "departures", "crossing", "haystack"),
    *("haystacks", "packing", "estimates", "errand", "errands", "intake", "planting", "planted", "seams", "posted"),
    *("composed", "glimpse", "glimpses", "ingredient", "ingredients", "companion", "companions", "told", "stands"),
    *("somebody", "nobody", "whoever"),
}
# Words that sentences for people may have, and that names of others have.
ALLOWED_IN_TEXT = {"estimates", "told", "somebody", "nobody", "settle"}
# In names only: ordinary words of a sentence, which said nothing as names.
PRIVATE_NAMES = {"place", "places", "given", "gone", "traces", "opening", "beginning", "hints", "whatever"}
# A docstring of a function that begins so describes a thing and does not say what the function does.
NOT_A_VERB = re.compile(
    r"(?:what|whether|how|who|whose|where|when|why|which|of|the|a|an|as|one|all|this|that|these|those|every|each|to|in|"
    r"from|by|some|it|its|if|with|without|no|not|at|for|on|so|same|also|only|another|other|any|and|or|both|there|more|"
    r"most|told|made|[^a-z].*|.*(?<![eds])ed|.*ing|.*[^su]s)",
    re.IGNORECASE,
)
VERBS_ALL_THE_SAME = {"embed", "feed", "bring", "seed", "need", "process", "string"}
# What the number of a constant counts or measures.
UNITS = re.compile(
    r".+_(?:SECONDS|MINUTES|HOURS|DAYS|MS|BYTES|KIB|MIB|MEGABYTES|CHARS|CHARACTERS|WORDS|LINES|PAGES|PIXELS|PX|TOKENS|"
    r"DIMENSIONS|BITS|PERCENT|SHARE|RATIO|SCORE|WEIGHT|FACTOR|SCALE|COUNT|NUMBER|VERSION|ID|CODE|STATUS|PORT|SIGNAL|"
    r"DEPTH|WIDTH|LEVEL|SIZE|PER_SECOND|[A-Z]+S)"
)
SCRIPT_NUMBER = re.compile(r"^(?:export )?const ([A-Z][A-Z0-9_]*) = [\d_.]+;$", re.MULTILINE)


@functools.cache
def tree_of(source: str) -> ast.Module:
    return ast.parse((ROOT / source).read_text())


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public functions of a module and the public methods of its classes."""
    for node in tree.body:
        inside = [node, *(node.body if isinstance(node, ast.ClassDef) else [])]
        for each in inside:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("_"):
                yield each


def first_word(docstring: str) -> str:
    return docstring.split()[0].rstrip(".,:;")


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield every name that the module defines: functions, classes, arguments and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name


def words_of(name: str) -> set[str]:
    """Return the words of a name, whether in snake_case or CamelCase, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_docstrings_of_functions_begin_with_a_verb():
    wrong = [
        f"{source}: {function.name}: {word} …"
        for source in SOURCES
        for function in functions(tree_of(source))
        if (docstring := ast.get_docstring(function))
        and (word := first_word(docstring)).lower() not in VERBS_ALL_THE_SAME
        and NOT_A_VERB.fullmatch(word)
    ]
    assert wrong == []


def test_no_private_word_in_names_and_docstrings():
    found = {}
    for source in SOURCES:
        tree = tree_of(source)
        for name in set(names_in(tree)):
            found[source, name] = words_of(name) & (PRIVATE_WORDS | PRIVATE_NAMES)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                docstring = ast.get_docstring(node) or ""
                found[source, docstring[:60]] = set(re.findall(r"[a-z]+", docstring.lower())) & PRIVATE_WORDS
    assert {where: words for where, words in found.items() if words} == {}


def test_no_private_word_in_documents_scripts_and_styles():
    words = {each: set(re.findall(r"[a-z]+", (ROOT / each).read_text().lower())) for each in DOCUMENTS}
    found = {each: (own & PRIVATE_WORDS) - ALLOWED_IN_TEXT for each, own in words.items()}
    assert {each: own for each, own in found.items() if own} == {}


def test_numbers_carry_their_unit():
    wrong: list[str] = []
    # Names of settings are Django's or the operator's; docs/settings.md says their units.
    named = [(source, node) for source in SOURCES if source not in SETTINGS for node in tree_of(source).body]
    for source, node in named:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Constant | ast.BinOp):
            continue
        parts = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
        if parts and all(type(part) in (int, float) for part in parts):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()]
            wrong += [f"{source}: {name}" for name in names if not UNITS.fullmatch(name)]
    for path in sorted(ROOT.glob("static/js/*.js")):
        wrong += [
            f"{path.name}: {name}" for name in SCRIPT_NUMBER.findall(path.read_text()) if not UNITS.fullmatch(name)
        ]
    assert wrong == []


def test_no_name_at_the_top_of_modules_has_two_meanings():
    """A class has one name in the whole code, and a constant or exception too."""
    defined = defaultdict(list)
    for source in SOURCES:
        for node in tree_of(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].append(source)
    # Django finds these by their names.
    expected = {"Command", "Migration", "Meta"}
    assert {name: where for name, where in defined.items() if len(where) > 1 and name not in expected} == {}
