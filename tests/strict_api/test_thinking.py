"""Thinking on the strict server: by default, signed, bound to what stands before it, and within max_tokens."""

from contextlib import contextmanager

import pytest

from tests.scripted import answer, thinking, tool_use
from tests.strict_api.client import (
    BINDING,
    DROP,
    HAIKU,
    SONNET,
    assistant,
    calling,
    result,
    said,
    text,
    tool,
    user,
)

BOUND = "The block is bound to a different conversation."


@pytest.fixture
def caller():
    with calling() as caller:
        yield caller


@contextmanager
def conversation(turns, **others):
    """Yield a caller and the messages of a conversation of so many turns, each with a thought."""
    with calling(*[answer(thinking("I consider it."), "Hello.") for _ in range(turns)]) as caller:
        messages = []
        for turn in range(turns):
            messages += [user(f"Question {turn}")]
            messages += [said(caller.say(*messages, **others))]
        yield caller, messages


# -- By default ----------------------------------------------------------------------------------


def kinds(answered):
    return [block.type for block in answered.content]


def test_newer_models_think_unless_they_are_asked_not_to(caller):
    assert kinds(caller.say("Hello")) == ["thinking", "text"]
    assert kinds(caller.say("Hello", thinking={"type": "adaptive"})) == ["thinking", "text"]
    assert kinds(caller.say("Hello", thinking={"type": "between_tools"})) == ["text"]
    assert kinds(caller.say("Hello", model=HAIKU)) == ["thinking", "text"]
    assert kinds(caller.say("Hello", model=HAIKU, thinking={"type": "disabled"})) == ["text"]
    assert kinds(caller.say("Hello", model="claude-opus-4-8")) == ["text"]
    assert kinds(caller.say("Hello", model="claude-haiku-5-5-20260901")) == ["thinking", "text"]
    assert kinds(caller.say("Hello", model="scripted-large")) == ["text"]


def test_the_text_of_thinking_comes_only_when_asked_for(caller):
    caller.model.script(*[answer(thinking("Tea, then."), "Tea.") for _ in range(3)])
    hidden = caller.say("Hello").content[0]
    assert (hidden.thinking, bool(hidden.signature)) == ("", True)
    shown = caller.say("Hello", thinking={"type": "adaptive", "display": "summarized"}).content[0]
    assert shown.thinking == "Tea, then."
    assert caller.say("Hello", thinking={"type": "adaptive", "display": "omitted"}).content[0].thinking == ""


def test_thinking_counts_toward_max_tokens(caller):
    whole = caller.say("Hello", max_tokens=1000)
    assert whole.usage.output_tokens_details.thinking_tokens == 200
    assert whole.usage.output_tokens > 200
    for room in (60, 200):
        cut = caller.say("Hello", max_tokens=room)
        assert kinds(cut) == ["thinking"]
        assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", room)
    part = caller.say("Hello", max_tokens=203)
    assert part.stop_reason == "max_tokens"
    assert part.content[1].text == "Hello fro"


def test_an_answer_longer_than_max_tokens_is_cut(caller):
    caller.model.script(answer("y" * 3100))
    cut = caller.say("Hello", model="scripted-large", max_tokens=100)
    assert (cut.stop_reason, cut.content[0].text) == ("max_tokens", "y" * 310)


def test_a_request_without_output_only_warms_the_cache(caller):
    warmed = caller.say("Hello", max_tokens=0)
    assert (warmed.content, warmed.stop_reason, warmed.usage.output_tokens) == ([], "max_tokens", 0)


def test_a_stream_brings_the_signature_before_the_text(caller):
    with caller.client.messages.stream(model=SONNET, max_tokens=1000, messages=[user("Hello")]) as stream:
        kinds_of_events = [event.type for event in stream if event.type in ("signature", "text")]
        whole = stream.get_final_message()
    assert kinds_of_events[0] == "signature"
    assert whole.usage.output_tokens_details.thinking_tokens == 200
    caller.say("Hello", said(whole), "And?")


# -- Bound to what stands before -----------------------------------------------------------------


def test_a_conversation_that_only_grows_is_accepted():
    with conversation(4, system="Be kind.", tools=[tool()]) as (caller, messages):
        caller.say(*messages, "And?", system=[text("Be kind.", "1h")], tools=[tool()], output_config={"effort": "low"})


@pytest.mark.parametrize("switched_off", [{}, {"thinking": {"type": "between_tools"}}])
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda messages, others: others.update(system="Be brief."), "`system`"),
        (lambda messages, others: others.update(tools=[]), "`tools`"),
        (lambda messages, others: others.update(tools=[tool(), tool("run")]), "`tools`"),
        (lambda messages, others: others["tools"][0].update(description="Sees."), "`tools`"),
        (lambda messages, others: messages[0].update(content="Another question"), "an earlier message"),
        (lambda messages, others: messages.insert(2, user("By the way")), "an earlier message"),
        (lambda messages, others: messages[2]["content"].append(text("Today is Monday.")), "an earlier message"),
        (lambda messages, others: messages[1]["content"][1].update(text="Bye."), "an earlier message"),
        (lambda messages, others: messages.__delitem__(slice(0, 2)), "an earlier message"),
    ],
)
def test_a_change_before_thinking_is_refused(change, what, switched_off):
    others = {"system": "Be kind.", "tools": [tool()]}
    with conversation(3, **others) as (caller, messages):
        change(messages, others)
        refused = caller.refusal(*messages, "And?", **others, **switched_off)
    assert BOUND in refused
    assert refused.startswith("messages.")
    assert refused.endswith(f"What changed: {what}.")


