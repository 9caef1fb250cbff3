"""The shape of the code: no import circles, names that say something."""

import ast
import inspect
import re
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, get_origin

import pytest
from django.apps import apps

ROOT = Path(__file__).resolve().parent.parent
APPS = ("oneclaw", "chat", "memory")
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "common", "misc"}


def files(app: str) -> Iterator[Path]:
    """Yield every Python file of the app but its migrations."""
    return (path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts)


def module_of(path: Path) -> str:
    """Return the dotted name under which the file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports() -> dict[str, set[str]]:
    """Return for each module of the three apps the modules of theirs that it imports, anywhere in its file: at the top,
    inside a function, or for type checking alone."""
    sources = {module_of(path): path for app in APPS for path in files(app)}
    return {module: set(imported(path, module, sources)) for module, path in sources.items()}


def imported(path: Path, module: str, known: Container[str]) -> Iterator[str]:
    """Yield the modules of `known` that the file imports. `from package import name` means the module `package.name`
    where there is one, else the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else str(node.module) for name in inside]
        yield from (name for name in names if name in known and name != module)


class Within(Container[str]):
    """The modules of some packages."""

    def __init__(self, packages: set[str]):
        self.packages = packages

    def __contains__(self, module: object) -> bool:
        return str(module).partition(".")[0] in self.packages


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node: the sets of modules that import one another in
    a circle. Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], index[other])
        if lowest[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_are_seen_wherever_they_stand(tmp_path):
    source = tmp_path / "some.py"
    source.write_text(
        "import a.b\nfrom a import c, name\ndef f():\n    from a import d\nif TYPE_CHECKING:\n    import a.e\n"
    )
    known = {"a", "a.b", "a.c", "a.d", "a.e", "a.f"}
    assert set(imported(source, "some", known)) == {"a", "a.b", "a.c", "a.d", "a.e"}


@pytest.mark.parametrize("app", APPS)
def test_the_product_imports_nothing_of_its_tests(app):
    """Nor what only they install: an image has neither."""
    unwanted = {"tests", "benchmarks", "babel", "pytest", "hypothesis", "playwright"}
    found = {str(path): set(imported(path, module_of(path), Within(unwanted))) for path in files(app)}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("app", APPS)
def test_no_modules_import_one_another_in_a_circle(app):
    assert [circle for circle in circles(imports()) if any(module.split(".")[0] == app for module in circle)] == []


@pytest.mark.parametrize("app", APPS)
def test_a_module_is_named_after_what_it_does(app):
    named = {module: set(module.split(".")) for module in map(module_of, files(app))}
    assert [module for module, parts in named.items() if parts & NAMES_THAT_SAY_NOTHING] == []


@pytest.mark.parametrize("app", APPS)
def test_no_row_carries_what_no_type_names(app):
    """What was loaded for a row besides its columns travels as a value: nothing reads it by `vars(row)[…]`, and no
    model declares an attribute for it."""
    for path in files(app):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, (ast.Subscript, ast.Attribute)):
                continue
            call = node.value
            is_read = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "vars"
            assert not is_read, f"{path}:{node.lineno}"
    for model in apps.get_app_config(app).get_models():
        columns = {field.name for field in model._meta.get_fields()}
        kinds = {name: kind for each in model.__mro__ for name, kind in inspect.get_annotations(each).items()}
        assert {name for name, kind in kinds.items() if get_origin(kind) is not ClassVar} <= columns, model


@pytest.mark.parametrize("pattern", ["templates/**/*.html", "static/css/*.css"])
def test_a_line_can_be_reviewed(pattern):
    """Lines have 120 columns, and at most 160 where white space would be seen."""
    found = {path: len(line) for path in ROOT.glob(pattern) for line in path.read_text().split("\n") if len(line) > 160}
    assert found == {}


# Conversations in SQL, by the columns themselves.
IN_SQL = {"memory/search/statements.py", "memory/index/conversations.py"}


def test_only_the_access_of_memory_asks_whether_a_conversation_is_shared():
    asking = {
        path.relative_to(ROOT).as_posix()
        for path in files("memory")
        if path.parent.name != "access" and re.search("is_shared|shared_at", path.read_text())
    }
    assert asking == IN_SQL
