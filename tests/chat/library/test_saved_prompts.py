"""Prompts that a person keeps, and the commands that the composer offers."""

import uuid

import pytest

from chat.conversations import transcript
from chat.library.saved_prompts import save, split_at_variables, variables
from chat.models import SavedPrompt
from oneclaw.text import InvalidTextError

TEXT = "Translate into {{ language }}:\n\n{{the text}}\n\nOnly {{language}}."


@pytest.fixture
def prompt(ada):
    return save(ada, "translate", TEXT)


def test_variables_are_asked_for_once_each():
    assert variables(TEXT) == ["language", "the text"]
    assert split_at_variables("a {{b}} c") == ["a ", "b", " c"]
    for plain in ("{{}} {{ }} {b}", "{{a\nb}}", "{{" + "x" * 41 + "}}"):
        assert split_at_variables(plain) == [plain]


@pytest.mark.parametrize("name", ["", "two words", "/", "a/b", "x" * 41, "new", "END", "/remember", "compact", "a\x00"])
def test_a_name_that_can_be_no_command_is_refused(ada, name):
    with pytest.raises(InvalidTextError):
        save(ada, name, "Text")
    assert not SavedPrompt.objects.exists()


def test_a_name_is_in_lower_case_and_without_its_slash(ada, stranger, prompt):
    assert save(ada, " /Übersetzen-2 ", "Text").name == "übersetzen-2"
    with pytest.raises(InvalidTextError, match="already"):
        save(ada, "Translate", "Text")
    assert save(stranger, "translate", "Text").owner == stranger


def test_they_are_kept_changed_and_deleted_on_their_page(client, ada):
    client.force_login(ada)
    assert client.post("/prompts/", {"name": "two words", "text": "Kept in the form"}).status_code == 422
    assert client.post("/prompts/", {"name": "report", "text": TEXT}).status_code == 302
    prompt = SavedPrompt.objects.get()
    assert "language, the text" in client.get("/prompts/").content.decode()
    assert client.post(f"/prompts/{prompt.pk}", {"name": "report", "text": "\x00"}).status_code == 422
    assert client.post(f"/prompts/{prompt.pk}", {"name": "weekly", "text": "Other"}).status_code == 302
    prompt.refresh_from_db()
    assert (prompt.name, prompt.text) == ("weekly", "Other")
    assert client.post(f"/prompts/{prompt.pk}/delete").status_code == 302
    assert not SavedPrompt.objects.exists()


def test_a_stranger_sees_none_of_them(client, stranger, prompt):
    client.force_login(stranger)
    assert "translate" not in client.get("/prompts/").content.decode()
    assert "translate" not in client.get("/commands").content.decode()
    for path in (f"/prompts/{prompt.pk}", f"/prompts/{prompt.pk}/delete"):
        assert client.post(path, {"name": "mine", "text": "Mine"}).status_code == 404
    assert client.get(f"/prompts/{prompt.pk}").status_code == 404
    prompt.refresh_from_db()
    assert prompt.name == "translate"


def test_the_composer_is_offered_what_can_be_done(client, ada, prompt):
    client.force_login(ada)

    def offered(session=""):
        found = client.get("/commands", {"current": session}).json()["commands"]
        return {command["name"]: command for command in found}

    commands = offered()
    assert list(commands) == [
        "/new",
        "/reset",
        "/end",
        "/compact",
        "/undo-compact",
        "/context",
        "/remember",
        "/translate",
    ]
    assert commands["/new"]["kind"] == "send"
    assert commands["/remember"]["kind"] == "write"
    assert commands["/translate"]["pieces"][1::2] == ["language", "the text", "language"]
    # Where memory may not be written there is nothing to remember with.
    chat_only = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", mode="chat").message.session
    assert "/remember" not in offered(chat_only.pk)
