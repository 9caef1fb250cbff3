"""Answers cite what was sent for them: a mark opens the exact line, moment or page, for those who may see it."""

import json

import pytest

from chat.context.view import META_KEY
from chat.conversations.shared import share as sharing
from chat.models import Message
from chat.transfer import export, share
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting.forget import forget
from memory.index import conversations
from memory.index.documents import index_document
from memory.library import files as library
from memory.library import reading
from memory.models import LibraryFile, MemoryDocument
from oneclaw.llm import descriptions, facts
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import files
from tests import scripted as model
from tests.chat.shared.cast import shared_conversation, take_role
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

FERRY = "The ferry to Naxos leaves at seven."
ASKED = "When does my ferry to Naxos leave?"


@pytest.fixture
def known(ada, settings):
    """Ada's memory, with the ferry in the third line of a daily log."""
    settings.EMBEDDINGS, settings.MODEL, settings.RECALL = "none", MODEL, "first"
    space = Space.objects.own_of(ada)
    text = f"## Monday\n\n- {FERRY}"
    index_document(apply(space, "memory/2026-11-03.md", Append(text), Author(Source.PAGE, ada)).document_id)
    return space


def search(tool="memory_search", query="ferry to Naxos"):
    return model.answer(model.tool_use(tool, {"query": query}))


def opened(client, person, message, mark):
    client.force_login(person)
    return client.get(f"/messages/{message.pk}/sources/{mark}")


async def page_of(client, person, message):
    def get():
        client.force_login(person)
        return client.get(f"/c/{message.session_id}").content.decode()

    return await in_database(get)


async def test_a_recalled_line_and_a_found_one_are_opened_where_they_are(ada, stranger, known, scripted, client):
    scripted.script(search(), model.answer("At seven [m2-1]. Really [m1-1], not [m7-7]."))
    last = await Talk(ada, scripted).say(ASKED)
    assert 'mark="m1-1"' in json.dumps(scripted.messages[0].body).replace('\\"', '"')
    assert last.text == "At seven. Really, not [m7-7]."
    html = await page_of(client, ada, last)
    assert 'aria-label="Source 1: memory/2026-11-03.md, line 3"' in html
    assert f'href="/messages/{last.pk}/sources/m1-1"' in html
    assert "sources/m7-7" not in html
    document = await in_database(lambda: MemoryDocument.objects.get(path="memory/2026-11-03.md"))
    for mark in ("m2-1", "m1-1"):
        response = await in_database(opened, client, ada, last, mark)
        assert response["Location"] == f"/memory/{document.pk}/#line-3"
    assert (await in_database(opened, client, ada, last, "m7-7")).status_code == 404
    assert (await in_database(opened, client, stranger, last, "m2-1")).status_code == 404


async def test_a_moment_of_another_conversation_is_opened(ada, known, scripted, client):
    earlier = Talk(ada, scripted)
    said = await earlier.say("My sister Maria plays the bouzouki in Chania.")
    await in_database(lambda: conversations.run(conversations.request(earlier.session)))
    scripted.script(search(query="Who plays the bouzouki?"), model.answer("Maria [m2-1]."))
    last = await Talk(ada, scripted).say("Hello, who plays?")
    html = await page_of(client, ada, last)
    assert 'aria-label="Source 1: a conversation, ' in html
    response = await in_database(opened, client, ada, last, "m2-1")
    assert response["Location"].startswith(f"/c/{said.session_id}#message-")


async def test_a_page_of_a_document_is_opened_and_listed_until_it_is_removed(ada, known, scripted, client):
    pages = files.pdf(*["The harbour was closed in winter. " * 30] * 12, "Jasmine tea is stored in the cellar.")

    def put():
        version = library.add(known, ada, "plan.pdf", pages)
        reading.run(version.pk)
        return version.file

    file = await in_database(put)
    scripted.script(search("documents_search", "Where is the jasmine tea?"), model.answer("In the cellar [d2-1]."))
    last = await Talk(ada, scripted).say("Where is the tea?")
    assert 'aria-label="Source 1: plan.pdf, page 13"' in await page_of(client, ada, last)
    assert "passage" in await page_of(client, ada, last)
    response = await in_database(opened, client, ada, last, "d2-1")
    assert response["Location"].startswith(f"/memory/documents/{file.pk}/?page=13&lines=")
    listed = await in_database(client.get, f"/messages/{last.pk}/memories")
    assert "plan.pdf, page 13" in listed.content.decode()
    await in_database(LibraryFile.objects.all().delete)
    assert (await in_database(opened, client, ada, last, "d2-1")).status_code == 404


