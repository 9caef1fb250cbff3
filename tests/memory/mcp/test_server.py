"""/mcp, as the official client of both eras sees it: tools, resources, prompts, and what the gate refuses."""

import contextlib
import json

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.models import MemoryDocument, ProgramRead, ProgramSave, Suggestion
from oneclaw.models import Space
from oneclaw.people import keys
from oneclaw.people.programs.grants import access_of
from oneclaw.threads import in_database

ERAS = ["auto", "legacy"]


@contextlib.asynccontextmanager
async def program(live, token, mode="auto"):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(f"{live.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def key_of(person, own="propose", spaces=(), conversations=True):
    return keys.make(person, "Claude Code", "year", access_of(own, dict(spaces), conversations))


def remember(person, text, path="MEMORY.md", space=None):
    write.apply(space or Space.objects.own_of(person), path, Append(text), Author(Source.PAGE, person))


async def called(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


@pytest.mark.parametrize("mode", ERAS)
async def test_a_program_searches_reads_and_saves(live, ada, mode):
    await in_database(remember, ada, "- Ada likes green tea from Uji.\n- The ferry to Lindau leaves at eight.\n")
    _, token = await in_database(key_of, ada)
    async with program(live, token, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            "memory_search",
            "memory_get",
            "memory_recent",
            "documents_search",
            "memory_briefing",
            "save_memory",
        }
        assert all(tool.output_schema for tool in tools.values())
        assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["save_memory"]
        found = (await called(client, "memory_search", query="What tea does Ada like?"))["results"][0]
        assert (found["path"], found["start_line"], found["space"]) == ("MEMORY.md", 1, "own")
        assert "green tea" in found["text"]
        assert found["link"].startswith(f"{live.url}/memory/")
        assert found["date"]
        read = await called(client, "memory_get", path="MEMORY.md", from_line=2)
        assert (read["lines"], read["total_lines"]) == (1, 2)
        assert "ferry" in read["text"]
        saved = await called(client, "save_memory", content="The ferry is on strike on 3 December 2026.")
        assert saved["state"] == "waiting"
        assert saved["link"] == f"{live.url}/memory/inbox/"
        assert "ferry" in json.dumps(await called(client, "memory_briefing"))
        assert (await called(client, "memory_recent"))["changes"]
        uris = {str(each.uri) for each in (await client.list_resources()).resources}
        assert "memory://own/MEMORY.md" in uris
        text = (await client.read_resource("memory://own/MEMORY.md")).contents[0].text
        assert "Uji" in text
    document = await in_database(lambda: MemoryDocument.objects.get(path="MEMORY.md"))
    assert "strike" not in document.content
    waiting = await in_database(lambda: Suggestion.objects.get())
    assert (waiting.kind, waiting.text) == ("program", "The ferry is on strike on 3 December 2026.")
    assert "Claude Code" in waiting.name
    assert await in_database(lambda: ProgramRead.objects.count()) == 2
    assert await in_database(lambda: ProgramSave.objects.get().suggestion_id) == waiting.pk
