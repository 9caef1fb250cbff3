"""The arguments of the session tools have limits, which are those of the documentation."""

import pytest

from chat.extensions import ToolError
from chat.session_tools.extension import SESSION_TOOLS
from chat.turns.tools import validate

TOOLS = {tool.name: tool for tool in SESSION_TOOLS.tools}
HERE = {"session": "x"}


@pytest.mark.parametrize(
    ("name", "arguments", "argument", "most"),
    [
        ("sessions_list", {}, "limit", 50),
        ("sessions_history", HERE, "limit", 50),
        ("sessions_send", HERE | {"text": "Hello"}, "wait", 60),
        ("sessions_spawn", {"task": "Count"}, "wait", 120),
        ("sessions_send", HERE, "text", "x" * 8_000),
        ("sessions_spawn", {}, "task", "x" * 8_000),
    ],
)
def test_an_argument_is_taken_up_to_its_limit(name, arguments, argument, most):
    below, above = (most[1:], most + "x") if isinstance(most, str) else (most - 1, most + 1)
    for given in below, most:
        validate(TOOLS[name], arguments | {argument: given})
    with pytest.raises(ToolError):
        validate(TOOLS[name], arguments | {argument: above})
