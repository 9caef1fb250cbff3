"""The summary that the model's server makes on demand: asked for, sent back, refused, and not to be had."""

import datetime as dt
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from oneclaw import llm
from oneclaw.llm import facts
from oneclaw.llm.server import server_hash
from oneclaw.models import ModelFacts
from oneclaw.spend.usage import whole_usage
from tests.scripted import Reply, answer, bad_request, error, recorded, tool_use
from tests.spending import NOBODY, Spending
from tests.strict_api.api import StrictApi
from tests.strict_api.models import MODELS

pytestmark = pytest.mark.django_db(transaction=True)

SONNET, BETA = "claude-sonnet-5-5", "compact-2026-09-04"
SYSTEM = [{"type": "text", "text": "Be kind."}]
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
SUMMARY = "They asked questions about tea."
MARK = {"type": "ephemeral"}
EDITED = "They asked questions about coffee."


@pytest.fixture(autouse=True)
def described(scripted, monkeypatch):
    """A server that says of its model that it summarises on demand."""
    monkeypatch.setattr(llm.client, "RETRY_FIRST_SECONDS", 0.01)
    return ModelFacts.objects.create(server=server_hash(), model=SONNET, compacts=True, seen_at=timezone.now())


def user(words):
    return {"role": "user", "content": [{"type": "text", "text": words}]}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def request_for(messages, **changes):
    return llm.Request(SONNET, SYSTEM, messages, tools=[TOOL], max_tokens=8_000, **changes)


def asking(*messages, instructions="Summarise it."):
    return request_for(messages or (user("Hello?"),), compaction=instructions)


async def answered(*messages):
    """The answer to the messages, as it is sent back."""
    events = [event async for event in llm.stream(request_for(messages), Spending(NOBODY))]
    assert isinstance(events[-1], llm.Finished)
    return assistant(*(event.block for event in events if isinstance(event, llm.BlockFinished)))


async def talked(turns):
    messages = []
    for turn in range(turns):
        messages += [user(f"Question {turn}?")]
        messages += [await answered(*messages)]
    return messages


async def compacted(scripted, *messages):
    scripted.script(answer(SUMMARY))
    return await llm.compact(asking(*messages), Spending(NOBODY))


def last(scripted):
    return scripted.messages[-1]


def ignoring(words):
    """A server that does not know the field, and answers."""
    stream = {"content-type": "text/event-stream"}
    return Reply(headers=stream, body=recorded(answer(words)))


# -- Asking --------------------------------------------------------------------------------------


def test_a_summary_is_asked_for_with_everything_of_the_conversation(scripted):
    scripted.script(answer(SUMMARY))
    made = llm.compact_sync(asking(user("Hello?"), assistant({"type": "text", "text": "Hi."})), NOBODY)
    sent = last(scripted)
    assert sent.headers["anthropic-beta"] == BETA
    assert sent.body["compaction"] == {"type": "summarize", "instructions": "Summarise it."}
    assert (sent.body["system"], sent.body["tools"]) == (SYSTEM, [TOOL])
    assert (sent.body["max_tokens"], sent.body["thinking"]["type"]) == (8_000, "adaptive")
    assert "betas" not in sent.body
    assert made.text == SUMMARY
    assert (made.block["type"], made.block["content"]) == ("compaction", SUMMARY)
    assert made.block["signature"]
    assert made.usage["input_tokens"] > 0
    assert made.usage["output_tokens"] > 200


@pytest.mark.parametrize("instructions", ["", " \n"])
def test_without_instructions_the_server_uses_its_own(scripted, instructions):
    scripted.script(answer(SUMMARY))
    llm.compact_sync(asking(instructions=instructions), NOBODY)
    assert last(scripted).body["compaction"] == {"type": "summarize"}


async def test_other_requests_are_sent_without_betas(scripted):
    await answered(user("Hello?"))
    assert "anthropic-beta" not in last(scripted).headers
    assert "beta" not in last(scripted).path