async def test_a_model_that_cites_by_itself_gets_search_results_and_its_citations_back(ada, known, client, scripted):
    await in_database(descriptions.refresh_if_due)
    scripted.script(
        search(),
        model.answer(model.text("It leaves "), model.text("at seven", cites=["m2-1"]), model.text(" sharp.")),
        model.answer("Gladly."),
    )
    talk = Talk(ada, scripted)
    last = await talk.say(ASKED)
    (result,) = scripted.messages[1].body["messages"][-1]["content"]
    found = result["content"][0]
    assert (found["type"], found["source"], found["title"]) == ("search_result", "m2-1", "memory/2026-11-03.md:3")
    assert found["citations"] == {"enabled": True}
    assert FERRY in found["content"][0]["text"]
    assert last.text == "It leaves at seven sharp."
    html = await page_of(client, ada, last)
    assert f'at seven<sup class="cite"><a href="/messages/{last.pk}/sources/m2-1"' in html
    await talk.say("Thank you!")
    # The strict server refuses any change of what its thinking followed.
    assert talk.thoughts() == 2
    cited = [block for block in talk.sent["messages"][3]["content"] if block.get("citations")]
    (citation,) = cited[0]["citations"]
    assert (citation["search_result_index"], citation["source"]) == (0, "m2-1")
    assert citation["cited_text"] == found["content"][0]["text"]
    # What was cited is forgotten there as well.
    await in_database(forget, await in_database(lambda: Space.objects.own_of(ada)), [f"- {FERRY}"], ada)
    stored = await in_database(lambda: json.dumps(list(Message.objects.values_list("content", flat=True))))
    assert FERRY not in stored.replace(ASKED, "")
    await talk.say("And now?")


async def test_a_server_that_refuses_search_results_is_sent_them_as_text(ada, known, scripted):
    await in_database(descriptions.refresh_if_due)
    scripted.script(
        search(),
        model.bad_request("messages.2.content.0.tool_result: Input tag 'search_result' found does not match"),
        model.answer("At seven [m2-1]."),
    )
    last = await Talk(ada, scripted).say(ASKED)
    (result,) = scripted.messages[-1].body["messages"][-1]["content"]
    assert json.loads(result["content"])["mark"] == "m2-1"
    assert last.text == "At seven."
    assert not facts.cached_facts(MODEL).cites
    row = await in_database(lambda: Message.objects.get(role=Message.Role.TOOL))
    assert list(row.meta[META_KEY]["cited"].values()) == ["memory_search"]


async def test_a_shared_copy_and_a_file_name_sources_without_private_addresses(ada, known, scripted):
    scripted.script(search(), model.answer("At seven [m2-1]."))
    talk = Talk(ada, scripted)
    await talk.say(ASKED)
    session = await in_database(lambda: talk.session)
    copied = json.dumps(await in_database(share.snapshot, session))
    assert 'At seven<sup class=\\"cite\\">1</sup>.' in copied
    assert "/sources/" not in copied
    written = await in_database(lambda: "".join(export.as_markdown(session)))
    assert "At seven[^4-1]." in written
    assert "\n[^4-1]: memory/2026-11-03.md, line 3\n" in written


async def test_members_open_what_a_shared_answer_cites_until_they_lose_their_role(ada, known, scripted, client):
    cast = await in_database(shared_conversation, ada)
    author = Author(Source.PAGE, cast.olga)

    def remember():
        revision = apply(cast.space, "memory/2026-11-04.md", Append(f"- {FERRY}"), author)
        index_document(revision.document_id)
        return revision.document_id

    document = await in_database(remember)
    scripted.script(search(), model.answer("At seven [m4-1]."))
    talk = Talk(ada, scripted)
    talk.session_id = cast.session.pk
    last = await talk.say(ASKED)
    for person in (cast.ed, cast.rita):
        response = await in_database(opened, client, person, last, "m4-1")
        assert response["Location"] == f"/memory/{document}/#line-1"
    assert (await in_database(opened, client, cast.fay, last, "m4-1")).status_code == 404
    await in_database(take_role, cast.space, cast.rita)
    assert (await in_database(opened, client, cast.rita, last, "m4-1")).status_code == 404


async def test_what_was_cited_before_a_conversation_was_shared_is_for_nobody(ada, known, scripted, client):
    await in_database(descriptions.refresh_if_due)
    scripted.script(search(), model.answer(model.text("At seven", cites=["m2-1"])), model.answer("Gladly."))
    talk = Talk(ada, scripted)
    last = await talk.say(ASKED)
    cast = await in_database(shared_conversation, ada)
    shared = await in_database(lambda: sharing.share(ada, talk.session, cast.space))
    for person in (cast.ed, ada):
        html = await page_of(client, person, last)
        assert 'At seven<sup class="cite">1</sup>' in html
        assert "2026-11-03" not in html
        assert (await in_database(opened, client, person, last, "m2-1")).status_code == 404
    exported = await in_database(lambda: "".join(export.as_json(shared)))
    assert "leaves at seven" not in exported
    await talk.say("Thank you!")
    assert "leaves at seven" not in json.dumps(talk.sent["messages"])
