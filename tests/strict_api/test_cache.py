"""The simulated prompt cache: what is written, what is read, and when it ends."""

import pytest

from tests.scripted import answer
from tests.strict_api.client import HAIKU, SONNET, assistant, calling, text, tool, user

MODEL = "scripted-large"
LONG = "x" * 6200


@pytest.fixture
def caller():
    with calling() as caller:
        caller.model.default = lambda body: answer("Yes.")
        yield caller


def use(caller, *messages, **others):
    """Return (read, written, neither) of the input of a request."""
    usage = caller.say(*messages, model=others.pop("model", MODEL), **others).usage
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens


def test_a_marked_prefix_is_written_and_then_read(caller):
    system = [text(LONG, "5m")]
    assert use(caller, "Hello", system=system) == (0, 2000, 6)
    assert use(caller, "Good day", system=system) == (2000, 0, 7)
    assert use(caller, "Hello", system=[text(LONG)]) == (0, 0, 2006)
    assert use(caller, "Hello", system=system, model="scripted-small") == (0, 2000, 6)


def test_a_growing_conversation_reads_what_it_had(caller):
    messages = [user(text(LONG, "5m"))]
    assert use(caller, *messages) == (0, 2004, 0)
    messages = [user(text(LONG)), assistant("Yes."), user(text("More?", "5m"))]
    assert use(caller, *messages) == (2004, 12, 0)


def test_the_cache_ends_by_the_clock_and_reading_renews_it(caller):
    system = [text(LONG, "5m")]
    assert use(caller, "Hello", system=system) == (0, 2000, 6)
    for _ in range(3):
        caller.api.clock.move(seconds=290)
        assert use(caller, "Hello", system=system) == (2000, 0, 6)
    caller.api.clock.move(seconds=301)
    assert use(caller, "Hello", system=system) == (0, 2000, 6)


def test_an_hour_lasts_an_hour(caller):
    usage = caller.say(user(text(LONG, "5m")), model=MODEL, system=[text(LONG, "1h")]).usage
    assert usage.cache_creation.ephemeral_1h_input_tokens == 2000
    assert usage.cache_creation.ephemeral_5m_input_tokens == 2004
    caller.api.clock.move(seconds=3500)
    assert use(caller, user(text(LONG, "5m")), system=[text(LONG, "1h")]) == (2000, 2004, 0)


def test_a_short_prefix_is_not_cached(caller):
    short = [text("x" * 3171, "5m")]
    assert use(caller, "Hello", system=short) == (0, 0, 1023 + 6)
    assert use(caller, "Hello", system=[text("x" * 3172, "5m")]) == (0, 1024, 6)


def test_haiku_caches_from_512_tokens_on(caller):
    assert use(caller, "Hello", model=HAIKU, system=[text("x" * 1584, "5m")]) == (0, 0, 511 + 6)
    assert use(caller, "Hello", model=HAIKU, system=[text("x" * 1587, "5m")]) == (0, 512, 6)


def test_naming_the_default_effort_changes_nothing(caller):
    """Of Haiku it is medium, of Sonnet high."""
    for model, effort, other in ((HAIKU, "medium", "high"), (SONNET, "high", "medium")):
        long = user(text(LONG, "5m"))
        caller.say(long, model=model)
        named = caller.say(long, model=model, output_config={"effort": effort}).usage
        changed = caller.say(long, model=model, output_config={"effort": other}).usage
        assert named.cache_read_input_tokens > 0
        assert changed.cache_read_input_tokens == 0


def test_the_cache_compares_bytes(caller):
    long = {"text": LONG, "type": "text", "cache_control": {"type": "ephemeral"}}
    turned = {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}
    assert use(caller, user(long))[0] == 0
    assert use(caller, user(dict(long)))[0] > 0
    assert use(caller, user(turned))[0] == 0


def test_a_read_looks_back_twenty_blocks(caller):
    def grown(blocks):
        return [user(text(LONG, "")), assistant("Yes."), user(*["y"] * (blocks - 2), text("z", "5m"))]

    use(caller, user(text(LONG, "5m")))
    read, *_ = use(caller, *grown(20))
    assert read == 0
    use(caller, user(text(LONG, "5m")))
    read, *_ = use(caller, *grown(19), system=[])
    assert read == 2004


def test_the_mark_of_the_whole_request_is_its_last_block(caller):
    assert use(caller, LONG, cache_control={"type": "ephemeral"}) == (0, 2004, 0)
    assert use(caller, LONG, cache_control={"type": "ephemeral"}) == (2004, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"tool_choice": {"type": "none"}},
        {"thinking": {"type": "adaptive"}},
        {"output_config": {"effort": "low"}},
    ],
)
def test_some_parameters_rewrite_the_messages_but_not_the_head(caller, change):
    head = {"system": [text(LONG, "5m")], "tools": [tool()]}
    before = use(caller, user(text(LONG, "5m")), **head)
    assert use(caller, user(text(LONG, "5m")), **head) == (before[1], 0, 0)
    read, written, _ = use(caller, user(text(LONG, "5m")), **head, **change)
    assert (read, written) == (before[1] - 2004, 2004)


def test_a_changed_tool_rewrites_everything(caller):
    head = {"system": [text(LONG, "5m")], "tools": [tool()]}
    use(caller, "Hello", **head)
    read, *_ = use(caller, "Hello", system=head["system"], tools=[tool("run")])
    assert read == 0
