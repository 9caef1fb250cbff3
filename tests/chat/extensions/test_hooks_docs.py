"""The examples of docs/hooks.md work as they are written there, and each point has one."""

import dataclasses
import re
from uuid import uuid4

import pytest

from chat import extensions
from chat.extensions import (
    AfterCompaction,
    BeforeAgentStart,
    BeforeCompaction,
    BeforeToolCall,
    ContextFile,
    ContextFiles,
    Extension,
    ToolResultPersist,
    TurnFinished,
)
from chat.extensions.hooks import POINTS
from tests.stage import ROOT

PAGE = (ROOT / "docs" / "hooks.md").read_text()
EXAMPLES = dict(re.findall(r"^## (\w+)\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
WHO = {"user_id": 1, "session_id": uuid4()}
CALL = {"message_id": 2, "call_id": "toolu_1"}
SEARCH = {"type": "object", "properties": {"query": {}, "max_results": {"type": "integer"}}}


def test_each_point_has_an_example_and_a_row():
    assert list(EXAMPLES) == list(POINTS)
    for point, kind in POINTS.items():
        fields = ", ".join(
            f"`{each}`" for each in [f.name for f in dataclasses.fields(kind)] if each in kind.CHANGEABLE
        )
        (row,) = re.findall(rf"^\| `{point}` \| (.+?) \|", PAGE, re.MULTILINE)
        assert sorted(row.split(", ")) == sorted((fields or "nothing").split(", "))


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        (
            ContextFiles(**WHO, files=(ContextFile("SOUL.md", "Be kind."),)),
            {"files": (ContextFile("SOUL.md", "Be kind."), ContextFile("HOUSE.md", "Answer in one paragraph."))},
        ),
        (
            BeforeAgentStart(**WHO, turn_id=3, message_id=2, message_text="Hi", agent="a", models=(), model="m"),
            {"text": "[The open ticket is T-12.]"},
        ),
        (
            BeforeAgentStart(**WHO, turn_id=3, message_id=2, message_text="My salary", agent="a", models=(), model="m"),
            {"refusal": "Ask the office about salaries."},
        ),
        (
            BeforeToolCall(
                **WHO, **CALL, tool="memory_search", arguments={"query": "tea"}, input_schema=SEARCH, input_max_bytes=99
            ),
            {"arguments": {"query": "tea", "max_results": 3}},
        ),
        (
            ToolResultPersist(**WHO, **CALL, tool="note", is_error=False, content="4111111111111111 paid"),
            {"content": "[card number] paid"},
        ),
        (BeforeCompaction(**WHO, through_seq=4, reason="command"), {"must_keep": ("ORDER-4711",)}),
    ],
    ids=lambda each: getattr(each, "POINT", ""),
)
def test_an_example_changes_what_the_page_says(db, value, changed):
    run, _ = ask(value)
    assert run.value == dataclasses.replace(value, **changed)


@pytest.mark.parametrize(
    ("value", "name", "noted"),
    [
        (TurnFinished(**WHO, turn_id=3, message_id=2, status="complete", error_code=""), "finished", [(3, "complete")]),
        (AfterCompaction(**WHO, through_seq=4, reason="command"), "compacted", [4]),
    ],
    ids=lambda each: getattr(each, "POINT", ""),
)
def test_an_example_that_observes_notes_it(db, value, name, noted):
    _, names = ask(value)
    assert names[name] == noted


def ask(value):
    """Run the example of the value's point and ask its hook; return the outcome and what the example defines."""
    names = {}
    exec(EXAMPLES[value.POINT], names)
    assert names["hook"].point == value.POINT
    extension = extensions.register(Extension("example", hooks=[names["hook"]]))
    try:
        return extensions.run_hooks(value), names
    finally:
        extensions.unregister(extension)


def test_the_first_example_registers_an_extension(db):
    before = extensions.installed()
    exec(PAGE.split("```python\n")[1].split("```")[0], {})
    (house,) = (each for each in extensions.installed() if each not in before)
    try:
        call = BeforeToolCall(
            **WHO,
            **CALL,
            tool="save_memory",
            arguments={"content": "My password is tea"},
            input_schema={},
            input_max_bytes=99,
        )
        assert extensions.run_hooks(call).value.refusal == "Passwords are not saved here."
    finally:
        extensions.unregister(house)
