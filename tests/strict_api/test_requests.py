"""What the strict server refuses before anything is answered: through the real SDK, over real HTTP."""

import base64
import json
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from tests.scripted import answer
from tests.strict_api import messages as rules
from tests.strict_api.client import (
    COMPACT,
    HAIKU,
    SONNET,
    assistant,
    call,
    calling,
    result,
    text,
    tool,
    user,
)
from tests.strict_api.models import MODELS

OLD = "claude-haiku-4-5"
UNKNOWN = "scripted-large"
FORCED = {"tools": [tool()], "tool_choice": {"type": "any"}}
OTHER_BETA = "context-management-2025-06-27"


@pytest.fixture(scope="module")
def caller():
    with calling() as caller:
        yield caller


def test_a_plain_request_is_answered(caller):
    answered = caller.say("Hello", model=UNKNOWN)
    assert [block.type for block in answered.content] == ["text"]
    assert answered.stop_reason == "end_turn"


# -- The shape -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"colour": "blue"}, "colour: Extra inputs are not permitted"),
        ({"temperature": "warm"}, "temperature: Input should be a valid number"),
        ({"thinking": {"type": "adaptive", "depth": 3}}, "thinking.adaptive.depth: Extra inputs are not permitted"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort: Input should be 'low', 'medium', 'high'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "colour": 1}]}]},
            "messages.0.content.0.text.colour: Extra inputs are not permitted",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "poem", "text": "x"}]}]},
            "messages.0.content.0: Input tag 'poem' found using 'type' does not match any of the expected tags",
        ),
        (
            {"messages": [{"role": "user", "content": "x", "id": 7}]},
            "messages.0.id: Extra inputs are not permitted",
        ),
        (
            {"messages": [{"role": "robot", "content": "x"}]},
            "messages.0: Input should be one of 'user', 'assistant', 'system'",
        ),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"tools": [{"name": "look"}]}, "tools.0.custom.input_schema: Field required"),
        ({"max_tokens": 1.5}, "max_tokens: Input should be a valid integer"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
    ],
)
def test_what_has_another_shape_is_refused_with_its_path(caller, body, message):
    assert caller.refusal("Hello", model=UNKNOWN, extra_body=body).startswith(message)


def test_a_field_of_a_beta_needs_the_beta(caller):
    assert "block_binding: Extra inputs" in caller.refusal(
        "Hello", extra_body={"thinking": {"type": "adaptive", "block_binding": {}}}
    )
    asked = {"compaction": {"type": "summarize"}}
    assert caller.refusal("Hello", extra_body=asked).endswith(f"requires anthropic-beta: {COMPACT}")
    refused = caller.refusal("Hello", betas=[OTHER_BETA], extra_body={"mcp_servers": []})
    assert refused == "mcp_servers: Extra inputs are not permitted"
    block = {"type": "compaction", "content": "x", "signature": "y"}
    assert "'compaction'" in caller.refusal(assistant(block), "Hello")
    assert "'compaction' is not one of" in caller.refusal(assistant(block), "Hello", betas=[OTHER_BETA])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"thinking": {"type": "adaptive", "block_binding": {}}}, "thinking.adaptive.block_binding: Extra inputs"),
        ({"thinking": {"type": "adaptive", "display": "updates"}}, "thinking.display: Input should be"),
        (
            {"output_config": {"task_budget": {"type": "tokens", "total": 50_000}}},
            "output_config.task_budget: Extra inputs are not permitted",
        ),
        (
            {"messages": [user("x"), {"role": "system", "content": "Be brief.", "clear_at": "next_user_message"}]},
            "messages.1.clear_at: Extra inputs are not permitted",
        ),
        (
            {"messages": [user("x"), {"role": "system", "content": [], "output_config": {"effort": "low"}}]},
            "messages.1.output_config: Extra inputs are not permitted",
        ),
        ({"compaction": {"type": "summarize"}}, f"The `compaction` parameter requires anthropic-beta: {COMPACT}"),
    ],
)
def test_another_beta_does_not_allow_it(caller, body, message):
    assert caller.refusal("Hello", betas=[OTHER_BETA], extra_body=body).startswith(message)


