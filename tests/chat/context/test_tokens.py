"""The tokens of heads, messages and files, without a database."""

import datetime as dt
import uuid

import pytest

from chat.context import tokens
from chat.context.file_shares import OUT, WHOLE
from chat.context.files import DATA_NOTICE, NO_TEXT_NOTICE
from chat.context.meter import Breakdown, Meter
from chat.context.tokens import ContextPart
from chat.context.view import ViewRow
from chat.models import Attachment, Head
from oneclaw.llm import Facts

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
RATIO = 3.0
USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 3_000,
    "output_tokens": 40,
    "output_tokens_details": {"thinking_tokens": 30},
}


def row(role, *content, meta=None, usage=None, seq=1):
    return ViewRow(seq, role, list(content), meta or {}, NOW, NOW, usage)


def counted(row, context="", files=None, after_seq=0):
    return dict(+tokens.row_tokens(row, context, files or {}, RATIO, after_seq))


def test_after_an_answer_the_conversation_takes_its_request_and_the_answer():
    assert tokens.input_tokens(USAGE) == 3_210
    assert tokens.tokens_after(USAGE) == 3_250
    assert tokens.tokens_after({"input_tokens": None}) == 0


@pytest.mark.parametrize(("window", "limit", "used"), [(1_000_000, 200_000, 200_000), (100, 200, 100), (100, 0, 100)])
def test_the_window_is_the_smaller_of_the_models_and_the_settings(window, limit, used):
    assert tokens.window_of(Facts(window_tokens=window), limit) == used


def test_a_head_is_instructions_memory_and_tools():
    head = Head(system="a" * 30 + "\n\n" + "b" * 60, sections=[["agent", 30], ["memory", 60]], tools=[{"name": "x"}])
    assert tokens.head_tokens(head, RATIO) == {
        ContextPart.INSTRUCTIONS: 10,
        ContextPart.MEMORY: 20,
        ContextPart.TOOLS: 5,
    }
    assert tokens.head_tokens(Head(system="a" * 30), RATIO) == {ContextPart.INSTRUCTIONS: 10}


def test_a_message_is_what_memory_added_and_its_words():
    said = row("user", {"type": "text", "text": "a" * 30})
    assert counted(said, context="b" * 60) == {ContextPart.MEMORY: 20, ContextPart.CONVERSATION: 14}


def test_results_of_tools_are_counted_apart():
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a" * 300}
    assert counted(row("tool", result)) == {ContextPart.RESULTS: 104, ContextPart.CONVERSATION: 4}


def test_an_answer_takes_what_the_provider_counted_without_thinking_that_is_not_sent():
    answer = row("assistant", {"type": "text", "text": "a"}, meta={"sent": {"prefix": "x"}}, usage=USAGE, seq=5)
    assert counted(answer) == {ContextPart.CONVERSATION: 44}
    assert counted(answer, after_seq=5) == {ContextPart.CONVERSATION: 14}


def test_an_answer_that_was_not_counted_is_estimated():
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    cut = row("assistant", {"type": "thinking", "thinking": "never sent"}, {"type": "text", "text": "a" * 30}, use)
    assert counted(cut) == {ContextPart.CONVERSATION: 4 + 10 + 4 + 2}


def file(kind, **columns):
    made = Attachment(id=uuid.uuid4(), name="a", kind=kind, **columns)
    return made, made.reference()


@pytest.mark.parametrize(
    ("kind", "columns", "share", "expected"),
    [
        ("image", {"width": 750, "height": 100}, WHOLE, 104),
        # A smaller copy of 2,000 × 1,000 pixels is sent.
        ("image", {"width": 4_000, "height": 2_000}, WHOLE, 2_671),
        ("image", {"width": 2_000, "height": 2_000}, WHOLE, 4_788),
        ("pdf", {"pages": 3, "text": "x"}, WHOLE, 6_001),
        ("text", {"text": "a" * 3_000}, 3_000, 1_008),
        ("text", {"text": "a" * 3_000}, OUT, 27),
    ],
)
def test_files_take_their_pixels_pages_or_characters(kind, columns, share, expected):
    made, _ = file(kind, **columns)
    assert tokens.file_tokens("a", made, share, RATIO) == expected


def test_a_file_that_was_not_sent_yet_gets_the_share_that_it_will_have():
    made, reference = file("text", text="a" * 3_000)
    words = {"type": "text", "text": "a"}
    assert counted(row("user", reference, words), files={made.pk: made})[ContextPart.FILES] > 1_000
    assert counted(row("user", reference, words))[ContextPart.FILES] == 1


def test_a_file_brings_notices_to_the_model():
    made, reference = file("text", text="a" * 30)
    words = {"type": "text", "text": "a"}
    said, silent = (
        counted(row("user", *content), files={made.pk: made}) for content in ([reference, words], [reference])
    )
    assert silent[ContextPart.FILES] - said[ContextPart.FILES] == -(-len(NO_TEXT_NOTICE) // 3)
    assert said[ContextPart.FILES] == tokens.file_tokens("a", made, 30, RATIO) + -(-len(DATA_NOTICE) // 3)


def test_parts_are_scaled_to_what_the_provider_counted():
    parts = {ContextPart.TOOLS: 10, ContextPart.CONVERSATION: 20}
    found = tokens.scaled(parts, 301)
    assert sum(found.values()) == 301
    assert (found[ContextPart.TOOLS], found[ContextPart.CONVERSATION], found[ContextPart.FILES]) == (100, 201, 0)
    assert sum(tokens.scaled({}, 0).values()) == 0


def test_the_meter_is_read_in_thousands():
    assert (Meter(4_240, 200_000).used_thousands, Meter(42_400, 200_000).used_thousands) == (4.2, 42)
    assert Meter(300_000, 200_000).percent == 100
    bars = Breakdown(
        Meter(200, 1_000), {ContextPart.TOOLS: 50, ContextPart.FILES: 0, ContextPart.MEMORY: 150}, None
    ).bars()
    assert bars == [(ContextPart.TOOLS, 50, 25), (ContextPart.MEMORY, 150, 75)]
