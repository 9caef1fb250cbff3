"""What is learnt from the words of a refusal, and what is sent then."""

from dataclasses import replace

import pytest

from oneclaw.llm.facts import Refusal, without
from oneclaw.llm.failures import (
    BadRequestError,
    ContextTooLongError,
    ServerFaultError,
    failure_of_response,
)
from oneclaw.llm.known_models import UNKNOWN, Facts
from oneclaw.llm.request import Request, parts_of, refusal_in

MARK = {"type": "ephemeral", "ttl": "1h"}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"b": 1, "a": 2}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Seen.", "cache_control": MARK}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
REQUEST = Request(
    "odd",
    [{"type": "text", "text": "Be kind.", "cache_control": MARK}],
    [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, IMAGE]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, CALL]},
        {"role": "user", "content": [RESULT]},
    ],
    [TOOL],
)


def refused(words, status=400, **fields):
    return failure_of_response(status, {"error": {"type": "invalid_request_error", "message": words, **fields}})


def learnt(words, facts=UNKNOWN, request=REQUEST, **fields):
    return refusal_in(refused(words, **fields), parts_of(request, facts), facts)


@pytest.mark.parametrize(
    ("words", "feature"),
    [
        ("system.0.cache_control: Extra inputs are not permitted", "cache"),
        ("messages.0.content.0.text.cache_control: Extra inputs are not permitted", "cache"),
        ("messages.2.content.0.tool_result.cache_control.ephemeral.ttl: Extra inputs are not permitted", "cache_ttl"),
        ('"llama3" does not support tools', "tools"),
        ("registry.ollama.ai/library/gemma:2b does not support tools", "tools"),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "tools"),
        ("Tool use is not supported for this model", "tools"),
        ("tools: Extra inputs are not permitted", "tools"),
        ("Function calling is not enabled for this model", "tools"),
        ("system: Input should be a valid string", "system"),
        ("[{'loc': ('body', 'system'), 'msg': 'str type expected'}]", "system"),
        ("anthropic-version: 2026-10-21 is not a valid version", "version"),
        ("messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "call_ids"),
    ],
)
def test_a_form_that_is_not_accepted_is_learnt(words, feature):
    assert learnt(words) == Refusal(feature)
    # It is learnt once: the second refusal with these words is about something else.
    assert learnt(words, without(UNKNOWN, Refusal(feature))) != Refusal(feature)


@pytest.mark.parametrize(
    "words",
    [
        "messages: at least one message is required",
        "tools.0.name: String should match pattern",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        "messages.2.content.0.text: cache_control cannot be set for empty text blocks",
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ],
)
def test_other_words_teach_nothing(words):
    assert learnt(words) is None


@pytest.mark.parametrize(
    ("words", "fields", "sizes"),
    [
        ("prompt is too long: 20100 tokens > 20000 maximum", {}, (20_100, 20_000)),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (808 in the "
            "messages, 8192 in the completion). Please reduce the length of the messages or completion.",
            {},
            (808, 8_192),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 "
            "tokens and your request has 300 input tokens (8192 > 8192 - 300).",
            {},
            (300, 8_192),
        ),
        (
            "This model's maximum context length is 8,192 tokens. However, your messages resulted in 10,000 tokens.",
            {},
            (10_000, 8_192),
        ),
        (
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of "
            "9000 tokens: 808 tokens from the input messages and 8192 tokens for the completion.",
            {},
            (808, 8_192),
        ),
        (
            "the request exceeds the available context size, try increasing it",
            {"n_prompt_tokens": 5_000, "n_ctx": 4_096},
            (5_000, 4_096),
        ),
        (
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            {},
            (5_000, 4_096),
        ),
        ("The model is loaded with context length of only 4096 tokens, which is not enough.", {}, (None, 4_096)),
    ],
)
def test_the_window_is_read_from_the_words_of_each_server(words, fields, sizes):
    failure = refused(words, **fields)
    assert isinstance(failure, ContextTooLongError)
    assert (failure.tokens, failure.limit) == sizes
    assert learnt(words, **fields) == Refusal("window", sizes[1])


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens", 4_096),
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens", 4_096),
        ("max_tokens must be less than or equal to 4,096", 4_096),
        ("Range of max_tokens should be [1, 2048]", 2_048),
        ("max_tokens is too large", 4_096),
    ],
)
def test_the_largest_answer_is_read(words, most):
    assert learnt(words) == Refusal("max_output", most)


def test_an_error_without_a_type_inside_a_stream_is_one_of_the_server():
    for body in ({"error": {"message": "CUDA out of memory"}}, {"error": "CUDA out of memory"}):
        failure = failure_of_response(200, body)
        assert type(failure) is ServerFaultError
        assert failure.explanation == "CUDA out of memory"
    assert type(failure_of_response(400, {"error": {"type": "api_error", "message": "no"}})) is BadRequestError


def sent(**facts):
    return parts_of(REQUEST, replace(UNKNOWN, **facts))


def test_without_marks_of_the_cache_everything_else_stays():
    assert "cache_control" not in str(sent(caches=False))
    short = sent(caches_long=False)
    assert "ttl" not in str(short)
    assert str(short).count("'cache_control': {'type': 'ephemeral'}") == 2


def test_without_tools_calls_and_results_are_text():
    parts = sent(takes_tools=False)
    assert "tools" not in parts
    kinds = [block["type"] for each in parts["messages"] for block in each["content"]]
    assert kinds == ["text", "image", "text", "text"]
    assert parts["messages"][1]["content"][0]["text"] == '[Called the tool look with {"a": 2, "b": 1}]'
    assert parts["messages"][2]["content"][0]["text"] == "[Result of the tool: Seen.]"


def test_system_text_is_one_string_where_a_list_is_refused():
    assert sent(takes_system_blocks=False)["system"] == "Be kind."


def test_the_first_version_is_named_where_the_newest_is_refused():
    assert sent(knows_version=False)["extra_headers"] == {"anthropic-version": "2023-06-01"}


def test_a_model_that_must_answer_is_offered_tools_that_it_may_not_call():
    asked = replace(REQUEST, must_answer=True)
    parts = parts_of(asked, UNKNOWN)
    assert parts["tools"] == sent()["tools"]
    assert parts["tool_choice"] == {"type": "none"}
    words = "tool_choice: Extra inputs are not permitted"
    assert learnt(words, request=asked) == Refusal("tool_choice")
    assert "tool_choice" not in parts_of(asked, without(UNKNOWN, Refusal("tool_choice")))


def test_plain_text_has_neither_blocks_nor_tools_nor_files():
    parts = parts_of(replace(REQUEST, is_plain=True), Facts())
    assert parts.keys() == {"model", "messages", "system", "max_tokens"}
    assert parts["system"] == "Be kind."
    assert [each["role"] for each in parts["messages"]] == ["user", "assistant", "user"]
    assert "Seen." in parts["messages"][2]["content"]
    assert "A file of the type image" in parts["messages"][0]["content"]