def test_the_oldest_thinking_may_be_left_out_but_none_from_the_middle():
    with conversation(3) as (caller, messages):
        del messages[1]["content"][0]
        caller.say(*messages, "And?")
        del messages[3]["content"][0]
        caller.say(*messages, "And?")
    with conversation(3) as (caller, messages):
        del messages[3]["content"][0]
        assert caller.refusal(*messages, "And?").endswith("What changed: an earlier thinking block.")


def test_a_signature_of_another_server_is_refused(caller):
    forged = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}
    refused = caller.refusal("Hello", assistant(forged, "Hi"), "And?")
    assert refused == "messages.1.content.0: Invalid `signature` in `thinking` block"
    caller.say("Hello", assistant(forged, "Hi"), "And?", model="scripted-large")


def test_redacted_thinking_that_the_server_did_not_make_is_refused(caller):
    refused = caller.refusal("Hello", assistant({"type": "redacted_thinking", "data": "x"}, "Hi"), "And?")
    assert refused == "messages.1.content.0: Invalid `signature` in `redacted_thinking` block"


def test_thinking_that_was_shown_must_come_back_unchanged():
    shown = {"thinking": {"type": "adaptive", "display": "summarized"}}
    with conversation(1, **shown) as (caller, messages):
        caller.say(*messages, "And?")
        messages[1]["content"][0]["thinking"] = "Something else"
        assert "Invalid `signature`" in caller.refusal(*messages, "And?")
    with conversation(1) as (caller, messages):
        messages[1]["content"][0]["thinking"] = "Ignored, because it was omitted"
        caller.say(*messages, "And?")


def test_a_later_block_of_the_same_answer_is_bound_to_the_blocks_before_it(caller):
    caller.model.script(answer(thinking("One."), "First.", thinking("Two."), "Second."))
    messages = [user("Hello"), said(caller.say("Hello"))]
    assert [block["type"] for block in messages[1]["content"]] == ["thinking", "text", "thinking", "text"]
    caller.say(*messages, "And?")
    messages[1]["content"][1]["text"] = "Changed."
    assert caller.refusal(*messages, "And?").startswith("messages.1.content.2: Invalid `signature`")


# -- Dropped -------------------------------------------------------------------------------------


def test_mismatches_are_dropped_when_the_request_asks_for_it():
    with conversation(2, system="Be kind.") as (caller, messages):
        answered = caller.say(*messages, "And?", system="Be brief.", thinking=DROP, betas=[BINDING])
        found = [(each.path, each.reason) for each in answered.input_transformations]
        assert found == [(f"messages.{i}.content.0", "prefix_binding_mismatch") for i in (1, 3)]
        # What was made after the change stays valid, beside what is dropped again.
        messages += [user("And?"), said(answered)]
        again = caller.say(*messages, "And?", system="Be brief.", thinking=DROP, betas=[BINDING])
        assert len(again.input_transformations) == 2
        assert "drop_block" in caller.refusal(*messages, "And?", system="Be brief.")


def test_dropped_thinking_costs_nothing():
    with conversation(1) as (caller, messages):
        whole = caller.say(*messages, "And?").usage.input_tokens
        messages[0] = user("Question X")
        dropped = caller.say(*messages, "And?", thinking=DROP, betas=[BINDING]).usage.input_tokens
    assert whole - dropped == 200


def test_thinking_of_another_model_is_dropped_silently():
    with conversation(2) as (caller, messages):
        answered = caller.say(*messages, "And?", model=HAIKU)
        messages += [user("And?"), said(answered)]
        caller.say(*messages, "And?", model=HAIKU)
        reported = caller.say(*messages, "And?", model=HAIKU, thinking={"type": "adaptive"}, betas=[BINDING])
        reasons = [each.reason for each in reported.input_transformations]
        assert reasons == ["model_binding_mismatch"] * 2
        # And the first model still reads its own.
        caller.say(*messages, "And?")


def test_sonnet_reads_and_checks_the_thinking_of_haiku():
    with conversation(2, model=HAIKU) as (caller, messages):
        reads = caller.say(*messages, "And?", thinking={"type": "adaptive"}, betas=[BINDING])
        assert not reads.input_transformations
        messages[0] = user("Another question")
        assert "messages.1.content.0: Invalid `signature`" in caller.refusal(*messages, "And?")


def test_bytes_are_compared():
    with conversation(2) as (caller, messages):
        messages[0]["content"] = [dict(reversed(block.items())) for block in messages[0]["content"]]
        assert "What changed: an earlier message." in caller.refusal(*messages, "And?")


# -- Rounds of tools -----------------------------------------------------------------------------


def test_a_round_of_tools_keeps_its_thinking(caller):
    caller.model.script(answer("Let me look.", tool_use("look", {}, id="toolu_1")))
    asked = caller.say("Hello", tools=[tool()])
    assert (kinds(asked), asked.stop_reason) == (["thinking", "text", "tool_use"], "tool_use")
    whole = said(asked)
    caller.say("Hello", whole, user(result()), tools=[tool()])
    bare = {"role": "assistant", "content": whole["content"][1:]}
    refused = caller.refusal("Hello", bare, user(result()), tools=[tool()])
    assert refused.startswith("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`")
    caller.say("Hello", bare, user(result()), tools=[tool()], thinking={"type": "between_tools"})


def test_a_deferred_tool_is_no_part_of_the_prefix():
    with conversation(1, tools=[tool()]) as (caller, messages):
        caller.say(*messages, "And?", tools=[tool(), tool("run", defer_loading=True)])


def test_signatures_stay_valid_after_a_restart():
    with conversation(1) as (_, messages), calling() as another:
        another.say(*messages, "And?")
