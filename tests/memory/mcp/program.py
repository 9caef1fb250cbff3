"""Programs of people, for tests of /mcp: the official client, and plain requests."""

import contextlib
import json

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Space
from oneclaw.people import keys
from oneclaw.people.programs.grants import access_of

# Both eras of the protocol.
ERAS = ["auto", "legacy"]


@contextlib.asynccontextmanager
async def program(live, token, mode="auto"):
    """The official client, connected."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(f"{live.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def key_of(person, own="propose", spaces=(), conversations=True):
    """A key for memory alone, and its token."""
    return keys.make(person, "Claude Code", "year", access_of(own, dict(spaces), conversations))


def remember(person, text, path="MEMORY.md", space=None):
    write.apply(space or Space.objects.own_of(person), path, Append(text), Author(Source.PAGE, person))


async def called(client, tool, **arguments):
    """The structured result of a call, which its text repeats."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


async def asked(live, token, body=None, **headers):
    """A plain request of the older protocol."""
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    sent |= {"Authorization": f"Bearer {token}"} if token else {}
    content = json.dumps(body) if isinstance(body, dict) else body
    async with httpx2.AsyncClient(timeout=20) as http:
        return await http.post(f"{live.url}/mcp", content=content, headers=sent | headers)


def tool_call(name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
