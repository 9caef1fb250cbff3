"""Each frame of a client: what it is read as, and the sentence about each field that is wrong."""

import json
import uuid
from dataclasses import replace

import pytest
from django.utils import translation

from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.live import frames
from chat.live.errors import FrameError
from chat.live.frames import client_frame, decoded, frame_of
from oneclaw.text import InvalidTextError

CLIENT_ID, SESSION, FILE = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
SEND = {"type": "send", "client_id": str(CLIENT_ID), "session": str(SESSION), "text": "Hello"}
EDIT = {"type": "edit", "client_id": str(CLIENT_ID), "message": "7", "text": "Hello"}


@pytest.mark.parametrize(
    ("fields", "kind", "read"),
    [
        ({"type": "open"}, frames.OpenFrame, {"session": None, "last_seq": 0, "person": None, "appends": False}),
        ({"type": "open", "appends": True}, frames.OpenFrame, {"appends": True}),
        ({"type": "open", "appends": "yes"}, frames.OpenFrame, {"appends": False}),
        (
            {"type": "open", "session": str(SESSION), "last_seq": 3, "person": "1"},
            frames.OpenFrame,
            {"session": SESSION, "last_seq": 3, "person": "1"},
        ),
        (
            SEND,
            frames.SendFrame,
            {
                "client_id": CLIENT_ID,
                "session": SESSION,
                "text": "Hello",
                "files": (),
                "mode": None,
                "choice": NO_CHOICE,
            },
        ),
        (SEND | {"files": None, "text": "a\r\nb"}, frames.SendFrame, {"files": (), "text": "a\nb"}),
        (SEND | {"files": [str(FILE)], "text": " \n"}, frames.SendFrame, {"files": (FILE,), "text": ""}),
        (SEND | {"mode": "chat"}, frames.SendFrame, {"mode": "chat"}),
        (SEND | {"agent": "", "model": ""}, frames.SendFrame, {"choice": Choice(None, "")}),
        (SEND | {"agent": "hers", "model": "m" * 100}, frames.SendFrame, {"choice": Choice("hers", "m" * 100)}),
        (SEND | {"space": "7"}, frames.SendFrame, {"choice": Choice(space=7)}),
        (SEND | {"effort": "low"}, frames.SendFrame, {"choice": Choice(effort="low")}),
        (EDIT, frames.EditFrame, {"client_id": CLIENT_ID, "message": 7, "text": "Hello", "choice": NO_CHOICE}),
        (EDIT | {"effort": "max"}, frames.EditFrame, {"choice": Choice(effort="max")}),
        (EDIT | {"text": " a "}, frames.EditFrame, {"text": " a "}),
        ({"type": "show", "message": "0"}, frames.ShowFrame, {"message": 0}),
        ({"type": "stop"}, frames.StopFrame, {"message": None}),
        ({"type": "stop", "message": None}, frames.StopFrame, {"message": None}),
        ({"type": "stop", "message": "9" * 18}, frames.StopFrame, {"message": 10**18 - 1}),
        ({"type": "retry", "message": "7", "model": "m"}, frames.RetryFrame, {"type": "retry", "message": 7}),
        ({"type": "retry", "message": "7", "effort": ""}, frames.RetryFrame, {"choice": Choice(effort="")}),
        ({"type": "continue", "message": "7"}, frames.RetryFrame, {"type": "continue", "choice": NO_CHOICE}),
        ({"type": "ping", "more": 1}, frames.PingFrame, {}),
    ],
)
def test_a_frame_is_read_as_what_it_is(fields, kind, read):
    frame = client_frame(fields)
    assert type(frame) is kind
    assert {name: getattr(frame, name) for name in read} == read


IS_NO_UUID = [None, "", "x", 7, [], "\ud800", str(SESSION) + "0"]
IS_NO_MESSAGE = ["", "x", "1e5", "-1", " 7", "٧", "7" * 19, 7, 7.0, True, [], {}, "\ud800"]
IS_NO_NAME = [7, ["a"], {}, "x" * 101, "\ud800"]