async def test_a_summary_may_take_as_long_as_thinking(scripted, settings):
    settings.SILENCE_TIMEOUT = 0.3
    await sync_to_async(ModelFacts.objects.create)(
        server=server_hash(), model="claude-opus-4-8", compacts=True, seen_at=timezone.now()
    )
    facts.forget_cache()
    # This model does not think unless it is asked to.
    request = replace(asking(), model="claude-opus-4-8", thinks=False)
    scripted.script(answer(SUMMARY, first_byte=0.8))
    assert (await llm.compact(request, Spending(NOBODY))).text == SUMMARY


def test_the_tokens_of_a_summary_are_those_of_all_its_calls():
    calls = [
        {"type": "compaction", "input_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 2}},
        {"type": "compaction", "input_tokens": 7, "cache_creation": {"ephemeral_5m_input_tokens": 3}},
    ]
    expected = {"input_tokens": 12, "cache_creation": {"ephemeral_5m_input_tokens": 5}}
    assert whole_usage({"input_tokens": 0, "iterations": calls}) == expected
    assert whole_usage({"input_tokens": 3, "iterations": None})["input_tokens"] == 3


# -- Going on from the block ---------------------------------------------------------------------


async def test_the_block_goes_back_as_it_came(scripted):
    made = await compacted(scripted, *await talked(2))
    await answered(assistant(made.block), user("And now?"))
    sent = last(scripted)
    assert sent.headers["anthropic-beta"] == BETA
    assert sent.body["messages"][0] == {"role": "assistant", "content": [made.block]}
    assert "compaction" not in sent.body


async def test_thinking_after_the_block_stays_valid(scripted):
    messages = await talked(4)
    made = await compacted(scripted, *messages[:4])
    kept = [assistant(made.block), *messages[4:], user("And now?")]
    kept += [await answered(*kept), user("And then?")]
    assert last(scripted).body["messages"][2]["content"][0]["type"] == "thinking"
    # Once more: the new block stands for the old one and what was kept.
    again = await compacted(scripted, *kept[:3])
    kept = [assistant(again.block), *kept[3:]]
    await answered(*kept)
    assert [each["type"] for each in last(scripted).body["messages"][2]["content"]] == ["thinking", "text"]


async def test_thinking_is_refused_when_something_stands_between_the_block_and_what_was_kept(scripted):
    messages = await talked(3)
    made = await compacted(scripted, *messages[:2])
    with pytest.raises(llm.ThinkingBoundError):
        await answered(assistant(made.block), user("By the way."), *messages[2:], user("And now?"))
    assert (await llm.compact(asking(), Spending(NOBODY))).text


async def test_thinking_after_the_block_is_refused_when_the_block_is_taken_back(scripted):
    messages = await talked(2)
    made = await compacted(scripted, *messages)
    later = [user("And now?"), await answered(assistant(made.block), user("And now?")), user("And then?")]
    with pytest.raises(llm.ThinkingBoundError):
        await answered(*messages, *later)


async def test_the_summary_of_a_warm_conversation_is_read_from_the_cache(scripted):
    long = {"role": "user", "content": [{"type": "text", "text": "Tea? " * 3_000, "cache_control": MARK}]}
    reply = await answered(long)
    made = await compacted(scripted, long, reply)
    assert made.usage["cache_read_input_tokens"] > 4_000
    assert made.usage["input_tokens"] < 500


async def test_an_edited_block_is_refused(scripted):
    made = await compacted(scripted, *await talked(1))
    asked = len(scripted.messages)
    for changes, cause in (
        ({"content": EDITED}, "compaction_content_mismatch"),
        ({"signature": "c2lnbmVk"}, "compaction_signature_invalid"),
        ({"tool_changes": []}, "compaction_tool_changes_mismatch"),
    ):
        with pytest.raises(llm.CompactionBlockError) as failed:
            await answered(assistant({**made.block, **changes}), user("And now?"))
        assert (failed.value.error_code, failed.value.retryable) == (cause, False)
    assert len(scripted.messages) == asked + 3
    # It is about the block: the server makes others.
    assert facts.cached_facts(SONNET).compacts


async def test_a_model_that_makes_no_summaries_is_sent_no_block(scripted):
    made = await compacted(scripted, *await talked(1))
    asked = len(scripted.messages)
    for request in (
        replace(asking(), model="claude-haiku-4-5"),
        replace(request_for([assistant(made.block), user("And now?")]), model="claude-haiku-4-5"),
    ):
        with pytest.raises(llm.CompactionUnsupportedError):
            async for _ in llm.stream(request, Spending(NOBODY)):
                pass
    assert len(scripted.messages) == asked


# -- No summary ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("compaction_block_ambiguous", llm.CompactionBlockError),
        ("compaction_block_misplaced", llm.CompactionBlockError),
        ("compaction_incomplete_turn", llm.CompactionRefusedError),
        ("compaction_nothing_to_summarize", llm.CompactionRefusedError),
        ("compaction_too_many_tool_references", llm.CompactionRefusedError),
    ],
)
async def test_what_the_server_says_of_the_messages_is_no_refusal_of_the_field(scripted, cause, expected):
    scripted.script(error(400, "invalid_request_error", "compaction: no.", details={"error_code": cause}))
    with pytest.raises(expected) as failed:
        await llm.compact(asking(), Spending(NOBODY))
    assert failed.value.error_code == cause
    assert len(scripted.messages) == 1
    assert facts.cached_facts(SONNET).compacts


