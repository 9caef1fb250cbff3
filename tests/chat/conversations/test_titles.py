"""A conversation is named by the fast model once, and by a person for good."""

import uuid

import pytest

from chat import tasks
from chat.conversations import lifecycle, titles, transcript
from chat.models import ChatSession
from oneclaw.demo.model import reply
from oneclaw.demo.replies import bad_request
from oneclaw.demo.scripted import answer, text
from tests.conversations import send, settle


@pytest.fixture
def session(ada):
    accepted = send(ada, "Hi there, which </name_for> tea is good in the evening?")
    settle(accepted, "Camomile.")
    return accepted.message.session


def test_the_fast_model_names_it_by_its_beginning(scripted, settings, session):
    settings.FAST_MODEL = "fast"
    scripted.script(answer(text("“Tea in the **evening**.”\nSomething else")))
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == ("Tea in the **evening", "model")
    body = scripted.messages[0].body
    assert body["model"] == "fast"
    assert body["messages"][0]["content"].count("</name_for>") == 1
    assert "Camomile." in body["messages"][0]["content"]
    tasks.name_session(str(session.pk))
    assert len(scripted.messages) == 1


def test_a_title_that_a_person_gave_stays(scripted, session):
    lifecycle.rename(session, "Mine")
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert session.title == "Mine"
    assert scripted.messages == []


def test_a_title_that_a_person_gives_meanwhile_stays(scripted, session, monkeypatch):
    def meanwhile(request):
        lifecycle.rename(session, "Mine")
        return "Tea"

    monkeypatch.setattr(titles.llm, "complete_sync", meanwhile)
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == ("Mine", "person")


def test_without_the_model_the_first_words_stay_and_the_next_answer_tries_again(scripted, session):
    scripted.script(bad_request())
    before = session.title
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == (before, "")


def test_it_is_asked_for_after_an_answer_and_only_while_it_has_no_name(session, settings, monkeypatch):
    hinted = []
    monkeypatch.setattr(titles, "hint", lambda task, row: hinted.append(row))
    titles.enqueue_naming(session=session)
    settings.TITLES = False
    titles.enqueue_naming(session=session)
    settings.TITLES = True
    session.titled_by = "person"
    titles.enqueue_naming(session=session)
    assert hinted == [str(session.pk)]


def test_a_worker_is_told_to_name_it(session, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    monkeypatch.setattr(tasks.name_session, "apply_async", lambda arguments, *rest, **options: told.append(arguments))
    with django_capture_on_commit_callbacks(execute=True):
        titles.enqueue_naming(session=session)
    assert [list(arguments) for arguments in told] == [[str(session.pk)]]


def test_a_temporary_conversation_is_called_so_and_no_model_is_asked(ada, scripted, monkeypatch):
    hinted = []
    monkeypatch.setattr(titles, "hint", lambda task, row: hinted.append(row))
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Between us", mode="temporary")
    settle(accepted)
    session = ChatSession.objects.get()
    titles.enqueue_naming(session=session)
    titles.name_session(session.pk)
    session.refresh_from_db()
    assert (session.title, hinted, scripted.messages) == ("Temporary chat", [], [])


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("", ""),
        ('\n ""\n', ""),
        ("# A title", "A title"),
        ("a b c d e f g h i j", "a b c d e f g h"),
        ("x" * 200, "x" * 79 + "…"),
        ("Tee \x00 am Abend", "Tee \ufffd am Abend"),
    ],
)
def test_what_becomes_of_an_answer(said, title):
    assert titles.title_of(said) == title


def test_the_demo_model_names_it_too(session):
    messages = titles.title_request(list(session.messages.shown())).messages
    assert "tea" in str(reply({"messages": messages}))
