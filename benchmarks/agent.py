"""Drive the real Claude Code against /mcp: it reads a briefing, searches and saves.

    python -m benchmarks.agent --claude node_modules/.bin/claude --url http://127.0.0.1:8000/mcp --key oc_…

The model is a scripted one on a loopback port, so that the program does the same each time. The program is not a
dependency: install it with npm where this runs (its licence forbids shipping it).
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneclaw.demo.messages_server import MessagesServer, RecordedRequest
from tests.replies import Reply, answer, error, tool_use

PROMPT = "Find out what tea Ada likes, and save that the ferry is on strike."
# What the scripted model calls, one after the other.
CALLS: Sequence[tuple[str, dict[str, Any]]] = (
    ("mcp__oneclaw__memory_briefing", {}),
    ("mcp__oneclaw__memory_search", {"query": "What tea does Ada like?"}),
    ("mcp__oneclaw__save_memory", {"content": "The ferry to Lindau is on strike on 3 December 2026."}),
)
SECONDS = 90


class Agent:
    """The scripted model: it makes the CALLS in turn, and keeps the results that the program sends back."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def reply(self, request: RecordedRequest) -> Reply:
        """Return the next reply of the model. Requests without our tools, such as for a title, get a short text."""
        if not request.path.startswith("/v1/messages") or request.path.startswith("/v1/messages/"):
            return error(404, "not_found_error", "Not found.")
        body = request.body
        offered = {tool["name"] for tool in body.get("tools", [])}
        if CALLS[0][0] not in offered:
            return answer("Ada")
        results = [
            block
            for message in body["messages"]
            for block in (message["content"] if isinstance(message["content"], list) else [])
            if block.get("type") == "tool_result"
        ]
        self.results = [json.dumps(block.get("content")) for block in results]
        if len(results) < len(CALLS):
            return answer(tool_use(*CALLS[len(results)]))
        return answer("Done.")


def main() -> None:
    """Run the program once, and print the results of its calls as JSON."""
    parser = argparse.ArgumentParser(description="Drive Claude Code against /mcp.")
    parser.add_argument("--claude", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    chosen = parser.parse_args()
    agent = Agent()
    server = MessagesServer(agent.reply, 0, record=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "mcp.json")
            headers = {"Authorization": f"Bearer {chosen.key}"}
            servers = {"oneclaw": {"type": "http", "url": chosen.url, "headers": headers}}
            config.write_text(json.dumps({"mcpServers": servers}))
            done = subprocess.run(
                [
                    chosen.claude, "-p", PROMPT, "--mcp-config", str(config), "--strict-mcp-config",
                    "--allowedTools", ",".join(name for name, _ in CALLS), "--output-format", "json",
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": folder,
                    "ANTHROPIC_BASE_URL": server.url,
                    "ANTHROPIC_API_KEY": "test",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                    "DISABLE_AUTOUPDATER": "1",
                },
                cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
    finally:
        server.stop()
    print(json.dumps({"exit": done.returncode, "output": done.stdout[-500:], "results": agent.results}, indent=1))
    raise SystemExit(0 if len(agent.results) == len(CALLS) else 1)


if __name__ == "__main__":
    main()