async def test_an_unanswered_call_of_a_tool_is_not_summarised(scripted):
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    with pytest.raises(llm.CompactionRefusedError) as failed:
        await llm.compact(asking(user("Look."), assistant(call)), Spending(NOBODY))
    assert failed.value.error_code == "compaction_incomplete_turn"


async def test_a_server_that_cannot_for_the_moment_is_asked_again(scripted):
    away = error(529, "overloaded_error", "Retry.", details={"error_code": "compaction_unavailable"})
    scripted.script(away, answer(SUMMARY))
    assert (await llm.compact(asking(), Spending(NOBODY))).text == SUMMARY
    scripted.script(away, away, away)
    with pytest.raises(llm.CompactionUnavailableError) as failed:
        await llm.compact(asking(), Spending(NOBODY))
    assert failed.value.retryable
    assert len(scripted.messages) == 5


async def test_a_cut_summary_is_asked_for_once_more_with_twice_the_room(scripted):
    long = answer("word " * 10_000)
    scripted.script(long, answer(SUMMARY))
    assert (await llm.compact(asking(), Spending(NOBODY))).text == SUMMARY
    scripted.script(answer("word " * 20_000), answer("word " * 20_000))
    with pytest.raises(llm.TruncatedAnswerError):
        await llm.compact(asking(), Spending(NOBODY))
    assert [each.body["max_tokens"] for each in scripted.messages] == [8_000, 16_000, 8_000, 16_000]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (answer(), llm.EmptyAnswerError),
        (answer(" \n"), llm.EmptyAnswerError),
        (answer(tool_use("look", {})), llm.EmptyAnswerError),
        (answer("No.", stop_reason="refusal"), llm.AnswerRefusedError),
        (answer("Tea\x00."), llm.UnreadableAnswerError),
    ],
)
async def test_without_a_summary_there_is_a_failure(scripted, reply, expected):
    scripted.script(reply)
    with pytest.raises(expected):
        await llm.compact(asking(), Spending(NOBODY))
    assert len(scripted.messages) == 1
    assert facts.cached_facts(SONNET).compacts