@pytest.mark.parametrize(
    ("fields", "field", "values", "sentence"),
    [
        (SEND, "client_id", IS_NO_UUID, "client_id must be a UUID."),
        (SEND, "session", IS_NO_UUID, "session must be a UUID."),
        (SEND, "space", ["x", "-1", [], True], "space must be the id of a space."),
        (SEND, "mode", ["other", "", 3, [], True], "mode must be agent, chat or temporary."),
        (SEND, "agent", IS_NO_NAME, "agent and model must be names."),
        (SEND, "model", IS_NO_NAME, "agent and model must be names."),
        (SEND, "effort", IS_NO_NAME, "effort must be the name of a level."),
        (SEND, "files", ["x", ["x"], [7], {}, 7, ""], "files must be a list of UUIDs."),
        (SEND, "files", [[str(FILE), str(FILE)]], "files names a file twice."),
        (SEND, "text", [None, 7, [], {}], "The message must be text."),
        (EDIT, "client_id", IS_NO_UUID, "client_id must be a UUID."),
        (EDIT, "message", [None, *IS_NO_MESSAGE], "message must be the id of a message."),
        (EDIT, "text", [None, 7, [], {}], "The message must be text."),
        (EDIT, "model", IS_NO_NAME, "agent and model must be names."),
        ({"type": "open"}, "session", IS_NO_UUID[1:], "session must be a UUID."),
        ({"type": "open"}, "last_seq", [None, -1, "3", 1.0, 1.5, True, []], "last_seq must be a whole number."),
        ({"type": "show"}, "message", [None, *IS_NO_MESSAGE], "message must be the id of a message."),
        ({"type": "stop"}, "message", IS_NO_MESSAGE, "message must be the id of a message."),
        ({"type": "retry"}, "message", [None, *IS_NO_MESSAGE], "message must be the id of a message."),
        ({"type": "continue"}, "message", [None, *IS_NO_MESSAGE], "message must be the id of a message."),
        ({"type": "continue", "message": "7"}, "model", IS_NO_NAME, "agent and model must be names."),
        ({}, "type", [None, "fly", "", 7, ["send"], {}, "\ud800"], "This frame has no known type."),
    ],
)
def test_each_wrong_field_has_its_sentence(fields, field, values, sentence):
    for value in values:
        with pytest.raises((FrameError, InvalidTextError)) as refused:
            client_frame(fields | {field: value})
        assert (refused.value.code, str(refused.value)) == ("bad_frame", sentence), value


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        (SEND, "client_id", "client_id must be a UUID."),
        (SEND, "session", "session must be a UUID."),
        (SEND, "text", "The message must be text."),
        (EDIT, "client_id", "client_id must be a UUID."),
        (EDIT, "message", "message must be the id of a message."),
        (EDIT, "text", "The message must be text."),
        ({"type": "show", "message": "7"}, "message", "message must be the id of a message."),
        ({"type": "retry", "message": "7"}, "message", "message must be the id of a message."),
        ({"type": "ping"}, "type", "This frame has no known type."),
    ],
)
def test_each_missing_field_has_its_sentence(fields, field, sentence):
    without = {name: value for name, value in fields.items() if name != field}
    with pytest.raises((FrameError, InvalidTextError)) as refused:
        client_frame(without)
    assert (refused.value.code, str(refused.value)) == ("bad_frame", sentence)


@pytest.mark.parametrize("fields", [SEND, EDIT])
@pytest.mark.parametrize(
    ("text", "code"),
    [("", "empty"), (" \n", "empty"), ("x" * 11, "too_long"), ("a\0b", "bad_text"), ("\ud800", "bad_text")],
)
def test_text_that_cannot_be_stored_is_refused_in_the_readers_language(settings, fields, text, code):
    settings.MESSAGE_LENGTH = 10
    with pytest.raises(InvalidTextError) as refused:
        client_frame(fields | {"text": text})
    assert refused.value.code == code
    english = str(refused.value)
    with translation.override("de"):
        assert str(refused.value) != english


def test_a_message_may_have_only_so_many_files(settings):
    settings.FILES = replace(settings.FILES, message_max_files=3)
    with pytest.raises(InvalidTextError) as refused:
        client_frame(SEND | {"files": [str(uuid.uuid4()) for _ in range(4)]})
    assert refused.value.code == "too_many"


def test_what_is_wrong_first_is_said_alone():
    with pytest.raises(FrameError, match="client_id must be a UUID"):
        client_frame({"type": "send", "session": "x", "files": "x"})
    with pytest.raises(InvalidTextError, match="files must be a list"):
        client_frame(SEND | {"files": "x", "text": ""})


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        (None, "bad_frame", "Frames are JSON text."),
        ("", "bad_frame", "This frame is not JSON."),
        ("{", "bad_frame", "This frame is not JSON."),
        ("[" * 60_000, "bad_frame", "This frame is not JSON."),
        ("[]", "bad_frame", "This frame has no known type."),
        ('"send"', "bad_frame", "This frame has no known type."),
        ("x" * 65_537, "too_large", "This is too large to send: it has 65,537 bytes, at most 65,536 are possible."),
        ("é" * 32_769, "too_large", "This is too large to send: it has 65,538 bytes, at most 65,536 are possible."),
    ],
)
def test_what_is_no_json_object_is_refused(text, code, sentence):
    with pytest.raises(FrameError) as refused:
        decoded(text)
    assert (refused.value.code, str(refused.value.sentence)) == (code, sentence)


def test_a_frame_as_large_as_may_be_is_read():
    fields = {"type": "ping", "pad": ""}
    fields["pad"] = "x" * (frames.FRAME_MAX_BYTES - len(json.dumps(fields)))
    assert decoded(json.dumps(fields)) == fields


def test_a_frame_made_in_the_process_is_checked_too():
    frame = frame_of(frames.SendFrame, client_id=CLIENT_ID, session=SESSION, text="Hello", files=[str(FILE)])
    assert (frame.session, frame.files) == (SESSION, (FILE,))
    with pytest.raises(FrameError, match="message must be the id of a message"):
        frame_of(frames.EditFrame, client_id=CLIENT_ID, message="x", text="Hello")
