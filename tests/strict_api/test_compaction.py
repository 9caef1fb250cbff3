"""Compaction on demand on the strict server: the signed block, and each of its errors."""

from dataclasses import replace

import anthropic
import pytest

from tests.scripted import answer, error, tool_use
from tests.strict_api.client import (
    COMPACT,
    SONNET,
    assistant,
    call,
    calling,
    said,
    tool,
    user,
)
from tests.strict_api.models import MODELS

SUMMARIZE = {"compaction": {"type": "summarize"}, "betas": [COMPACT]}
BETA = {"betas": [COMPACT]}


@pytest.fixture
def caller():
    with calling() as caller:
        yield caller


def talked(caller, turns=2, **others):
    messages = []
    for turn in range(turns):
        messages += [user(f"Question {turn}")]
        messages += [said(caller.say(*messages, **others))]
    return messages


def compacted(caller, messages, **others):
    caller.model.script(answer("They asked questions."))
    return said(caller.say(*messages, **SUMMARIZE, **others))


def test_a_summary_is_one_signed_block(caller):
    caller.model.script(answer("They asked questions."))
    answered = caller.say("Hello", assistant("Hi"), "And?", model="claude-opus-4-8", **SUMMARIZE)
    assert answered.stop_reason == "compaction"
    assert [(block.type, block.content) for block in answered.content] == [("compaction", "They asked questions.")]
    assert (answered.usage.input_tokens, answered.usage.output_tokens) == (0, 0)
    [spent] = answered.usage.iterations
    assert (spent.type, spent.output_tokens) == ("compaction", 7)
    assert spent.input_tokens > 0


def test_a_stream_brings_the_block_whole(caller):
    caller.model.script(answer("They asked questions."))
    body = {"model": SONNET, "max_tokens": 1000, "messages": [user("Hello")]}
    with caller.client.beta.messages.stream(**body, **SUMMARIZE) as stream:
        events = [event.type for event in stream]
        whole = stream.get_final_message()
    assert "content_block_delta" not in events
    assert whole.content[0].content == "They asked questions."
    assert whole.stop_reason == "compaction"


def test_tools_may_have_any_json_schema(caller):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = {"name": "look", "description": "Looks.", "input_schema": schema}
    messages = talked(caller, tools=[tool])
    caller.say(compacted(caller, messages, tools=[tool]), "And now?", tools=[tool], **BETA)


def test_the_conversation_goes_on_from_the_block(caller):
    block = compacted(caller, talked(caller))
    caller.say(block, "And now?", **BETA)
    caller.say({"role": "user", "content": [*block["content"], {"type": "text", "text": "And now?"}]}, **BETA)
    block = compacted(caller, [block, user("And now?")])
    caller.say(block, "And then?", **BETA)


def test_thinking_of_kept_turns_stays_valid(caller):
    messages = talked(caller, 4, system="Be kind.")
    block = compacted(caller, messages[:4], system="Be kind.")
    kept = [block, *messages[4:], user("And now?")]
    answered = caller.say(*kept, system="Be kind.", **BETA)
    caller.say(*kept, said(answered), "And then?", system="Be kind.", **BETA)
    assert "bound to a different" in caller.refusal(*kept, system="Be brief.", **BETA)
    between = [block, user("By the way"), *messages[4:], user("And now?")]
    assert "bound to a different" in caller.refusal(*between, system="Be kind.", **BETA)


def test_kept_turns_begin_with_the_other_role(caller):
    messages = talked(caller, 3)
    block = compacted(caller, messages[:3])
    caller.say(block, *messages[3:], "And now?", **BETA)
    block = compacted(caller, messages[:1])
    again = [block, user("Question 0"), *messages[1:], user("And now?")]
    assert "bound to a different" in caller.refusal(*again, **BETA)


@pytest.mark.parametrize(
    ("reply", "stop_reason"),
    [
        (answer("x" * 4000), "max_tokens"),
        (answer(tool_use("look", {})), "tool_use"),
        (answer("No.", stop_reason="refusal"), "refusal"),
        (answer(), "end_turn"),
    ],
)
def test_no_block_comes_when_the_summary_fails(caller, reply, stop_reason):
    caller.model.script(reply)
    answered = caller.say("Hello", **SUMMARIZE, tools=[tool()])
    assert (answered.content, answered.stop_reason) == ([], stop_reason)
    assert answered.usage.iterations[0].input_tokens > 0


