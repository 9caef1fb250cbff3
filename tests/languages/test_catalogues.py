"""Every text that a person reads is translated into every language that is offered, and rightly so."""

import gettext

import pytest
from babel.messages.catalog import Message

from tests import catalogues

PLURAL = ("%(number)d file of %(name)s", "%(number)d files of %(name)s")


def compiled(language):
    with catalogues.path_of(language).with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def test_every_text_is_translated_and_compiled():
    assert list(catalogues.faults()) == []


def test_every_language_that_is_offered_has_its_catalogue():
    assert catalogues.languages() == list(catalogues.PLURALS)
    for language in catalogues.languages():
        assert compiled(language).info()["language"] == language


def test_a_catalogue_says_nothing_of_when_it_was_made(tmp_path, settings, monkeypatch):
    settings.LOCALE_PATHS = [tmp_path]
    monkeypatch.setattr(catalogues, "sources", lambda: [("a.py", 'gettext("One")\nngettext("a", "%(n)d as", n)\n')])
    catalogues.update()
    files = {path: path.read_bytes() for path in tmp_path.rglob("django.*")}
    assert len(files) == 10
    catalogues.update()
    assert {path: path.read_bytes() for path in tmp_path.rglob("django.*")} == files
    assert not any(b"-Date" in data or b"Generated-By" in data for data in files.values())


def test_a_changed_text_is_missing_and_an_obsolete_one_told(tmp_path, settings, monkeypatch):
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    monkeypatch.setattr(catalogues, "sources", lambda: [("a.py", 'gettext("One")\nngettext("a", "%(n)d as", n)\n')])
    catalogues.update()
    assert list(catalogues.faults()) == ["de: “One” is not translated", "de: “a” is not translated"]
    path = catalogues.path_of("de")
    path.write_text(path.read_text().replace('"One"\nmsgstr ""', '"One"\nmsgstr "Eins"'))
    assert "de: django.mo is not made of django.po: run python -m tests.catalogues" in list(catalogues.faults())
    catalogues.update()
    assert list(catalogues.faults()) == ["de: “a” is not translated"]
    assert compiled("de").gettext("One") == "Eins"
    monkeypatch.setattr(catalogues, "sources", lambda: [("a.py", '_("Two")\n')])
    assert list(catalogues.faults()) == [
        "de: “Two” is missing: run python -m tests.catalogues",
        "de: “One” is obsolete: run python -m tests.catalogues",
        "de: “a” is obsolete: run python -m tests.catalogues",
    ]


@pytest.mark.parametrize(
    ("text", "translated", "fault"),
    [
        ("Tea", "Tee", ""),
        ("Tea", "", "is not translated"),
        ("Tea, %(name)s", "Tee", "needs %(name)s put into it"),
        ("Tea", "Tee, %(name)s", "needs nothing put into it"),
        ("{size} of {most}", "{size} von {size}", "needs {most} {size} put into it"),
        ("<b>Tea</b>", "<i>Tee</i>", "has other markup"),
        ("<b>Tea</b>", "<b>Tee</b>!", ""),
        ("Say “tea”", 'Sag "Tee"', "has a straight quotation mark"),
        (PLURAL, ("%(number)d Datei von %(name)s", "%(number)d Dateien von %(name)s"), ""),
        (PLURAL, ("Eine Datei von %(name)s", "%(number)d Dateien von %(name)s"), ""),
        (PLURAL, ("%(number)d Datei von %(name)s", ""), "is not translated"),
        (PLURAL, ("%(number)d Dateien von %(name)s",), "needs 2 plural forms"),
        (PLURAL, ("%(zahl)d Datei", "%(number)d Dateien von %(name)s"), "has a place that nothing is put into"),
        (PLURAL, ("Eine Datei", "Dateien von %(name)s"), "needs %(name)s %(number)d put into it"),
        ("Back", "Noch keine Gespräche. Ein Gespräch von hier ist privat.", "is much longer than its text"),
    ],
)
def test_what_is_wrong_with_a_translation_is_told(text, translated, fault):
    found = catalogues.fault_of(Message(text, translated), Message(text), "de")
    assert found.startswith(fault) if fault else found == ""


def test_a_fuzzy_translation_is_no_translation():
    assert catalogues.fault_of(Message("Tea", "Tee", flags=["fuzzy"]), Message("Tea"), "de") == "is fuzzy"


def test_one_form_is_enough_where_a_language_does_not_count():
    assert catalogues.fault_of(Message(PLURAL, ("%(name)s: %(number)d",)), Message(PLURAL), "ja") == ""


def test_texts_of_templates_and_python_are_found():
    # All that the code has, or there were a fault.
    texts = {text.id for text in catalogues.read("de").values()}
    assert {"Skip to content", "A chat in which an AI remembers", "This answer failed."} <= texts
    assert {"This agent no longer exists. Choose another one.", "Restored version %(number)d"} <= texts
    assert ("Found %(number)d passage", "Found %(number)d passages") in texts
    # What the admin says to whoever runs the server is English.
    assert not any("earlier changes are among" in str(text) for text in texts)
