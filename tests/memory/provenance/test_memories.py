"""An answer's memories are listed for its owner, and what they say of one is kept, explained and taken back."""

import re
from dataclasses import replace

import pytest

from chat.models import Message
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting.forget import forget
from memory.index import conversations
from memory.index.documents import index_document
from memory.library import files as library
from memory.library import reading
from memory.library.search import search_files
from memory.models import GoldenQuestion, LineFeedback, MemoryDocument
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces.lifecycle import SpaceDraft, create
from oneclaw.threads import in_database
from tests import scripted as model
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def known(ada, settings):
    """Ada's memory: a saved line and the notes of a day."""
    settings.EMBEDDINGS = "none"
    space = Space.objects.own_of(ada)
    for path, text in (
        ("MEMORY.md", "- Ada's sister lives in Lisbon."),
        ("memory/2026-11-03.md", "- The ferry to Naxos leaves at seven."),
    ):
        revision = apply(space, path, Append(text), Author(Source.PAGE, ada))
        index_document(revision.document_id)
    return space


@pytest.fixture
def asked(ada, known, scripted, client):
    """await asked(words, *replies): the id of the answer's last message, with Ada signed in."""

    async def asked(words, *replies):
        scripted.script(*replies)
        last = await Talk(ada, scripted).say(words)
        await in_database(client.force_login, ada)
        return last.pk

    return asked


def page(client, path, **headers):
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


async def listed(client, message_id):
    return await in_database(page, client, f"/messages/{message_id}/memories", **{"HX-Request": "true"})


def form_of(html, number=0):
    return re.findall(r'hx-post="(/messages/\d+/memories/\w+)"', html)[number]


async def test_what_was_recalled_is_listed_with_its_day_place_and_reason(asked, client, known):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))
    html = await listed(client, answer)
    assert "The ferry to Naxos leaves at seven." in html
    document = await in_database(lambda: MemoryDocument.objects.get(path="memory/2026-11-03.md"))
    assert f'<a href="/memory/{document.pk}/#line-1">Notes of 3 November 2026</a>' in html
    assert 'href="/memory/lab?q=When+does+my+ferry+to+Naxos+leave%3F">Why was this found?</a>' in html
    assert "/memory/forget?q=The%20ferry" in html


async def test_what_a_search_found_and_the_prompt_held_is_listed_in_the_same_way(asked, client):
    search = model.answer(model.tool_use("memory_search", {"query": "ferry Naxos", "max_results": 1}))
    answer = await asked("Tell me about my sister.", search, model.answer("Your sister lives in Lisbon."))
    html = await listed(client, answer)
    assert html.count('<li class="memory"') == 2
    assert 'href="/memory/lab?q=ferry+Naxos">Why was this found?</a>' in html
    assert "part of every conversation" in html
    assert "You, " in html


async def test_the_line_under_the_answer_says_the_numbers(asked, client):
    save = model.answer(model.tool_use("save_memory", {"content": "Ada takes the ferry to Naxos."}))
    answer = await asked("Remember: I take the ferry to Naxos. When does it leave?", save, model.answer("At seven."))
    # The card of the save is near, so only the page repeats it.
    assert "Ada takes the ferry to Naxos." not in await listed(client, answer)
    html = await in_database(page, client, f"/messages/{answer}/memories")
    assert "Ada takes the ferry to Naxos." in html
    assert "Saved</p>" in html


async def test_the_line_quotes_what_was_used_and_forgets_it(asked, client, known, ada):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))

    def line():
        return Message.objects.get(pk=answer).meta["answer_lines"]["memory"]

    quote = {"text": "The ferry to Naxos leaves at seven.", "path": "", "is_own": False, "title": ""}
    assert (await in_database(line))["quote"] == {**quote, "day": "2026-11-03"}
    session = (await in_database(lambda: Message.objects.get(pk=answer))).session_id
    html = await in_database(page, client, f"/c/{session}")
    assert "“The ferry to Naxos leaves at seven.”" in html
    await in_database(forget, known, ["- The ferry to Naxos leaves at seven."], ada)
    assert "quote" not in await in_database(line)
    html = await in_database(page, client, f"/c/{session}")
    assert "answer-line" in html
    assert "“The ferry" not in html


