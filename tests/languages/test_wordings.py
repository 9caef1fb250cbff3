"""Every code that the code stores has its words in every language, and gets what is put into them."""

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from chat.library.organise import ACTIONS
from chat.models import Turn
from memory.models import EmbeddingModel
from oneclaw.llm import ModelRequestError
from oneclaw.reasons import Reason, register, wordings

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"%\((\w+)\)")


def named():
    """(file:line, code, names of its parameters or None when they are no literal) of each Reason in the code."""
    for app in ("oneclaw", "chat", "memory"):
        for path in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Reason":
                    continue
                if node.args and isinstance(node.args[0], ast.Constant):
                    given = node.args[1] if len(node.args) > 1 else ast.Dict(keys=[], values=[])
                    is_plain = isinstance(given, ast.Dict) and None not in given.keys
                    names = {key.value for key in given.keys} if is_plain else None
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.args[0].value, names


def test_every_code_in_the_code_has_its_words_and_its_parameters():
    found = list(named())
    assert len(found) > 50
    for where, code, names in found:
        assert code in wordings, where
        if names is not None and not callable(wordings[code]):
            assert set(PLACE.findall(str(wordings[code] % Everything()))) == set(), where
            assert Everything.asked(wordings[code]) <= names, where


class Everything(dict):
    """Parameters of every name; it notes which were asked for."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __missing__(self, name):
        self.names.add(name)
        return 2

    def __contains__(self, name):
        return True

    @classmethod
    def asked(cls, wording):
        params = cls()
        str(wording % params)
        return params.names


def test_what_is_made_of_a_name_has_its_words():
    made = [failure.reason_code for failure in (ModelRequestError, *ModelRequestError.__subclasses__())]
    made += [f"conversations.{action}" for action in ACTIONS]
    made += [f"folder.name_{code}" for code in ("bad_frame", "bad_text", "empty", "too_long")]
    sources = "".join(path.read_text() for path in (ROOT / "chat" / "transfer" / "importing").glob("*.py"))
    refused = re.findall(r'(ImportFileRefusedError|NotImportableError)\("(\w+)"\)', sources)
    assert len(refused) > 10
    kinds = {"ImportFileRefusedError": "import_file", "NotImportableError": "import_conversation"}
    made += [f"{kinds[kind]}.{code}" for kind, code in refused]
    assert [code for code in made if code not in wordings] == []


@pytest.mark.parametrize(
    ("reason", "english", "german"),
    [
        (Reason("memory.found", {"number": 1}), "Found 1 passage", "1 Stelle gefunden"),
        (Reason("memory.found", {"number": 12_000}), "Found 12000 passages", "12000 Stellen gefunden"),
        (
            Reason("memory.document_too_large", {"path": "a.md", "size": 3_000_000, "most": 2_000_000}),
            "a.md would have 3,000,000 bytes; at most 2,000,000 are possible.",
            "a.md hätte 3.000.000 Bytes; höchstens 2.000.000 sind möglich.",
        ),
        (
            Reason("memory.secret_left_out", {"kinds": ["key", "password"]}),
            "Removed before saving: key and password. Do you want to keep it?",
            "Vor dem Speichern entfernt: Schlüssel und Passwort. Möchtest du es behalten?",
        ),
        (Reason("conversations.delete", {"number": 1}), "Deleted.", "Gelöscht."),
        (
            Reason("folder.name_too_long", {"length": 1234, "longest": 60}),
            "The folder's name has 1,234 characters; at most 60 can be sent at once.",
            "Der Name des Ordners hat 1.234 Zeichen; höchstens 60 können auf einmal gesendet werden.",
        ),
    ],
)
def test_numbers_lists_and_words_are_written_as_the_reader_writes_them(reason, english, german):
    assert str(reason) == english
    with translation.override("de"):
        assert (str(reason), reason.in_english) == (german, english)


@pytest.mark.parametrize(
    "reason", [Reason("some.other"), Reason("change.restored"), Reason("change.restored", {"number": "x"})]
)
def test_what_has_no_words_here_is_told_by_its_code(reason):
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            assert reason.code in str(reason)


def test_two_apps_cannot_word_one_code():
    with pytest.raises(ValueError, match="Two wordings"):
        register({"change.saved": "Kept"})


@pytest.mark.django_db
def test_a_column_holds_a_reason_or_nothing():
    model = EmbeddingModel.objects.create(id=1, name="a")
    assert EmbeddingModel.objects.get().error is None
    model.error = Reason("embedding.refused", {"status": 429, "said": "“no”\n100%"})
    model.save()
    assert EmbeddingModel.objects.get().error == model.error
    assert EmbeddingModel.objects.filter(error=model.error).exists()
    assert EmbeddingModel.objects.filter(error__code="embedding.refused").exists()
    assert str(model.error) == "The embedding server answered 429: “no”\n100%"


@pytest.mark.parametrize("value", [None, "", "Saved.", {}, {"code": 1, "params": {}}, {"code": "other"}, ["other"]])
def test_what_is_no_reason_is_read_as_none(value):
    assert Reason.of(value) is None
    assert Reason.of({"code": "other", "params": {"text": "x"}}) == Reason("other", {"text": "x"})
    assert Turn._meta.get_field("error").from_db_value('"Saved."', None, None) is None
