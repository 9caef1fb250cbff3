"""Bundle a script or style sheet with all that it imports into one file, so that a page requests few files.

Scripts and styles are developed as many small files; only files collected for deployment are bundled. A module becomes
a function that runs once and returns its exports, so no name has to be changed. The bundler understands the part of
the languages that our own files use, and refuses the rest.
"""

import posixpath
import re
from collections.abc import Callable

# The text of a static file by its name, e.g. "js/chat.js".
Read = Callable[[str], str]

SCRIPT_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\./[\w.-]+)";$', re.MULTILINE)
SCRIPT_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
# A static import or export in another form. A dynamic `import(…)` stays: it fetches its file at run time.
SCRIPT_UNKNOWN = re.compile(r"^(?:import\b(?!\s*\()|export\b).*", re.MULTILINE)
STYLE_IMPORT = re.compile(r'^@import url\("([\w./-]+)"\);$', re.MULTILINE)
STYLE_UNKNOWN = re.compile(r"@import.*")


class BundleError(ValueError):
    """A file imports or exports in a way that the bundler does not understand, or two files import each other."""


def bundled(name: str, read: Read) -> str | None:
    """Return the text of the file `name` with all of its imports included; None when it imports nothing.

    Raise BundleError when a file cannot be bundled.
    """
    if name.endswith(".js") and SCRIPT_IMPORT.search(read(name)):
        return bundled_script(name, read)
    if name.endswith(".css") and STYLE_IMPORT.search(read(name)):
        return bundled_style(name, read)
    return None


def bundled_script(name: str, read: Read) -> str:
    """Return the script `name` after the modules that it imports, each once, in the order in which they would run."""
    parts: dict[str, str] = {}

    def add(module: str, importers: tuple[str, ...]) -> None:
        if module in importers:
            raise BundleError(f"{module} imports itself, by way of {' and '.join(importers)}.")
        if module in parts:
            return
        for match in SCRIPT_IMPORT.finditer(read(module)):
            add(resolved_name(module, match[2]), (*importers, module))
        # The entry script stays a module and keeps its exports.
        is_entry, text = module == name, read(module)
        parts[module] = with_constants(module, text, keep_exports=True) if is_entry else as_function(module, text)

    add(name, ())
    return "\n".join(parts.values())


def as_function(module: str, text: str) -> str:
    """Return the module's text as a constant that holds its exports."""
    exported = ", ".join(SCRIPT_EXPORT.findall(text))
    body = with_constants(module, SCRIPT_EXPORT.sub("", text))
    return f"const {constant(module)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def with_constants(module: str, text: str, *, keep_exports: bool = False) -> str:
    """Return the text with each import replaced by a line that reads names from the other module's constant."""

    def import_line(match: re.Match[str]) -> str:
        names = (match[1] or "").strip().rstrip(",").replace(" as ", ": ")
        return f"const {{ {names} }} = {constant(resolved_name(module, match[2]))};" if names else ""

    text = SCRIPT_IMPORT.sub(import_line, text)
    refuse(module, SCRIPT_UNKNOWN, SCRIPT_EXPORT.sub("", text) if keep_exports else text)
    return text


def constant(module: str) -> str:
    """Return the name of the constant that holds the exports of `module`."""
    return "$" + re.sub(r"\W", "_", posixpath.basename(module).removesuffix(".js"))


def bundled_style(name: str, read: Read) -> str:
    """Return the style sheet `name` with each import replaced by the imported text."""

    def imported(match: re.Match[str]) -> str:
        other = resolved_name(name, match[1])
        text = bundled_style(other, read)
        if "url(" in text and posixpath.dirname(other) != posixpath.dirname(name):
            raise BundleError(f"{other} refers to files in its folder, and {name} is in another folder.")
        return text

    text = STYLE_IMPORT.sub(imported, read(name))
    refuse(name, STYLE_UNKNOWN, text)
    return text


def resolved_name(name: str, relative: str) -> str:
    """Return the name of the file at the path `relative` to the file `name`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), relative))


def refuse(name: str, unknown: re.Pattern[str], text: str) -> None:
    """Raise BundleError when `unknown` matches in the text of the file `name`."""
    if found := unknown.search(text):
        raise BundleError(f"{name} holds what the bundler does not understand: {found[0]}")