async def test_what_a_space_knew_is_not_quoted_after_one_has_left_it(ada, known, scripted, client, stranger):
    def make():
        space = create(ada, SpaceDraft("Harbour"))
        index_document(
            apply(space, "MEMORY.md", Append("- The lamp needs 24 V."), Author(Source.PAGE, ada)).document_id
        )
        return space

    space = await in_database(make)
    answer = model.answer("24 V, as the lamp needs.")
    scripted.script(answer)
    talk = Talk(ada, scripted)
    last = await talk.say("Which voltage does the lamp need?")

    def quote():
        meta = Message.objects.get(pk=last.pk).meta
        meta["answer_lines"] = {
            "memory": {
                "used": 1,
                "quote": {
                    "text": "The lamp needs 24 V.",
                    "path": f"spaces/{space.pk}/MEMORY.md",
                    "is_own": False,
                    "day": "",
                    "title": "",
                },
            }
        }
        Message.objects.filter(pk=last.pk).update(meta=meta)

    await in_database(quote)
    await in_database(client.force_login, ada)
    assert "“The lamp needs 24 V.”" in await in_database(page, client, f"/c/{talk.session_id}")

    def leave():
        SpaceMember.objects.create(space=space, user=stranger, role=SpaceMember.Role.OWNER)
        space.members.filter(user=ada).delete()

    await in_database(leave)
    html = await in_database(page, client, f"/c/{talk.session_id}")
    assert "“The lamp" not in html
    assert "Used 1 memory" in html


async def test_saves_far_above_are_undone_from_the_line(asked, client, known, stranger, ada):
    save = model.answer(model.tool_use("save_memory", {"content": "Ada takes the ferry to Naxos."}))
    answer = await asked("Remember: I take the ferry to Naxos.", save, model.answer("Done. " * 200))
    message = await in_database(lambda: Message.objects.get(pk=answer))
    html = await in_database(page, client, f"/c/{message.session_id}")
    assert "+1 saved" in html
    assert "Ada takes the ferry to Naxos." in await listed(client, answer)
    address = f"/messages/{answer}/memories/undo"
    await in_database(client.force_login, stranger)
    assert (await in_database(client.post, address)).status_code == 404
    await in_database(client.force_login, ada)
    response = await in_database(client.post, address, headers={"HX-Request": "true"})
    assert "Undone." in response.content.decode()
    assert "takes the ferry" not in await in_database(lambda: known.documents.get(path="MEMORY.md").content)
    assert "+1 saved" not in await in_database(page, client, f"/c/{message.session_id}")
    response = await in_database(client.post, address, follow=True)
    assert "It is no longer in memory." in response.content.decode()


async def test_nobody_else_sees_or_rates_them(asked, client, stranger):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))
    address = form_of(await listed(client, answer))
    await in_database(client.force_login, stranger)
    assert (await in_database(client.get, f"/messages/{answer}/memories")).status_code == 404
    assert (await in_database(client.post, address, {"kind": "wrong"})).status_code == 404
    assert not await in_database(LineFeedback.objects.exists)


async def test_what_is_said_is_kept_explained_asked_in_the_lab_and_taken_back(asked, client, ada):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))
    address = form_of(await listed(client, answer))
    htmx = {"headers": {"HX-Request": "true"}}
    html = (await in_database(client.post, address, {"kind": "outdated"}, **htmx)).content.decode()
    assert "that this is outdated. It ranks lower in your searches." in html
    assert "You said on " in html
    row = await in_database(lambda: LineFeedback.objects.select_related("golden").get())
    assert (row.user_id, LineFeedback.Kind(row.kind)) == (ada.pk, LineFeedback.Kind.OUTDATED)
    assert (row.golden.expected, row.golden.is_unwanted) == ("The ferry to Naxos leaves at seven.", True)
    # Another word replaces it.
    await in_database(client.post, address, {"kind": "helpful"}, **htmx)
    questions = await in_database(lambda: list(GoldenQuestion.objects.values_list("is_unwanted", flat=True)))
    assert questions == [False]
    assert "that this helped" in await listed(client, answer)
    html = (await in_database(client.post, address, {"kind": ""}, **htmx)).content.decode()
    assert "You said" not in html
    assert not await in_database(LineFeedback.objects.exists)
    assert not await in_database(GoldenQuestion.objects.exists)
    assert (await in_database(client.post, address, {"kind": "nonsense"})).status_code == 400


