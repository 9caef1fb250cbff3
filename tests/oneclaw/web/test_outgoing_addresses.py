"""The addresses that the program itself knows are those that SECURITY.md names: nothing is reported to anybody."""

import ast
import re
from collections.abc import Iterator

from tests.stage import ROOT

# The model's server and those of embeddings, each asked with the operator's own key.
ASKED = {"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"}
# Names of XML vocabularies, and examples in sentences: nothing is fetched there.
NAMES_ONLY = {
    "schemas.auth0.com",
    "schemas.microsoft.com",
    "schemas.xmlsoap.org",
    "schemas.openxmlformats.org",
    "www.w3.org",
}
OF_THIS_MACHINE = {"127.0.0.1", "localhost"}
HOST = re.compile(r"\b(?:https?|wss?)://([\w-]+(?:\.[\w-]+)*)")
# What the page loads or sends by itself: a script, a style sheet, a picture, a frame, a request.
LOADED = re.compile(r"""(?:src=|url\(|fetch\(|import\(|<link[^>]+href=)\s*["']?(?:https?:)?//([\w.-]+)""")


def texts(source: str) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and is_text(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def is_text(node: ast.AST) -> bool:
    first = node.body[0] if getattr(node, "body", None) else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)


def hosts_of(source: str) -> set[str]:
    return {host for text in texts(source) for host in HOST.findall(text)}


def test_the_code_names_no_other_server():
    found: dict[str, list[str]] = {}
    for app in ("oneclaw", "chat", "memory"):
        for path in (ROOT / app).rglob("*.py"):
            for host in hosts_of(path.read_text()):
                found.setdefault(host, []).append(path.relative_to(ROOT).as_posix())
    examples = {host for host in found if host.endswith((".example", "example.org", "example.com")) or "." not in host}
    unknown = set(found) - ASKED - NAMES_ONLY - OF_THIS_MACHINE - examples
    assert {host: found[host] for host in unknown} == {}
    assert set(found) >= ASKED


def test_pages_load_nothing_from_other_hosts():
    files = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "static" / "js").rglob("*.js")]
    files += (ROOT / "static" / "css").rglob("*.css")
    assert len(files) > 200
    found = {path.name: hosts for path in files if (hosts := LOADED.findall(path.read_text()))}
    assert found == {}


def test_an_address_in_code_and_in_a_page_would_be_found():
    assert hosts_of('"""See https://docs.example."""\nURL = "https://stats.example/ping"') == {"stats.example"}
    assert LOADED.findall('<script src="//cdn.example/x.js">') == ["cdn.example"]


def test_the_statement_names_what_is_asked():
    page = (ROOT / "SECURITY.md").read_text()
    assert "reports nothing to anybody" in page
    assert "the model and embedding servers" in page
