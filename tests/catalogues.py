"""Update the translation catalogues from the texts of the code, and find missing or wrong translations.

    python -m tests.catalogues              # update every locale/<language>/LC_MESSAGES/django.po, compile django.mo
    python -m tests.catalogues --check de   # change nothing; say what is missing or wrong, and fail unless nothing is

Texts are the arguments of gettext calls in templates and Python. This needs Babel, which is installed for tests and
checks; the product only reads the .mo files.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

# The plural forms of each language. A language without an entry cannot be offered.
PLURALS = {
    "de": "nplurals=2; plural=(n != 1);",
    "fr": "nplurals=2; plural=(n > 1);",
    "es": "nplurals=2; plural=(n != 1);",
    "ja": "nplurals=1; plural=0;",
    "zh_Hans": "nplurals=1; plural=0;",
}
KEYWORDS = {
    name: arguments
    for kind, arguments in {
        "gettext": None,
        "ngettext": (1, 2),
        "pgettext": ((1, "c"), 2),
        "npgettext": ((1, "c"), 2, 3),
    }.items()
    for name in (kind, f"{kind}_lazy")
} | {"_": None, "gettext_noop": None}
# What mends a catalogue that differs from the code.
UPDATE = "run python -m tests.catalogues"
PYTHON = ("oneclaw", "chat", "memory")
# Placeholders of parameters, and HTML tags, which must be the same in every language.
PLACEHOLDERS = re.compile(r"%\(\w+\)[a-z]|%[a-z%]|\{\w*\}")
MARKUP = re.compile(r"</?\w+[^>]*>")
# A translation that is longer is most likely that of another text.
TRANSLATION_MAX_RATIO = 3
SHORT_TEXT_CHARS = 25

Texts = dict[tuple[str | None, str], Message]


def languages() -> list[str]:
    """Return the languages that need a catalogue, by the names of their folders: all but the code's own."""
    return [to_locale(code) for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def path_of(language: str) -> Path:
    """Return the path of the .po file of `language`."""
    return Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES" / "django.po"


def update() -> None:
    """Add the missing texts of the code to each catalogue, remove obsolete ones, keep translations, and compile it."""
    texts = texts_of_code()
    for language in languages():
        catalog = ReproducibleCatalog(language)
        known = read(language)
        for text in texts:
            before = known.get((text.context, first_form(text)))
            flags = {"fuzzy"} & before.flags if before else set()
            translated = forms_of_translation(before, text, catalog.num_plurals)
            comments = before.user_comments if before else []
            catalog.add(text.id, translated, text.locations, flags, user_comments=comments, context=text.context)
        path_of(language).parent.mkdir(parents=True, exist_ok=True)
        path_of(language).write_bytes(catalog.as_po())
        path_of(language).with_suffix(".mo").write_bytes(catalog.as_mo())


def faults() -> Iterator[str]:
    """Yield what is missing or wrong in the catalogues: one line each, which begins with the language."""
    texts = {(text.context, first_form(text)): text for text in texts_of_code()}
    for language in languages():
        known = read(language)
        for key, text in texts.items():
            fault = f"is missing: {UPDATE}" if key not in known else fault_of(known[key], text, language)
            if fault:
                yield f"{language}: “{key[1]}” {fault}"
        for key in known:
            if key not in texts:
                yield f"{language}: “{key[1]}” is obsolete: {UPDATE}"
        if not is_compiled(language):
            yield f"{language}: django.mo is not made of django.po: {UPDATE}"


def fault_of(translated: Message, text: Message, language: str) -> str:
    """Return what is wrong with the translation of `text` into `language`; "" for nothing. Pure."""
    if translated.fuzzy:
        return "is fuzzy"
    wanted, found = list(forms(text.id)), list(forms(translated.string))
    if len(wanted) != len(forms(translated.id)):
        return f"has other plurals in the code: {UPDATE}"
    if not found or not all(form.strip() for form in found):
        return "is not translated"
    if len(wanted) == 2 and len(found) != ReproducibleCatalog(language).num_plurals:
        return f"needs {ReproducibleCatalog(language).num_plurals} plural forms"
    allowed = {placeholder for form in wanted for placeholder in PLACEHOLDERS.findall(form)}
    if set(PLACEHOLDERS.findall(found[-1])) != set(PLACEHOLDERS.findall(wanted[-1])):
        return f"needs {' '.join(sorted(set(PLACEHOLDERS.findall(wanted[-1])))) or 'nothing'} put into it"
    if any(set(PLACEHOLDERS.findall(form)) - allowed for form in found):
        return "has a place that nothing is put into"
    if len(found[-1]) > TRANSLATION_MAX_RATIO * len(wanted[-1]) + SHORT_TEXT_CHARS:
        return "is much longer than its text: perhaps it is the translation of another"
    for form in found:
        if sorted(MARKUP.findall(form)) != sorted(MARKUP.findall(wanted[-1])):
            return "has other markup"
        if '"' in MARKUP.sub("", form) and '"' not in MARKUP.sub("", wanted[-1]):
            return "has a straight quotation mark, which would end an attribute: write “ ” « » „ “ 「 」"
    return ""


def texts_of_code() -> list[Message]:
    """Return every text of templates and Python, in the order of the files and their lines."""
    catalog = ReproducibleCatalog(settings.LANGUAGE_CODE)
    for path, source in sources():
        for _, texts, _, context in extract("python", io.BytesIO(source.encode()), KEYWORDS):
            catalog.add(texts, locations=[(path, 0)], context=context)
    return [message for message in catalog if message.id]


def sources() -> Iterator[tuple[str, str]]:
    """Yield each file as (path, Python code in which texts can be found); Django converts templates into such code."""
    root = Path(settings.BASE_DIR)
    for path in sorted((root / "templates").rglob("*")):
        if path.suffix in (".html", ".json") and path.relative_to(root).parts[1] != "admin":
            found = templatize(path.read_text(), origin=str(path))
            # The converted template is no whole program: its indentation has no meaning.
            yield str(path.relative_to(root)), "\n".join(line.strip() for line in found.splitlines()) + "\n"
    for name in PYTHON:
        for path in sorted((root / name).rglob("*.py")):
            yield str(path.relative_to(root)), path.read_text()


def read(language: str) -> Texts:
    """Return the texts of the catalogue of `language`, with obsolete ones, by context and text."""
    path = path_of(language)
    if not path.is_file():
        return {}
    catalog = read_po(io.BytesIO(path.read_bytes()), locale=language)
    return {(text.context, first_form(text)): text for text in [*catalog, *catalog.obsolete.values()] if text.id}


def is_compiled(language: str) -> bool:
    """Return whether the .mo file of `language` is what the .po file compiles to, byte for byte."""
    catalog = ReproducibleCatalog(language)
    for text in read(language).values():
        catalog.add(text.id, text.string, flags=text.flags, context=text.context)
    compiled = path_of(language).with_suffix(".mo")
    return compiled.is_file() and compiled.read_bytes() == catalog.as_mo()


def forms_of_translation(before: Message | None, text: Message, count: int) -> str | tuple[str, ...]:
    """Return the translation `before`, with `count` forms if `text` has a plural; empty where it is missing. Pure."""
    kept = forms(before.string) if before and before.pluralizable == text.pluralizable else ()
    return (*kept, *("",) * count)[:count] if text.pluralizable else "".join(kept)


def forms(text: str | list[str] | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the forms of `text`: singular and plurals, or the only one. Pure."""
    return (text,) if isinstance(text, str) else tuple(text or ())


def first_form(text: Message) -> str:
    """Return the first form of `text`, in the language of the code."""
    return forms(text.id)[0]


class ReproducibleCatalog(Catalog):
    """A catalogue with reproducible files: without dates and tool names, the same texts give the same bytes."""

    def __init__(self, language: str) -> None:
        super().__init__(locale=language, fuzzy=False)
        self.language = language

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        """Return the headers of the catalogue, without dates."""
        return [
            ("Language", self.language),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=UTF-8"),
            ("Content-Transfer-Encoding", "8bit"),
            ("Plural-Forms", PLURALS.get(self.language, "nplurals=2; plural=(n != 1);")),
        ]

    @property
    def num_plurals(self) -> int:
        """Return how many plural forms the language has."""
        return int(re.findall(r"nplurals=(\d)", PLURALS.get(self.language, "nplurals=2;"))[0])

    def as_po(self) -> bytes:
        """Return the bytes of the .po file."""
        head = "".join(f'"{name}: {value}\\n"\n' for name, value in self.mime_headers)
        buffer = io.BytesIO()
        write_po(buffer, self, width=120, omit_header=True, include_lineno=False)
        return f'msgid ""\nmsgstr ""\n{head}\n'.encode() + buffer.getvalue().rstrip(b"\n") + b"\n"

    def as_mo(self) -> bytes:
        """Return the bytes of the .mo file."""
        buffer = io.BytesIO()
        write_mo(buffer, self)
        return buffer.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Update the catalogues, or check them; return how the process ends."""
    parser = argparse.ArgumentParser(prog="python -m tests.catalogues", description="The translation catalogues.")
    parser.add_argument("languages", nargs="*", help="only these, such as de or zh_Hans, are checked")
    parser.add_argument("--check", action="store_true", help="change nothing, and fail unless all is translated")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        update()
    only = chosen.languages or languages()
    found = [fault for fault in faults() if fault.partition(":")[0] in only]
    for fault in found:
        print(fault)
    print(f"{len(found)} texts are to be looked at." if found else "Every text is translated.")
    return 1 if found and chosen.check else 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    django.setup()
    sys.exit(main())