async def test_without_script_it_is_a_page(asked, client):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))
    html = await in_database(page, client, f"/messages/{answer}/memories")
    assert "<h1>Memories of this answer</h1>" in html
    response = await in_database(client.post, form_of(html), {"kind": "wrong"}, follow=True)
    assert "that this is wrong" in response.content.decode()


async def test_a_forgotten_line_takes_its_feedback_along(asked, client, known, ada):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))
    await in_database(client.post, form_of(await listed(client, answer)), {"kind": "wrong"})
    await in_database(forget, known, ["- The ferry to Naxos leaves at seven."], ada)
    assert not await in_database(LineFeedback.objects.exists)
    assert "leaves at seven" not in await listed(client, answer)


async def test_a_line_that_was_changed_since_says_so(asked, client, known, ada):
    answer = await asked("When does my ferry to Naxos leave?", model.answer("At seven."))

    def change():
        document = MemoryDocument.objects.get(path="memory/2026-11-03.md")
        MemoryDocument.objects.filter(pk=document.pk).update(content="- Another line.", version=document.version + 1)
        index_document(document.pk)

    await in_database(change)
    html = await listed(client, answer)
    assert "changed or removed since" in html
    assert "hx-post" not in html


async def test_what_was_said_in_a_conversation_leads_to_its_moment(ada, known, scripted, client):
    earlier = Talk(ada, scripted)
    await earlier.say("The harbour master of Naxos is called Stavros.")
    await in_database(lambda: conversations.run(conversations.request(earlier.session)))
    search = model.answer(model.tool_use("memory_search", {"query": "harbour master Stavros", "max_results": 1}))
    scripted.script(search, model.answer("Stavros."))
    last = await Talk(ada, scripted).say("Who is the harbour master?")
    await in_database(client.force_login, ada)
    html = await listed(client, last.pk)
    first = await in_database(lambda: earlier.messages().first())
    assert f'href="/c/{earlier.session_id}#message-{first.pk}@1"' in html
    assert "You in “" in html
    # The card of the search leads there, too.
    card = await in_database(lambda: last.session.messages.get(role="tool").meta["cards"])
    assert next(iter(card.values()))["addresses"] == [f"/c/{earlier.session_id}#message-{first.pk}@1"]


async def test_what_is_said_of_a_passage_of_a_document_lowers_it_for_that_person(asked, client, ada, known, settings):
    settings.LIBRARY_LIMITS = replace(settings.LIBRARY_LIMITS, whole_max_chars=0)

    def put():
        texts = {"old.md": "The ferry to Naxos leaves from pier two.", "new.md": "Ferry to Naxos: pier six."}
        for name, text in texts.items():
            reading.run(library.add(known, ada, name, text.encode()).pk)

    def found(user=ada):
        return [each.file.name for each in search_files([known], "From which pier leaves the ferry to Naxos?", user)]

    await in_database(put)
    first = (await in_database(found))[0]
    search = model.answer(model.tool_use("documents_search", {"query": "pier of the ferry to Naxos"}))
    answer = await asked("From which pier?", search, model.answer("From one of them."))
    html = await listed(client, answer)
    rows = [row for row in html.split('<li class="memory"')[1:] if first in row]
    assert "Forget" not in rows[0]
    address = form_of(rows[0])
    said = (await in_database(client.post, address, {"kind": "wrong"}, headers={"HX-Request": "true"})).content.decode()
    assert "that this is wrong. It ranks lower in your searches." in said
    assert (await in_database(found))[0] != first
    # It is no question of the lab, which asks memory alone.
    assert not await in_database(GoldenQuestion.objects.exists)
    # Forgetting something else keeps it, and with the file it goes.
    await in_database(forget, known, ["The ferry to Naxos leaves at seven."], ada)
    assert await in_database(LineFeedback.objects.count) == 1
    file = await in_database(lambda: known.library_files.get(name=first))
    await in_database(library.remove, file, ada)
    assert not await in_database(LineFeedback.objects.exists)
    assert "no longer there" in await listed(client, answer)
