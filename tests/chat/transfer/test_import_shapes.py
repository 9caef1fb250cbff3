"""Files in every shape in which exports are handed on: wrapped, nested, deep, one in another."""

import io
import json
import time

import pytest

from chat.models import ChatSession
from chat.transfer.importing import json_stream, nested, reasons
from tests.imports import (
    CHATGPT,
    CLAUDE,
    LIBRECHAT,
    NO_PARENT,
    OPEN_WEBUI,
    as_json,
    as_zip,
    counts,
    libre,
    lines,
    numbered,
)


def chain(count):
    """A conversation of LibreChat's in which each message has its answer inside."""
    begin = json.dumps(libre("q", NO_PARENT, "message 0", messageId="m0"))[:-1] + ', "children": ['
    parts = [begin]
    for number in range(1, count):
        key = "q" if number % 2 == 0 else "answer"
        each = libre(key, f"m{number - 1}", f"message {number}", messageId=f"m{number}")
        parts.append(json.dumps(each)[:-1] + ', "children": [')
    messages = "".join(parts) + "]}" * count
    return ('{"conversationId": "deep", "title": "Long", "recursive": true, "messages": [' + messages + "]}").encode()


@pytest.mark.parametrize("count", [149, 150, 400, 5_000])
def test_a_limit_of_the_shape_is_none_of_the_content(bring, count):
    """LibreChat puts each answer into what it answers, so a long conversation is as deep as it is long."""
    job = bring(chain(count))
    assert (counts(job), job.messages) == (("done", 1, 1, 0, 0), count)
    assert [text for _, text in lines(ChatSession.objects.get(), active=True)] == [f"message {n}" for n in range(count)]


@pytest.mark.parametrize("sign", ["[]", '{"a":}'])
def test_a_hostile_depth_is_refused_at_once(bring, sign):
    begin, end = sign[:-1], sign[-1]
    begun = time.monotonic()
    job = bring(b'[{"title": "Deep", "a": ' + (begin * 1_000_000 + "1" + end * 1_000_000).encode() + b"}]")
    assert (counts(job), job.problems[0]["why"]) == (("done", 1, 0, 0, 1), "too_deep")
    deepest = reasons.NESTING_MAX_LEVELS - 10
    job = bring(b'[{"title": "Deep", "a": ' + (begin * deepest + "1" + end * deepest).encode() + b"}]")
    assert (counts(job), job.problems[0]["why"]) == (("done", 1, 0, 0, 1), "unknown")
    assert time.monotonic() - begun < 20


def test_what_is_decoded_in_parts_is_what_json_says():
    value = {"a": [1, ']}[{\\"', {"b": None}], "é": [[[["😀", {}]]], 2.5, True]}
    raw = json.dumps(value).encode()
    nested_once = nested._decoded_in_parts(b"[" * 1_500 + raw + b"]" * 1_500)
    for _ in range(1_500):
        (nested_once,) = nested_once
    assert nested_once == value
    for broken in (b"[" * 1_500, b"]", b"[}" * 1_500, b"[" * 1_500 + b"]" * 1_501, b'["' * 1_500):
        with pytest.raises(ValueError, match=r"."):
            nested.decoded(broken)


TWO = [CHATGPT, CLAUDE]


@pytest.mark.parametrize(
    "value",
    [
        {"conversations": TWO},
        {"version": 2, "exported_at": "2024-05-01", "user": {"name": "Ada", "tags": [{"a": 1}]}, "conversations": TWO},
        {"data": TWO, "meta": {"page": {"number": 1}}},
        {"data": {"conversations": TWO}},
        {"export": {"threads": TWO, "count": 2}},
        {"conversations": [CHATGPT], "chats": [CLAUDE]},
        {"chatgpt": CHATGPT, "claude": {"data": CLAUDE}},
        [TWO],
        [[CHATGPT], [CLAUDE]],
        [{"conversations": [CHATGPT]}, {"conversation": CLAUDE}],
    ],
)
def test_an_export_in_a_wrapper_is_each_of_its_conversations(bring, value):
    assert counts(bring(value)) == ("done", 2, 2, 0, 0)


def test_what_stands_beside_wrapped_conversations_is_reported(bring):
    job = bring({"threads": [CHATGPT, {"title": "Odd"}]})
    assert (counts(job), job.problems[0]["title"]) == (("done", 2, 1, 0, 1), "Odd")


@pytest.mark.parametrize("value", [CHATGPT, CLAUDE, OPEN_WEBUI, LIBRECHAT])
def test_one_object_is_one_conversation(bring, value):
    assert counts(bring(value)) == ("done", 1, 1, 0, 0)


def test_lines_of_json_are_one_conversation_each(bring):
    data = b"\n".join(map(as_json, numbered(3)))
    assert counts(bring(data)) == ("done", 3, 3, 0, 0)
    assert bring(as_zip({"chats.jsonl": data})).known == 3


@pytest.mark.parametrize("piece", [1, 7, 64, 100_000])
def test_a_wrapper_may_be_larger_than_a_conversation(monkeypatch, piece):
    monkeypatch.setattr(json_stream, "PIECE_BYTES", piece)
    monkeypatch.setattr(json_stream, "CONVERSATION_MAX_BYTES", 3_000)
    values = [{"a": "x" * 1_000, "conversations": [{}]} for _ in range(10)]
    for whole in ({"v": 1, "conversations": values, "b": []}, {"conversations": values[:5], "data": values[5:]}):
        text = json.dumps(whole, indent=1).encode()
        found = [json.loads(raw) for raw, _ in json_stream.elements(io.BytesIO(text))]
        assert found == values


def test_a_zip_file_in_a_zip_file_is_said(bring):
    inner = as_zip({"conversations.json": as_json(TWO)})
    job = bring(as_zip({"readme.txt": b"x", "data-2025.zip": inner}))
    assert (job.status, job.error) == ("failed", "zip_in_zip")
    assert "unpack it" in reasons.of_file("zip_in_zip")
    assert bring(as_zip({"conversations.json": as_json(TWO), "files.zip": inner})).brought == 2


def test_parts_and_forks_of_a_zip_file(bring):
    parts = {
        "export/conversations-000.json": as_json([CHATGPT]),
        "export/Conversations (1).JSON": as_json([CLAUDE]),
        "__MACOSX/export/._conversations-000.json": b"\0\5\x16\7",
        "export/user.json": b"{}",
    }
    assert counts(bring(as_zip(parts))) == ("done", 2, 2, 0, 0)