def test_the_betas_of_claude_code_and_of_the_sdks_are_accepted(caller):
    sent = (
        "claude-code-20250219,oauth-2025-04-20,interleaved-thinking-2025-05-14,thinking-token-count-2026-05-13,"
        "context-management-2025-06-27,prompt-caching-scope-2026-01-05,mid-conversation-system-2026-04-07,"
        "per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,inline-tools-2026-09-15,"
        "advisor-tool-2026-03-01,advanced-tool-use-2025-11-20,mid-conversation-system-clear-at-2026-08-21,"
        "effort-2025-11-24,thinking-binding-controls-2026-08-01,thinking-display-updates-2026-08-18,"
        "extended-cache-ttl-2025-04-11,cache-diagnosis-2026-04-07,message-threads-2026-08-12"
    )
    assert caller.say("Hello", betas=sent.split(",")).content[-1].type == "text"


@pytest.mark.parametrize("id", ["", "call_1+/=", "gemini.1", "a" * 65])
def test_an_odd_id_of_a_call_is_refused(caller, id):
    asked = [user("Look"), assistant({"type": "tool_use", "id": id, "name": "look", "input": {}}), user(result(id))]
    assert "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'" in caller.refusal(*asked, model=UNKNOWN)


@pytest.mark.parametrize("block", [{"type": "hologram", "text": "x"}, {"type": "text", "text": "x", "colour": "red"}])
def test_an_unknown_block_or_field_is_refused(caller, block):
    assert "messages.0.content.0" in caller.refusal({"role": "user", "content": [block]})


def test_an_unknown_beta_is_refused(caller):
    refused = caller.refusal("Hello", betas=["time-travel-2027-01-01"])
    assert refused.startswith("Unexpected value(s) `time-travel-2027-01-01` for the `anthropic-beta` header.")


def test_a_request_of_more_than_32_megabytes_is_refused(caller):
    assert "maximum size" in caller.refusal("x" * (32 * 1024 * 1024), status=413, model=UNKNOWN)


# -- Parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "body", "message"),
    [
        (SONNET, {"thinking": {"type": "disabled"}}, '"thinking.type.disabled" is not supported for this model. Use'),
        ("claude-opus-5-5", {"thinking": {"type": "disabled"}}, '"thinking.type.disabled" is not supported'),
        (HAIKU, {"thinking": {"type": "between_tools"}}, '"thinking.type.between_tools" is not supported'),
        (SONNET, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, '"thinking.type.enabled" is not supported'),
        ("claude-opus-4-7", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, '"thinking.type.enabled"'),
        (OLD, {"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
        (OLD, {"thinking": {"type": "enabled", "budget_tokens": 1000}}, "thinking.enabled.budget_tokens: Input should"),
        (OLD, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "`max_tokens` must be greater than"),
        (OLD, {"output_config": {"effort": "low"}}, "This model does not support the effort parameter."),
        (
            SONNET,
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}},
            "output_config.effort 'max' is not supported when thinking is disabled",
        ),
        (SONNET, {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        (SONNET, {"top_k": 5}, "`top_k` is deprecated for this model."),
        (UNKNOWN, {"temperature": 2}, "temperature: range: 0..1"),
        (UNKNOWN, {"thinking": {"type": "adaptive"}, "temperature": 0}, "`temperature` may not be changed when"),
        (UNKNOWN, {"thinking": {"type": "adaptive"}, "top_p": 0.5}, "`top_p` must be greater than or equal to 0.95"),
        (
            "claude-opus-5",
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "xhigh"}},
            "output_config.effort 'xhigh' is not supported when thinking is disabled",
        ),
        (
            OLD,
            {"thinking": {"type": "enabled", "budget_tokens": 5000}, "max_tokens": 9000, **FORCED},
            "Thinking may not",
        ),
        (SONNET, {"max_tokens": 128_001}, "max_tokens: 128001 > 128000, which is the maximum allowed number of output"),
        (SONNET, {"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        (SONNET, {"stop_sequences": [" "]}, "stop_sequences: each stop sequence must contain non-whitespace"),
        (SONNET, {"tool_choice": {"type": "none"}}, "tool_choice: `tool_choice` may only be specified while providing"),
        (SONNET, {"tools": [tool()], "tool_choice": {"type": "any"}}, 'tool_choice: type "tool" and "any" are not'),
        (UNKNOWN, {"tools": [tool()], "tool_choice": {"type": "tool", "name": "run"}}, "tool_choice.name: Tool 'run'"),
        (UNKNOWN, {"tools": [tool(), tool()]}, "tools: Tool names must be unique."),
        (UNKNOWN, {"tools": [tool("look around")]}, "tools.0.custom.name: String should match pattern"),
        (UNKNOWN, {"tools": [tool(input_schema={"properties": {}})]}, "tools.0.custom.input_schema.type"),
    ],
)
def test_what_the_model_does_not_accept_is_refused(caller, model, body, message):
    assert caller.refusal("Hello", model=model, extra_body=body).startswith(message)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (HAIKU, {"thinking": {"type": "disabled"}}),
        (SONNET, {"thinking": {"type": "between_tools"}}),
        (SONNET, {"output_config": {"effort": "max"}}),
        (OLD, {"temperature": 0.5}),
        (HAIKU, {"thinking": {"type": "disabled"}, "tools": [tool()], "tool_choice": {"type": "any"}}),
        (HAIKU, {"tools": [tool()], "tool_choice": {"type": "any"}}),
        (SONNET, {"tools": [tool()], "tool_choice": {"type": "none"}}),
    ],
)
def test_what_the_model_accepts_is_answered(caller, model, body):
    assert caller.say("Hello", model=model, extra_body=body).content[-1].type == "text"