def test_the_errors_of_a_request_for_a_summary(caller):
    assert caller.code("Hello", assistant(call()), **SUMMARIZE) == "compaction_incomplete_turn"
    assert caller.code(**SUMMARIZE) == "compaction_nothing_to_summarize"
    assert "not supported" in caller.refusal("Hello", model="claude-haiku-4-5", **SUMMARIZE)
    assert "`stop_sequences` cannot be combined" in caller.refusal("Hello", stop_sequences=["END"], **SUMMARIZE)
    managed = {"context_management": {"edits": []}, "betas": [COMPACT, "context-management-2025-06-27"]}
    caller.say("Hello", **managed)
    both = {**SUMMARIZE, **managed, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
    assert "`context_management` cannot be combined" in caller.refusal("Hello", **both)
    forced = {"tools": [tool()], "tool_choice": {"type": "any"}}
    assert "`tool_choice` cannot be combined" in caller.refusal("Hello", model="scripted-large", **forced, **SUMMARIZE)
    long = {**SUMMARIZE, "compaction": {"type": "summarize", "instructions": "x" * 16_385}}
    assert "16384 characters" in caller.refusal("Hello", **long)
    unavailable = {"error_code": "compaction_unavailable"}
    caller.model.script(error(529, "overloaded_error", "Retry the request.", details=unavailable))
    assert caller.code("Hello", **SUMMARIZE) == "compaction_unavailable"


def test_the_errors_of_a_block_that_is_sent_back(caller):
    block = compacted(caller, talked(caller))
    content = block["content"][0]

    def changed(**others):
        return assistant({**content, **others})

    assert caller.code("Hello", block, "And?", **BETA) == "compaction_block_misplaced"
    assert caller.code(assistant("Hi", content), "And?", **BETA) == "compaction_block_misplaced"
    assert caller.code(block, block, "And?", **BETA) == "compaction_block_ambiguous"
    assert caller.code(changed(content="They sang."), "And?", **BETA) == "compaction_content_mismatch"
    assert caller.code(changed(signature="c2lnbmVk"), "And?", **BETA) == "compaction_signature_invalid"
    added = [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}]
    changes = {"tool_changes": added, "betas": [COMPACT, "mid-conversation-tool-changes-2026-07-01"]}
    assert (
        caller.code(changed(tool_changes=added), "And?", betas=changes["betas"]) == "compaction_tool_changes_mismatch"
    )
    refused = caller.refusal(changed(citations=None), "And?", **BETA)
    assert refused == "messages.0.content.0.compaction.citations: Extra inputs are not permitted"
    assert "'compaction'" in caller.refusal(block, "And?")


def test_thinking_is_bound_to_the_block_before_it(caller):
    messages = talked(caller)
    first = compacted(caller, messages)
    later = [user("And now?"), said(caller.say(first, "And now?", **BETA))]
    # Thinking from before the block stays valid with and without it; thinking from after it needs it, or its successor.
    caller.say(*messages, "And now?")
    assert "bound to a different" in caller.refusal(*messages, *later, "And then?")
    caller.say(first, *later, "And then?", **BETA)
    second = compacted(caller, [first, later[0]])
    caller.say(second, later[1], "And then?", **BETA)
    other = compacted(caller, [*messages, later[0]])
    assert "bound to a different" in caller.refusal(other, later[1], "And then?", **BETA)


def test_a_signed_block_needs_its_own_beta(caller):
    block = compacted(caller, talked(caller))
    threshold = {"betas": ["compact-2026-01-12"]}
    refused = caller.refusal(block, "And?", **threshold)
    assert refused == "messages.0.content.0.compaction.signature: Extra inputs are not permitted"


def test_a_signed_block_comes_back_with_nothing_added(caller):
    block = compacted(caller, talked(caller))
    [content] = block["content"]
    assert caller.code(assistant({**content, "tool_changes": []}), "And?", **BETA) == "compaction_tool_changes_mismatch"
    assert caller.code(assistant({**content, "encrypted_content": "eA=="}), "And?", **BETA) == (
        "compaction_signature_invalid"
    )
    assert "at least 1 character" in caller.refusal(assistant({**content, "content": ""}), "And?", **BETA)
    # A cache mark is not of the block.
    caller.say(assistant({**content, "cache_control": {"type": "ephemeral"}}), "And?", **BETA)


def test_what_cannot_be_sent_with_a_summary_or_its_block(caller):
    block = compacted(caller, talked(caller))
    budget = {"output_config": {"task_budget": {"type": "tokens", "total": 50_000, "remaining": 20_000}}}
    betas = [COMPACT, "task-budgets-2026-03-13", "context-management-2025-06-27", "compact-2026-01-12"]
    assert "`compaction` block" in caller.refusal(block, "And?", **budget, betas=betas)
    both = {"compaction": SUMMARIZE["compaction"], "betas": betas}
    assert "cannot be combined with `compaction`" in caller.refusal("Hello", **budget, **both)
    edits = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    assert "`compact_20260112`" in caller.refusal(block, "And?", **edits, betas=betas)
    caller.say("Hello", **edits, betas=betas)
    caller.say("Hello", output_config={"task_budget": {"type": "tokens", "total": 50_000}}, **both)


def test_without_room_for_the_prompt_no_summary_is_begun():
    small = {SONNET: replace(MODELS[SONNET], window_tokens=1_000)}
    with calling(models_facts=small) as caller:
        answered = caller.say("word " * 400, **SUMMARIZE)
        assert (answered.content, answered.stop_reason) == ([], "model_context_window_exceeded")
        [spent] = answered.usage.iterations
        assert (spent.input_tokens, spent.output_tokens) == (0, 0)
        short = {**SUMMARIZE, "compaction": {"type": "summarize", "instructions": "Names."}}
        caller.model.script(answer("They spoke."))
        assert caller.say("word " * 400, **short).stop_reason == "compaction"


def test_counting_ignores_the_request_for_a_summary(caller):
    body = {"model": SONNET, "messages": [user("Hello"), assistant("Hi."), user("And?")]}
    count = caller.client.beta.messages.count_tokens
    assert count(**body, **SUMMARIZE).input_tokens == count(**body).input_tokens


def test_the_models_endpoint_speaks_of_summaries_only_under_the_beta(caller):
    told = caller.client.beta.models.retrieve(SONNET, betas=[COMPACT])
    assert told.capabilities.compaction.summarize.supported
    assert caller.client.beta.models.retrieve(SONNET).capabilities.compaction is None
    with pytest.raises(anthropic.BadRequestError):
        caller.client.beta.models.list(betas=["compact-2020-01-01"])
