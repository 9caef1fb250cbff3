"""What is sent to which model: thinking, effort, and room for the answer."""

import pytest

from oneclaw import llm
from oneclaw.llm.estimate import IMAGE_TOKENS, estimated_tokens
from oneclaw.llm.known_models import KNOWN_MODELS, UNKNOWN, is_documented, known_facts
from tests.scripted import answer, bad_request
from tests.spending import NOBODY, Spending

# The SDK warns of models that will be retired.
pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning", "ignore:Using Claude with")

HELLO = [{"role": "user", "content": "Hello?"}]
SUMMARIZED = {"type": "adaptive", "display": "summarized"}


async def sent(scripted, model, **changes):
    """The optional fields of the request as they arrived."""
    async for _ in llm.stream(llm.Request(model, [], HELLO, **changes), Spending(NOBODY)):
        pass
    body = scripted.messages[-1].body
    return {name: value for name, value in body.items() if name not in ("model", "messages", "stream")}


@pytest.mark.parametrize(
    ("model", "thinking", "most"),
    [
        ("claude-sonnet-5-5", SUMMARIZED, 128_000),
        ("claude-haiku-5-5-20261007", SUMMARIZED, 128_000),
        ("claude-opus-5-5", SUMMARIZED, 128_000),
        ("claude-sonnet-4-6", SUMMARIZED, 128_000),
        ("claude-sonnet-4-5", None, 64_000),
        ("claude-3-5-haiku-latest", None, 8_192),
        ("anthropic/claude-sonnet-5-5", SUMMARIZED, 128_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, 64_000),
        ("llama-70b", None, 8_192),
    ],
)
async def test_a_model_thinks_aloud_with_medium_effort_and_as_long_as_it_can(scripted, model, thinking, most):
    fields = await sent(scripted, model)
    thought = {"thinking": thinking, "output_config": {"effort": "medium"}} if thinking else {}
    assert fields == {"max_tokens": most} | thought


@pytest.mark.parametrize(
    ("model", "thinking", "effort"),
    [
        ("claude-haiku-5-5", "disabled", None),
        ("claude-sonnet-5-5", "between_tools", None),
        ("claude-sonnet-5", "disabled", None),
        ("claude-opus-5-5", None, "low"),
        ("claude-fable-5-1", None, "low"),
        # They think only when they are asked to.
        ("claude-opus-4-8", None, None),
        ("claude-haiku-4-5", None, None),
        ("llama-70b", None, None),
    ],
)
async def test_thinking_is_turned_off_where_a_model_allows_it(scripted, settings, model, thinking, effort):
    settings.EFFORT = "max"
    settings.THINKING = 2048
    fields = await sent(scripted, model, thinks=False, max_tokens=300)
    # A model that always thinks needs room for that.
    expected = {"max_tokens": 4300 if effort else 300}
    expected |= {"thinking": {"type": thinking}} if thinking else {}
    expected |= {"output_config": {"effort": effort}} if effort else {}
    assert fields == expected


@pytest.mark.parametrize(
    ("model", "wanted", "level"),
    [
        ("claude-sonnet-5-5", "xhigh", "xhigh"),
        ("claude-sonnet-4-6", "max", "max"),
        ("claude-sonnet-4-6", "xhigh", "high"),
        ("claude-opus-4-5", "max", "high"),
        ("claude-haiku-4-5", "low", None),
        ("llama-70b", "low", None),
    ],
)
async def test_effort_is_the_highest_that_the_model_knows(scripted, settings, model, wanted, level):
    settings.EFFORT = wanted
    assert (await sent(scripted, model)).get("output_config") == ({"effort": level} if level else None)
    settings.EFFORT = "default"
    assert "output_config" not in await sent(scripted, model)
    assert (await sent(scripted, model, effort=wanted)).get("output_config") == ({"effort": level} if level else None)


async def test_without_thinking_effort_stays_at_what_servers_accept(scripted):
    fields = await sent(scripted, "claude-sonnet-5-5", thinks=False, effort="max")
    assert fields["output_config"] == {"effort": "high"}


