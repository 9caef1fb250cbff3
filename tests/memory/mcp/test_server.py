"""/mcp, as the official client of both eras sees it: tools, resources, prompts, and what the gate refuses."""

import asyncio
import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from chat.models import SavedPrompt
from memory.forgetting.forget import forget
from memory.index import vectors
from memory.models import Forgetting, MemoryDocument, MemoryRevision, ProgramRead, ProgramSave, Proposal, Suggestion
from memory.policy import switches
from memory.policy.switches import Switch
from memory.provenance.programs import readers_of_forgotten
from memory.tools.suggestions import accept
from oneclaw.models import ApiKey, AuditEvent, Space, SpaceMember
from oneclaw.people import keys
from oneclaw.threads import in_database
from tests.memory.mcp.program import ERAS, called, key_of, program, refusal, remember


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


@pytest.mark.parametrize("mode", ERAS)
async def test_a_program_that_reads_is_offered_no_more(live, ada, mode):
    _, token = await in_database(key_of, ada, "read")
    async with program(live, token, mode) as client:
        await called(client, "memory_search", query="tea")
        with pytest.raises(MCPError):
            await client.call_tool("save_memory", {"content": "Ada likes tea."})
    assert not await in_database(Suggestion.objects.exists)


async def test_the_list_of_tools_is_short(live, ada):
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        tools = (await client.list_tools()).tools
    sent = [{"name": each.name, "description": each.description, "input_schema": each.input_schema} for each in tools]
    # Four characters are about a token.
    assert len(json.dumps(sent)) / 4 <= 900


async def test_what_is_of_a_space_is_read_with_its_grant_and_role(live, ada, stranger):
    space = await in_database(shared_space, ada, stranger)
    await in_database(remember, ada, "- The oven is serviced in May.\n", "MEMORY.md", space)
    await in_database(remember, stranger, "- Stranger hides the keys under the stone.\n")
    key, token = await in_database(key_of, stranger, "", {space.pk: "propose"})
    async with program(live, token) as client:
        (found,) = (await called(client, "memory_search", query="When is the oven serviced?"))["results"]
        assert (found["path"], found["space"]) == (f"spaces/{space.pk}/MEMORY.md", "Kitchen")
        assert not (await called(client, "memory_search", query="Where are the keys?"))["results"]
        assert "no memory file" in await refusal(client, "memory_get", path="memory/2026-01-01.md")
        read = await called(client, "memory_get", path=found["path"])
        assert "oven" in read["text"]
        # Without a space it is for the person's own memory, which this program has nothing of.
        assert "no such space" in await refusal(client, "save_memory", content="The oven is new since 2025.")
        assert "no memory file" in await refusal(client, "memory_get", path="MEMORY.md")
        saved = await called(client, "save_memory", content="The oven is new since 2025.", space=space.pk)
        assert saved["state"] == "proposed"
        await in_database(SpaceMember.objects.filter(user=stranger).delete)
        assert "no such space" in await refusal(client, "memory_search", query="oven", space=space.pk)
        assert "no memory file" in await refusal(client, "memory_get", path=found["path"])
    row = await in_database(Proposal.objects.get)
    assert (row.kind, row.state, row.author_id) == ("api", "waiting", stranger.pk)
    # Others read it: neither what its person calls it, nor where it runs.
    assert (row.program.startswith("mcp"), "127.0.0.1" in row.program) == (True, False)
    assert await in_database(ProgramSave.objects.filter(proposal=row, key=key).exists)


def shared_space(owner, reader):
    space = Space.objects.create(owner=owner, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=space, user=owner, role="owner")
    SpaceMember.objects.create(space=space, user=reader, role="editor")
    return space


async def test_saving_without_asking_is_marked_as_foreign(live, ada):
    _, token = await in_database(key_of, ada, "write")
    async with program(live, token) as client:
        saved = await called(client, "save_memory", content="Ada's flat is in Basel since 2019.")
        assert saved["state"] == "saved"
        again = await called(client, "save_memory", content="Ada's flat is in Basel since 2019.")
        assert again["state"] == "already_known"
        masked = await called(client, "save_memory", content="The key is sk-ant-api03-" + "Ab1" * 31)
        assert masked["masked"]
    revision = await in_database(lambda: MemoryRevision.objects.order_by("pk").first())
    assert (revision.source, revision.is_foreign) == ("api", True)
    assert "Claude Code" in str(revision.reason)
    content = await in_database(lambda: MemoryDocument.objects.get(path="MEMORY.md").content)
    assert "Ab1Ab1" not in content


async def test_the_same_request_saves_once(live, ada):
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        saves = [called(client, "save_memory", content="The boat is blue.", request_id="r1") for _ in range(4)]
        assert {each["state"] for each in await asyncio.gather(*saves)} == {"waiting"}
        assert "already used" in await refusal(client, "save_memory", content="The boat is red.", request_id="r1")
        await called(client, "save_memory", content="The boat is blue.")
        waiting = await in_database(Suggestion.objects.get)
        await in_database(accept, waiting, ada)
        accepted = await called(client, "save_memory", content="The boat is blue.", request_id="r1")
        assert accepted["state"] == "saved"
    assert await in_database(ProgramSave.objects.count) == 1


async def test_a_declined_text_does_not_come_back(live, ada):
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        await called(client, "save_memory", content="Ada hates jazz.")
        await in_database(lambda: suggestions_declined())
        assert (await called(client, "save_memory", content="Ada hates jazz."))["state"] == "declined"
    assert not await in_database(Suggestion.objects.waiting().exists)


def suggestions_declined():
    from memory.trust.suggestions import decline

    assert decline(Suggestion.objects.get())


