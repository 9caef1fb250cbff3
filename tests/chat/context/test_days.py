"""The model knows which day it is: one line when the person's day has changed, stored with the message."""

import datetime as dt
import uuid

import pytest
from django.utils import dateformat, timezone

from chat.context.prompt import build_request, with_context
from chat.context.view import META_KEY, ViewRow
from chat.models import ChatSession, Message, Turn
from chat.routes import deliver
from tests.chat.routes.cast import incoming
from tests.conversations import send, settle, summarise, without_marks

# 25 November 2026, 21:30 in Zurich.
EVENING = dt.datetime(2026, 11, 25, 20, 30, tzinfo=dt.UTC)


@pytest.fixture
def talk(ada):
    """say(after): the text blocks that the model is sent of a message which Ada writes so long after the evening."""
    begun = []

    def say(after=dt.timedelta(), text="What day is it?", **fields):
        accepted = send(ada, text, begun[0] if begun else None)
        if not begun:
            begun.append(accepted.message.session_id)
            ChatSession.objects.filter(pk=begun[0]).update(created_at=EVENING)
        Message.objects.filter(pk=accepted.message.pk).update(created_at=EVENING + after, **fields)
        turn = Turn.objects.get(pk=accepted.turn.pk)
        messages = without_marks(build_request(turn).messages)
        settle(accepted)
        say.sent.append(messages)
        return [block["text"] for block in messages[-1]["content"] if block["type"] == "text"]

    say.sent, say.begun = [], begun
    return say


def hours(number):
    return dt.timedelta(hours=number)


def test_the_first_message_after_midnight_brings_the_day_and_later_ones_do_not(talk):
    assert talk() == ["What day is it?"]
    assert talk(hours(2)) == ["What day is it?"]
    # 00:30 on the next day in Zurich, when it is still the 25th in UTC.
    assert talk(hours(3)) == ["[Today is Thursday, 26 November 2026.]", "What day is it?"]
    assert talk(hours(4)) == ["What day is it?"]


def test_after_several_days_one_line_tells_the_day(talk):
    talk()
    assert talk(dt.timedelta(days=9)) == ["[Today is Friday, 4 December 2026.]", "What day is it?"]


def test_what_was_sent_is_sent_again_as_it_was(talk):
    for days in range(4):
        talk(dt.timedelta(days=days))
    for before, after in zip(talk.sent, talk.sent[1:], strict=False):
        assert after[: len(before)] == before


def test_a_journey_changes_the_day_of_the_person(talk, ada):
    talk()
    ada.timezone = "Asia/Tokyo"
    ada.save()
    assert talk(hours(1)) == ["[Today is Thursday, 26 November 2026.]", "What day is it?"]
    ada.timezone = "America/New_York"
    ada.save()
    assert talk(hours(2)) == ["[Today is Wednesday, 25 November 2026.]", "What day is it?"]
    assert talk(hours(3)) == ["What day is it?"]


def test_the_head_of_another_day_is_no_reason_for_a_line_when_the_day_was_told(talk):
    talk()
    talk(dt.timedelta(days=1))
    assert talk(dt.timedelta(days=1, hours=1)) == ["What day is it?"]


def test_when_a_summary_has_replaced_the_line_the_day_is_told_again(talk):
    talk()
    talk(dt.timedelta(days=1))
    session = ChatSession.objects.get(pk=talk.begun[0])
    summarise(session, session.last_seq)
    said = talk(dt.timedelta(days=1, hours=1))
    assert said[-2:] == ["[Today is Thursday, 26 November 2026.]", "What day is it?"]


@pytest.mark.parametrize("by", ["session", "schedule"])
def test_messages_that_the_person_did_not_write_bring_the_day_too(talk, by):
    talk()
    assert talk(dt.timedelta(days=1), meta={"by": by})[0] == "[Today is Thursday, 26 November 2026.]"


def test_a_message_of_a_channel_brings_the_day(ada):
    first = deliver.accept(ada, incoming())
    build_request(Turn.objects.get(pk=first.turn.pk))
    settle(first)
    second = deliver.accept(ada, incoming(client_id=uuid.uuid4()))
    moment = timezone.now() + dt.timedelta(days=5)
    Message.objects.filter(pk=second.message.pk).update(created_at=moment)
    content = build_request(Turn.objects.get(pk=second.turn.pk)).messages[-1]["content"]
    assert content[0]["text"] == f"[Today is {dateformat.format(ada.day(moment), 'l, j F Y')}.]"


def test_another_attempt_at_an_answer_rewrites_nothing(talk, ada):
    talk()
    accepted = send(ada, "And now?", talk.begun[0])
    Message.objects.filter(pk=accepted.message.pk).update(created_at=EVENING + dt.timedelta(days=1))
    Turn.objects.filter(pk=accepted.turn.pk).update(attempt=2)
    texts = [block["text"] for block in build_request(Turn.objects.get(pk=accepted.turn.pk)).messages[-1]["content"]]
    assert texts == ["And now?"]


def test_the_line_takes_the_place_of_nothing_else_that_was_sent_with_the_message():
    sent = {"day": "[Today is Thursday, 26 November 2026.]", "files": ["whole"]}
    row = ViewRow(3, "user", [], {META_KEY: sent}, EVENING, EVENING)
    # As the turn has read it before its first request, which stored the shares of the files.
    message = Message(seq=3, meta={META_KEY: {"day": sent["day"]}})
    assert with_context(row, message).all_sent == sent