# -- Messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "messages: at least one message is required"),
        ([assistant("Hello")], 'messages: first message must use the "user" role'),
        ([user("")], "messages: text content blocks must be non-empty"),
        (["  \n"], "messages: text content blocks must contain non-whitespace text"),
        ([{"role": "user", "content": []}], "messages.0: all messages must have non-empty content"),
        ([{"role": "user", "content": ""}], "messages.0: all messages must have non-empty content"),
        (["Hello", assistant("Once upon")], "This model does not support assistant message prefill."),
        (["Hello", assistant(call()), "And?"], "messages.2: `tool_use` ids were found without `tool_result` blocks"),
        (["Hello", assistant(call())], "messages.1: `tool_use` ids were found without `tool_result` blocks"),
        (
            ["Hello", assistant(call()), user("So:", result())],
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        ),
        (
            ["Hello", assistant(call("a"), call("b")), user(result("a"))],
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: b",
        ),
        (["Hello", assistant("Hi"), user(result())], "messages.2.content.0: unexpected `tool_use_id` found in"),
        ([user(result())], "messages.0.content.0: unexpected `tool_use_id` found in"),
        (
            ["Hello", assistant(call()), user(result(), result())],
            "messages.2.content.1: each tool_use must have a single result.",
        ),
        (
            ["Hello", assistant(call(), call()), user(result())],
            "messages.1.content.1: `tool_use` ids must be unique",
        ),
        (["Hello", assistant(call("a b")), user(result("a b"))], "messages.1.content.0.tool_use.id: String should"),
        ([user(call())], "messages.0.content.0: `tool_use` blocks can only be specified in `assistant` messages"),
        (
            ["Hello", assistant({"type": "thinking", "thinking": "", "signature": "x"}), "Go on."],
            "messages.1: The final block in an assistant message cannot be `thinking`.",
        ),
        (
            [{"role": "system", "content": "Be kind."}, "Hello"],
            'messages.0.role: "system" is not allowed here.',
        ),
        (
            ["Hello", assistant(call()), user({**result(words=""), "is_error": True})],
            "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
        ),
        ([user(result(words=[text("")]))], "messages: text content blocks must be non-empty"),
        ([user({"type": "text", "text": "", "cache_control": {"type": "ephemeral"}})], "messages.0.content.0: cache_"),
    ],
)
def test_messages_that_break_a_rule_are_refused(caller, messages, message):
    assert caller.refusal(*messages, model=UNKNOWN).startswith(message)


