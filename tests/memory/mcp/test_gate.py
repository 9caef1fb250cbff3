"""What /mcp refuses before the protocol: no key, an ended one, another site, too much, and a database that is busy."""

import asyncio
import contextlib
import datetime as dt

import httpx2
import pytest
from django.db import OperationalError
from django.utils import timezone

from memory.mcp import gate, reading
from oneclaw.models import ApiKey, User
from oneclaw.people import keys
from oneclaw.threads import in_database
from oneclaw.web import rate_limit
from tests.memory.mcp.program import asked, key_of, program, tool_call

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METADATA = "/.well-known/oauth-protected-resource/mcp"


async def test_without_a_key_a_program_is_told_where_to_sign_in(live, db):
    answer = await asked(live, "", LIST)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{live.url}{METADATA}"'
    async with httpx2.AsyncClient() as http:
        assert (await http.get(live.url + METADATA)).json()["resource"] == f"{live.url}/mcp"


@pytest.mark.parametrize("token", ["oc_wrong", "x", "oc_" + "a" * 43, "\udc80".encode("utf-8", "replace").decode()])
async def test_an_unknown_token_is_refused(live, ada, token):
    answer = await asked(live, token, LIST)
    assert (answer.status_code, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)


@pytest.mark.parametrize(
    "end",
    [
        lambda key: keys.revoke(key.user, key.pk),
        lambda key: keys.end_all(key.user),
        lambda key: ApiKey.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1)),
        lambda key: User.objects.filter(pk=key.user_id).update(is_active=False),
        lambda key: ApiKey.objects.update(access={"own": "", "spaces": {}, "conversations": True}),
    ],
)
async def test_an_ended_grant_opens_nothing(live, ada, end):
    key, token = await in_database(key_of, ada)
    assert (await asked(live, token, LIST)).status_code == 200
    await in_database(end, key)
    assert (await asked(live, token, LIST)).status_code == 401


async def test_programs_that_are_switched_off_get_nothing(live, ada, settings):
    _, token = await in_database(key_of, ada)
    settings.PROGRAMS = "off"
    assert (await asked(live, token, LIST)).status_code == 401
    settings.PROGRAMS = "read"
    assert (await asked(live, token, LIST)).status_code == 200
    assert (await asked(live, token, tool_call("save_memory", content="x"))).status_code == 403


async def test_a_missing_scope_is_named(live, ada):
    _, token = await in_database(key_of, ada, "read")
    answer = await asked(live, token, tool_call("save_memory", content="Ada likes tea."))
    assert answer.status_code == 403
    said = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope", scope="memory:propose"' in said


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_a_server_answers_to_each_of_its_names(live, ada, settings, version):
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "chat.example.org"]
    settings.ORIGINS = ["https://chat.example.org"]
    _, token = await in_database(key_of, ada)
    body = LIST | {"params": {"_meta": META}} if version > "2026" else LIST
    names = {"Host": "chat.example.org", "Origin": "https://chat.example.org"}
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}
    answer = await asked(live, token, body, **names, **headers)
    assert answer.status_code == 200, answer.text
    refused = await asked(live, "", LIST, **names)
    assert 'resource_metadata="https://chat.example.org/' in refused.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
async def test_requests_that_another_site_makes_are_refused(live, ada, headers, status):
    _, token = await in_database(key_of, ada)
    assert (await asked(live, token, LIST, **headers)).status_code == status


async def test_a_large_body_and_no_json_are_refused(live, ada):
    _, token = await in_database(key_of, ada)
    assert (await asked(live, token, b"x" * (gate.BODY_MAX_BYTES + 1))).status_code == 413
    for body in (b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff"):
        assert 400 <= (await asked(live, token, body)).status_code < 500, body[:10]


async def test_too_many_requests_wait(live, ada, monkeypatch):
    _, token = await in_database(key_of, ada)
    monkeypatch.setattr(rate_limit.api_requests, "_per_minute", lambda: 2)
    monkeypatch.setattr(rate_limit.api_requests, "_buckets", {})
    statuses = [(await asked(live, token, LIST)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


async def test_a_busy_database_is_not_an_empty_memory(live, ada, monkeypatch):
    _, token = await in_database(key_of, ada)

    def busy(*_):
        raise OperationalError("no connection")

    monkeypatch.setattr(reading, "_spaces", busy)
    answer = await asked(live, token, tool_call("memory_search", query="tea"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "memory_search"}
    call = tool_call("memory_search", query="tea")
    call["params"]["_meta"] = META
    answer = await asked(live, token, call, **modern)
    assert answer.status_code == 503, answer.text
    monkeypatch.setattr(gate, "grant_of_any", busy)
    assert (await asked(live, token, LIST)).status_code == 503


async def test_a_failed_look_at_the_grants_ends_no_stream(live, ada, monkeypatch):
    _, token = await in_database(key_of, ada)

    def busy(*_):
        raise OperationalError("no connection")

    monkeypatch.setattr(gate, "still_valid", busy)
    async with program(live, token) as client, client.listen(resource_subscriptions=["memory://forgotten"]) as events:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await anext(events)


async def test_a_program_listens_so_often_at_most(live, ada, monkeypatch):
    monkeypatch.setattr(gate, "LISTENING_MAX_COUNT", 1)
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client, client.listen(resource_subscriptions=["memory://forgotten"]):
        body = {"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": {"_meta": META}}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
        assert (await asked(live, token, body, **headers)).status_code == 429


async def test_a_listening_program_ends_with_its_grant(live, ada):
    key, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        ended = asyncio.Event()

        async def listen():
            try:
                async with client.listen(resource_subscriptions=["memory://own/MEMORY.md"]) as events:
                    async for _ in events:
                        pass
            finally:
                ended.set()

        task = asyncio.create_task(listen())
        await asyncio.sleep(1)
        assert not ended.is_set()
        await in_database(keys.revoke, ada, key.pk)
        async with asyncio.timeout(5):
            await ended.wait()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
async def test_there_are_no_streams_by_get_and_no_sessions(live, ada, method):
    _, token = await in_database(key_of, ada)
    async with httpx2.AsyncClient(timeout=5) as http:
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        answer = await http.request(method, f"{live.url}/mcp", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_many_connected_programs_leave_slots_to_their_person(live, ada):
    _, token = await in_database(key_of, ada)
    async with contextlib.AsyncExitStack() as stack:
        for mode in ("legacy", "auto") * 6:
            client = await stack.enter_async_context(program(live, token, mode))
            await client.list_tools()
        async with asyncio.timeout(5):
            assert (await asked(live, token, LIST)).status_code == 200
