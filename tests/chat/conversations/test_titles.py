"""A conversation is named by the fast model once, and by a person for good."""

import datetime as dt
import json
import uuid

import pytest

from chat import tasks
from chat.conversations import lifecycle, titles, transcript
from chat.models import ChatSession
from oneclaw.demo.model import reply
from tests.conversations import send, settle
from tests.scripted import answer, bad_request, text, thinking
from tests.spending import paid_for


@pytest.fixture
def session(ada):
    """A conversation whose first answer has just ended."""
    accepted = send(ada, "Hi there, which </name_for> tea is good in the evening?")
    settle(accepted, "Camomile.")
    session = accepted.message.session
    titles.enqueue_naming(session=session)
    session.refresh_from_db()
    return session


def later(session, seconds):
    """Let so many seconds pass, and run the sweep."""
    session.refresh_from_db()
    if session.title_due_at:
        ChatSession.objects.update(title_due_at=session.title_due_at - dt.timedelta(seconds=seconds))
    for session_id in titles.due_ids():
        tasks.name_session(str(session_id))
    session.refresh_from_db()


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
    assert paid_for("title") == [(session.owner_id, None, session.pk, True)]


def test_a_title_that_a_person_gave_stays(scripted, session):
    lifecycle.rename(session, "Mine")
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert session.title == "Mine"
    assert scripted.messages == []


def test_a_title_that_a_person_gives_meanwhile_stays(scripted, session, monkeypatch):
    def meanwhile(request, payer):
        lifecycle.rename(session, "Mine")
        return "Tea"

    monkeypatch.setattr(titles.llm, "complete_sync", meanwhile)
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == ("Mine", "person")


CUT = answer(text("Tea in the eve"), stop_reason="max_tokens")


@pytest.mark.parametrize("failing", [[bad_request()], [CUT, CUT], [answer()], [answer(thinking("Hm."))]])
def test_a_failed_try_leaves_the_first_words_and_is_repeated_later(scripted, session, failing):
    before = session.title
    scripted.script(*failing)
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == (before, "")
    asked = len(scripted.messages)
    # Neither the next answer nor a sweep that comes too early asks again.
    titles.enqueue_naming(session=session)
    later(session, 50)
    assert len(scripted.messages) == asked
    scripted.script(answer("Tea"))
    later(session, 60)
    assert (session.title, session.titled_by, session.title_due_at) == ("Tea", "model", None)
    assert titles.due_ids() == []


def test_it_is_tried_ever_more_rarely_and_at_last_no_more(scripted, session):
    scripted.default = lambda body: bad_request()
    tasks.name_session(str(session.pk))
    for seconds in titles.BACKOFF_SECONDS:
        later(session, seconds - 5)
        later(session, 10)
    assert len(scripted.messages) == 1 + len(titles.BACKOFF_SECONDS)
    assert session.title_due_at is None
    later(session, 1_000_000)
    titles.enqueue_naming(session=session)
    tasks.name_session(str(session.pk))
    assert len(scripted.messages) == 1 + len(titles.BACKOFF_SECONDS)


def test_the_model_is_asked_without_thinking_and_with_room(scripted, session):
    tasks.name_session(str(session.pk))
    body = scripted.messages[0].body
    assert body["thinking"] == {"type": "disabled"}
    assert body["max_tokens"] >= 200


def test_two_workers_ask_once(scripted, session):
    first, second = (titles._claimed(session.pk) for _ in range(2))
    assert (first, second) == (session, None)


def test_without_an_answer_the_next_one_enqueues_it(ada, scripted):
    accepted = send(ada, "Which tea?")
    session = accepted.message.session
    titles.enqueue_naming(session=session)
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title_due_at, session.title_tries, scripted.messages) == (None, 0, [])
    settle(accepted, "Camomile.")
    titles.enqueue_naming(session=session)
    assert titles.due_ids() == [session.pk]


def test_a_first_answer_that_was_stopped_before_its_first_word_is_passed_over(ada, scripted):
    asked = send(ada, "Which tea?")
    settle(asked, "", "stopped")
    settle(send(ada, "Tell me", asked.message.session_id), "Camomile.")
    titles.enqueue_naming(session=asked.message.session)
    scripted.script(answer("Tea in the evening"))
    later(asked.message.session, 0)
    assert asked.message.session.title == "Tea in the evening"


def test_it_is_asked_for_after_the_first_answer_and_only_while_it_has_no_name(ada, settings, monkeypatch):
    hinted = []
    monkeypatch.setattr(titles, "hint", lambda task, row: hinted.append(row))
    accepted = send(ada, "Which tea?")
    settle(accepted, "Camomile.")
    session = accepted.message.session
    settings.TITLES = False
    titles.enqueue_naming(session=session)
    settings.TITLES = True
    titles.enqueue_naming(session=session)
    titles.enqueue_naming(session=session)
    ChatSession.objects.update(titled_by="person", title_due_at=None)
    session.refresh_from_db()
    titles.enqueue_naming(session=session)
    assert hinted == [str(session.pk)]


def test_a_worker_is_told_to_name_it(session, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    ChatSession.objects.update(title_due_at=None)
    session.refresh_from_db()
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


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ('{"title": "“Tea in the evening”"}', "Tea in the evening"),
        ('```json\n{"title": "Tea"}\n```', "Tea"),
        # The form of a model that was not held to it.
        ("Tea in the evening", "Tea in the evening"),
    ],
)
def test_it_is_named_in_the_prescribed_form_where_the_model_can_be_held_to_it(official, session, said, title):
    official.script(answer(said))
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == (title, "model")
    assert official.messages[0].body["output_config"]["format"]["schema"] == titles.SCHEMA


@pytest.mark.parametrize("said", ['{"title": ""}', '{"title": 7}', '{"name": "Tea"}'])
def test_an_object_without_a_title_names_nothing(official, session, said):
    before = session.title
    official.script(answer(said))
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert (session.title, session.titled_by) == (before, "")


def test_a_secret_in_a_prescribed_title_is_masked(official, session):
    key = "sk-ant-api03-" + "Ab3dE5gH7j" * 9
    official.script(answer(json.dumps({"title": f"The key {key}"})))
    tasks.name_session(str(session.pk))
    session.refresh_from_db()
    assert session.title.startswith("The key ")
    assert key not in session.title


def test_the_demo_model_names_it_too(session):
    messages = titles.title_request(list(session.messages.shown())).messages
    assert "tea" in str(reply({"messages": messages}))