def test_instructions_in_the_middle_are_for_newer_models(caller):
    told = [user("Hello"), {"role": "system", "content": "Be brief."}]
    caller.say(*told, model="claude-opus-4-8")
    assert caller.refusal(*told, model="claude-opus-4-7").startswith('messages.1.role: "system" is not allowed here.')


def test_the_number_of_messages_and_images_and_their_size_are_limited(caller, monkeypatch):
    monkeypatch.setattr(rules, "MESSAGES_MAX_COUNT", 2)
    assert "at most 2 messages" in caller.refusal("a", "b", "c", model=UNKNOWN)
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    image = {"type": "image", "source": source}
    monkeypatch.setattr(rules, "IMAGES_MAX_COUNT", 1)
    caller.say(user(image), model=UNKNOWN)
    assert "too many images: 2 > 1" in caller.refusal(user(image, image), model=UNKNOWN)
    monkeypatch.setattr(rules, "IMAGE_MAX_CHARS", 3)
    assert "exceeds 10 MB" in caller.refusal(user(image), model=UNKNOWN)


def test_messages_of_one_role_in_a_row_are_one_turn(caller):
    caller.say("Hello", "are you there?", model=UNKNOWN)
    calls = [assistant(call("a")), assistant(call("b")), user(result("a")), user(result("b"), "Well?")]
    caller.say("Hello", *calls, model=UNKNOWN)


def test_an_empty_system_block_is_refused(caller):
    refused = caller.refusal("Hello", model=UNKNOWN, system=[{"type": "text", "text": ""}])
    assert refused == "system: text content blocks must be non-empty"


def test_old_models_continue_a_prefilled_answer(caller):
    caller.say("Hello", assistant("Once upon"), model=OLD)
    assert "trailing whitespace" in caller.refusal("Hello", assistant("Once "), model=OLD)


# -- Marks of the cache --------------------------------------------------------------------------


def test_at_most_four_marks(caller):
    marked = [text(f"{n}", "5m") for n in range(4)]
    caller.say(user(*marked), model=UNKNOWN)
    refused = caller.refusal(user(*marked), model=UNKNOWN, system=[text("Be kind.", "5m")])
    assert refused == "A maximum of 4 blocks with cache_control may be provided. Found 5."


def test_long_marks_come_before_short_ones(caller):
    caller.say(user(text("x", "5m")), model=UNKNOWN, system=[text("Be kind.", "1h")])
    refused = caller.refusal(user(text("x", "1h")), model=UNKNOWN, system=[text("Be kind.", "5m")])
    assert refused.startswith("messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come")


def test_thinking_takes_no_mark(caller):
    block = {"type": "thinking", "thinking": "", "signature": "x", "cache_control": {"type": "ephemeral"}}
    refused = caller.refusal("Hello", assistant(block, "Hi"), "And?")
    assert refused == "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"


# -- The window ----------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_window_is_refused():
    small = {SONNET: replace(MODELS[SONNET], window_tokens=1000)}
    with calling(models_facts=small) as caller:
        refused = caller.refusal("x" * 3100)
        assert refused == "prompt is too long: 1004 tokens > 1000 maximum"
        caller.say("x" * 3000)


def test_an_answer_ends_at_the_windows_end():
    small = {SONNET: replace(MODELS[SONNET], window_tokens=1300)}
    with calling(answer("y" * 3100), models_facts=small) as caller:
        answered = caller.say("x" * 3000, max_tokens=8000)
    assert answered.stop_reason == "model_context_window_exceeded"
    assert answered.usage.input_tokens + answered.usage.output_tokens == 1300


def test_before_claude_4_5_input_and_max_tokens_share_the_window(caller):
    refused = caller.refusal("x" * 600_000, model="claude-opus-4-1", max_tokens=10_000)
    assert refused.startswith("input length and `max_tokens` exceed context limit: 193553 + 10000 > 200000")


# -- Counting ------------------------------------------------------------------------------------