async def test_a_conversation_that_leaves_no_room_for_the_instructions_is_too_long(scripted):
    scripted.api = StrictApi(models_facts={SONNET: replace(MODELS[SONNET], window_tokens=10_000)})
    with pytest.raises(llm.ContextTooLongError):
        await llm.compact(asking(user("word " * 5_800), instructions="Keep names. " * 300), Spending(NOBODY))
    assert len(scripted.messages) == 1


# -- Servers that do not know it -----------------------------------------------------------------


def test_a_plain_server_is_asked_once_a_day(scripted, described):
    scripted.api = StrictApi(plain=True)
    with pytest.raises(llm.CompactionUnsupportedError):
        llm.compact_sync(asking(), NOBODY)
    described.refresh_from_db()
    assert "compacts" in described.learnt
    asked = len(scripted.messages)
    facts.forget_cache()
    with pytest.raises(llm.CompactionUnsupportedError):
        llm.compact_sync(asking(), NOBODY)
    assert len(scripted.messages) == asked
    described.learnt["compacts"] = (timezone.now() - dt.timedelta(hours=25)).isoformat()
    described.save()
    facts.forget_cache()
    scripted.api = StrictApi()
    scripted.script(answer(SUMMARY))
    assert llm.compact_sync(asking(), NOBODY).text == SUMMARY


def test_a_plain_server_refuses_a_block_that_another_one_made(scripted):
    block = {"type": "compaction", "content": SUMMARY, "signature": "c2lnbmVk"}
    scripted.api = StrictApi(plain=True)
    with pytest.raises(llm.CompactionUnsupportedError):
        llm.complete_sync(request_for([assistant(block), user("And now?")]), NOBODY)
    assert not llm.facts_of(SONNET).compacts


@pytest.mark.parametrize(
    "words",
    [
        "compaction: Extra inputs are not permitted",
        "The `compaction` parameter is not supported for this model.",
        f"Unexpected value(s) `{BETA}` for the `anthropic-beta` header.",
        "invalid beta flag",
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags",
    ],
)
async def test_a_server_that_refuses_the_field_is_left_alone(scripted, words):
    scripted.script(bad_request(words))
    for _ in range(2):
        with pytest.raises(llm.CompactionUnsupportedError):
            await llm.compact(asking(), Spending(NOBODY))
    assert len(scripted.messages) == 1
    assert await llm.complete(request_for([user("Hello?")]), Spending(NOBODY))


async def test_a_server_that_answers_instead_is_left_alone_too(scripted):
    scripted.script(ignoring("Hello."))
    with pytest.raises(llm.CompactionUnsupportedError):
        await llm.compact(asking(), Spending(NOBODY))
    assert not facts.cached_facts(SONNET).compacts


async def test_refused_instructions_are_no_refusal_of_the_field(scripted):
    with pytest.raises(llm.BadRequestError) as failed:
        await llm.compact(asking(instructions="x" * 16_385), Spending(NOBODY))
    assert "16384 characters" in failed.value.detail
    assert facts.cached_facts(SONNET).compacts


# -- Counting ------------------------------------------------------------------------------------


async def test_what_is_counted_is_what_the_request_says(scripted):
    messages = [*await talked(1), user("And now?")]
    made = await compacted(scripted, *messages)
    assert await llm.count_tokens(asking(*messages)) == await llm.count_tokens(request_for(messages))
    block = [assistant(made.block), user("And now?")]
    fewer = await llm.count_tokens(request_for([user("And now?")]))
    assert await llm.count_tokens(request_for(block)) > fewer
    counted = [each for each in scripted.requests if "count_tokens" in each.path]
    assert not any("compaction" in each.body for each in counted)


async def test_a_refused_count_of_a_block_is_no_refusal_to_count(scripted):
    made = await compacted(scripted, *await talked(1))
    edited = [assistant({**made.block, "content": EDITED}), user("And now?")]
    with pytest.raises(llm.CompactionBlockError):
        await llm.count_tokens(request_for(edited))
    assert facts.cached_facts(SONNET).counts
