"""The example for Claude Code in docs/examples works as it is: its hook prints a briefing, or nothing."""

import asyncio
import json
import os
import sys

from oneclaw.threads import in_database
from tests.memory.mcp.program import key_of, remember
from tests.stage import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "claude-code"


async def printed(url, key):
    """What the hook prints."""
    environment = {"PATH": os.environ["PATH"], "ONECLAW_URL": url, "ONECLAW_KEY": key}
    hook = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE / ".claude" / "briefing.py", env=environment, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await hook.communicate()
    assert hook.returncode == 0
    return said.decode()


async def test_the_hook_prints_what_memory_knows(live, ada):
    await in_database(remember, ada, "- Ada likes green tea.\n")
    _, token = await in_database(key_of, ada)
    assert "- Ada likes green tea." in await printed(f"{live.url}/mcp", token)
    await in_database(remember, ada, "- Ada has a boat.\n")
    assert "Since last time" in await printed(f"{live.url}/mcp", token)
    assert await printed(f"{live.url}/mcp", "oc_wrong") == ""
    assert await printed("http://127.0.0.1:9/mcp", token) == ""


def test_its_files_name_the_tools_that_there_are():
    json.loads((EXAMPLE / ".mcp.json").read_text())
    settings = json.loads((EXAMPLE / ".claude" / "settings.json").read_text())
    (hook,) = settings["hooks"]["SessionStart"][0]["hooks"]
    assert hook["command"].endswith('/.claude/briefing.py"')
    skill = (EXAMPLE / ".claude" / "skills" / "team-memory" / "SKILL.md").read_text()
    assert all(name in skill for name in ("memory_search", "memory_get", "save_memory"))