def counted(caller, *messages, **others):
    messages = [{"role": "user", "content": each} for each in messages]
    return caller.client.messages.count_tokens(model=SONNET, messages=messages, **others).input_tokens


def test_tokens_are_those_of_the_answers_usage(caller):
    words = "Grüezi, 東京!"
    assert counted(caller, words) == caller.say(words).usage.input_tokens == 4 + 2 + 4
    assert counted(caller, words, system="Be kind.") == 10 + 3


def test_images_and_documents_have_tokens(caller):
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (750).to_bytes(4) + (100).to_bytes(4) + b"\x08\x02"
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
    assert counted(caller, [{"type": "image", "source": image}]) == 4 + 100
    pdf = base64.b64encode(b"%PDF-1.7 /Type /Pages /Type /Page /Type/Page ").decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": pdf}
    assert counted(caller, [{"type": "document", "source": source}]) == 4 + 2 * 2000


def test_other_images_and_documents_have_tokens_too(caller):
    def image(data):
        return [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": data}}]

    def document(source):
        return [{"type": "document", "source": source}]

    gif = b"GIF89a" + (300).to_bytes(2, "little") + (250).to_bytes(2, "little")
    jpeg = b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08" + (250).to_bytes(2) + (300).to_bytes(2)
    assert counted(caller, image(base64.b64encode(gif).decode())) == 4 + 100
    assert counted(caller, image(base64.b64encode(jpeg).decode())) == 4 + 100
    assert counted(caller, image("AAAA")) == 4 + 1600
    words = {"type": "text", "media_type": "text/plain", "data": "x" * 310}
    assert counted(caller, document(words)) == 4 + 100
    assert counted(caller, document({"type": "content", "content": [text("x" * 310)]})) == 4 + 100
    assert counted(caller, document({"type": "url", "url": "https://example.org/a.pdf"})) == 4 + 2000


def test_counting_is_strict_too(caller):
    import anthropic

    with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
        counted(caller, "Hello", extra_body={"max_tokens": 5})
    with pytest.raises(anthropic.BadRequestError, match="non-empty"):
        counted(caller, [text("")])


# -- Models --------------------------------------------------------------------------------------


def test_models_say_what_they_can_do(caller):
    info = caller.client.models.retrieve(SONNET)
    assert (info.max_input_tokens, info.max_tokens, info.line) == (1_000_000, 128_000, "sonnet")
    assert info.capabilities.thinking.types.adaptive.supported
    assert not info.capabilities.thinking.types.disabled.supported
    assert info.capabilities.effort.max.supported
    assert [model.id for model in caller.client.models.list()] == ["scripted-large", "scripted-small"]
    beta = caller.client.beta.models.retrieve(HAIKU, betas=[COMPACT])
    assert beta.capabilities.compaction.summarize.supported


def test_an_unknown_model_is_not_found(caller):
    import anthropic

    with pytest.raises(anthropic.NotFoundError):
        caller.client.models.retrieve("claude-nothing-9")


# -- A plain server ------------------------------------------------------------------------------


def test_a_plain_server_knows_no_newer_field():
    import anthropic

    with calling(plain=True) as caller:
        answered = caller.say(user(text("Hello", "5m")))
        assert [block.type for block in answered.content] == ["text"]
        assert answered.usage.cache_creation_input_tokens == 0
        refused = caller.refusal("Hello", output_config={"effort": "low"})
        assert refused == "output_config: Extra inputs are not permitted"
        assert "'adaptive'" in caller.refusal("Hello", thinking={"type": "adaptive"})
        assert "compaction" in caller.refusal("Hello", betas=[COMPACT], compaction={"type": "summarize"})
        with pytest.raises(anthropic.NotFoundError):
            counted(caller, "Hello")
        assert all(model.capabilities is None for model in caller.client.models.list())


def test_an_error_has_the_form_of_the_api(caller):
    request = urllib.request.Request(f"{caller.model.url}/v1/messages", b"{}", {"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(request, timeout=5)
    body = json.load(failed.value)
    failed.value.close()
    assert body["type"] == "error"
    assert body["error"]["type"] == "invalid_request_error"
    assert body["request_id"] == failed.value.headers["request-id"]