async def test_switches_of_the_person_count_at_once(live, ada):
    await in_database(remember, ada, "- Ada likes green tea.\n")
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        assert (await called(client, "memory_search", query="green tea"))["results"]
        await in_database(switches.choose, ada, Switch.SAVED, False)
        assert not (await called(client, "memory_search", query="green tea"))["results"]
        assert "no memory file" in await refusal(client, "memory_get", path="MEMORY.md")
        assert not (await called(client, "memory_briefing"))["memory"]
        assert "scope" in await refusal(client, "save_memory", content="Ada likes coffee.")


async def test_a_briefing_says_what_changed_and_what_was_forgotten_since(live, ada):
    await in_database(remember, ada, "- Ada likes green tea.\n- The code of the door is known to Bo.\n")
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        first = await called(client, "memory_briefing")
        assert (len(first["memory"]), first["changes"], first["forgotten"]) == (1, [], 0)
        await in_database(remember, ada, "- Ada has a boat.\n")
        await in_database(forgotten, ada, "- The code of the door is known to Bo.")
        second = await called(client, "memory_briefing")
        assert [each["added"] for each in second["changes"]] == ["- Ada has a boat."]
        assert second["forgotten"] == 1
        assert "Bo" not in json.dumps(second)
        proof = await in_database(Forgetting.objects.get)
        assert list((await in_database(readers_of_forgotten, proof, ada)).values()) == [False]
        listed = json.loads((await client.read_resource("memory://forgotten")).contents[0].text)
        assert [each["hash"] for each in listed] == proof.hashes
        assert list((await in_database(readers_of_forgotten, proof, ada)).values()) == [True]
        assert "forgotten" in await refusal(client, "save_memory", content="The code of the door is known to Bo.")


def forgotten(person, line):
    forget(Space.objects.own_of(person), [line], person)


async def test_a_listening_program_hears_of_its_own_changes_alone(live, ada, stranger):
    await in_database(remember, ada, "- Ada likes tea.\n")
    await in_database(remember, stranger, "- Stranger likes tea.\n")
    _, token = await in_database(key_of, ada)
    heard = []
    wanted = ["memory://own/MEMORY.md"]
    async with program(live, token) as client, client.listen(resource_subscriptions=wanted) as events:
        await in_database(remember, stranger, "- Stranger has a dog.\n")
        await asyncio.sleep(2.5)
        await in_database(remember, ada, "- Ada has a cat.\n")
        async with asyncio.timeout(10):
            heard.append(await anext(events))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await anext(events)
    assert heard == [ResourceUpdated(uri="memory://own/MEMORY.md")]


async def test_the_person_s_saved_prompts_are_prompts(live, ada, stranger):
    await in_database(SavedPrompt.objects.create, owner=ada, name="review", text="Review this change.")
    await in_database(SavedPrompt.objects.create, owner=stranger, name="hidden", text="Hidden.")
    _, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        assert [each.name for each in (await client.list_prompts()).prompts] == ["review"]
        assert (await client.get_prompt("review")).messages[0].content.text == "Review this change."
    space = await in_database(shared_space, ada, stranger)
    _, of_space = await in_database(key_of, ada, "", {space.pk: "read"})
    async with program(live, of_space) as client:
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError):
            await client.get_prompt("review")


async def test_each_call_is_in_the_audit_log_without_its_text(live, ada):
    key, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        await called(client, "memory_search", query="secret words")
        await refusal(client, "memory_search", query="secret words", space=1_000_000)
    event, refused = await in_database(lambda: list(AuditEvent.objects.filter(kind="program.called").order_by("pk")))
    assert (event.actor, event.details) == (ada.pk, {"key": key.pk, "tool": "memory_search"})
    assert (refused.details["refused"], refused.address) == (True, "127.0.0.1")


async def test_a_program_says_its_name_and_its_person_sees_it(live, ada):
    key, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        await client.list_tools()
    await in_database(key.refresh_from_db)
    assert key.program.startswith("mcp")
    assert key.address == "127.0.0.1"


async def test_a_whole_key_saves_after_a_yes(live, ada):
    _, token = await in_database(keys.make, ada, "Old", "never")
    async with program(live, token) as client:
        assert (await called(client, "save_memory", content="Ada has a cat."))["state"] == "waiting"


async def test_a_read_line_is_kept_once_with_its_count(live, ada):
    await in_database(remember, ada, "- Ada likes tea.\n\n- Ada has a cat.\n")
    key, token = await in_database(key_of, ada)
    async with program(live, token) as client:
        await called(client, "memory_get", path="MEMORY.md")
        await called(client, "memory_get", path="MEMORY.md", lines=1)
    rows = await in_database(lambda: sorted(ProgramRead.objects.filter(key=key).values_list("times", flat=True)))
    assert rows == [1, 2]


async def test_words_alone_are_said_to_be_worse(live, ada, monkeypatch):
    _, token = await in_database(key_of, ada)
    await in_database(remember, ada, "- Ada likes tea.\n")
    monkeypatch.setattr(vectors, "question_vector", lambda *_: None)
    async with program(live, token) as client:
        found = await called(client, "memory_search", query="tea")
        assert (found["degraded"], len(found["results"])) == (True, 1)
        assert (await called(client, "documents_search", query="tea"))["degraded"] is True


async def test_deleting_the_account_leaves_nothing_of_its_programs(live, ada):
    _, token = await in_database(key_of, ada)
    await in_database(remember, ada, "- Ada likes tea.\n")
    async with program(live, token) as client:
        await called(client, "memory_get", path="MEMORY.md")
        await called(client, "save_memory", content="Ada has a cat.")
    await in_database(ada.delete)
    left = (ApiKey, ProgramRead, ProgramSave, Suggestion)
    assert not any([await in_database(model.objects.exists) for model in left])