async def test_a_budget_of_thinking_is_for_older_models_alone(scripted, settings):
    settings.THINKING = 2048
    old = await sent(scripted, "claude-sonnet-4-5")
    assert old["thinking"] == {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}
    assert (await sent(scripted, "llama-70b"))["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert (await sent(scripted, "claude-sonnet-5-5"))["thinking"] == SUMMARIZED
    assert "thinking" not in await sent(scripted, "claude-sonnet-4-5", max_tokens=2048)


async def test_the_setting_caps_an_answer_but_not_a_summary(scripted, settings):
    settings.MAX_OUTPUT_TOKENS = 1000
    assert (await sent(scripted, "claude-sonnet-5-5"))["max_tokens"] == 1000
    assert (await sent(scripted, "claude-sonnet-5-5", max_tokens=4096))["max_tokens"] == 4096


def test_tokens_are_estimated_by_script_and_kind():
    assert estimated_tokens("word " * 62, 3.1) == 100
    assert estimated_tokens("東京" * 50, 3.1) == 100
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000_000}}
    assert estimated_tokens(image, 3.1) == IMAGE_TOKENS
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 4_000}}
    assert estimated_tokens([document, "abc"], 3.0) == 3_000 // 25 + 1


def test_a_name_counts_as_a_known_model_only_when_it_is_one():
    assert known_facts("claude-sonnet-5-5-20260928") == KNOWN_MODELS["claude-sonnet-5-5"]
    assert known_facts("claude-sonnet-5-20260630") == KNOWN_MODELS["claude-sonnet-5"]
    assert known_facts("claude-opus-4-20250514") == KNOWN_MODELS["claude-opus-4"]
    assert known_facts("claude-sonnet-5-5[1m]") == KNOWN_MODELS["claude-sonnet-5-5"]
    for newer in ("claude-sonnet-5-6", "claude-sonnet-6", "claude-5"):
        assert not is_documented(newer)
        assert known_facts(newer).preserved_thinking
    assert known_facts("llama-70b") == UNKNOWN


async def test_a_cut_answer_is_asked_for_once_more_with_twice_the_room(scripted):
    request = llm.Request("claude-haiku-5-5", [], HELLO, max_tokens=200, thinks=False)
    scripted.script(answer("A tit", stop_reason="max_tokens"), answer("A title"))
    assert await llm.complete(request, Spending(NOBODY)) == "A title"
    assert [each.body["max_tokens"] for each in scripted.messages] == [200, 400]
    scripted.default = lambda body: answer("A tit", stop_reason="max_tokens")
    with pytest.raises(llm.TruncatedAnswerError):
        await llm.complete(request, Spending(NOBODY))
    assert len(scripted.messages) == 4


@pytest.mark.parametrize("words", ["", " \n"])
async def test_an_answer_without_text_is_no_answer(scripted, words):
    scripted.script(answer(words) if words else answer())
    with pytest.raises(llm.EmptyAnswerError):
        await llm.complete(llm.Request("claude-test", [], HELLO), Spending(NOBODY))


async def test_an_answer_that_the_window_cut_is_no_answer(scripted):
    scripted.script(answer("Half", stop_reason="model_context_window_exceeded"))
    with pytest.raises(llm.ContextTooLongError):
        await llm.complete(llm.Request("claude-test", [], HELLO), Spending(NOBODY))


async def test_thinking_that_is_bound_to_another_conversation_has_a_failure_of_its_own(scripted):
    words = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    )
    scripted.script(bad_request(words))
    with pytest.raises(llm.ThinkingBoundError) as failed:
        await llm.complete(llm.Request("claude-sonnet-5-5", [], HELLO), Spending(NOBODY))
    assert isinstance(failed.value, llm.BadRequestError)
    assert (failed.value.code, len(scripted.messages)) == ("thinking_bound", 1)
    assert "Try again" in failed.value.sentence
