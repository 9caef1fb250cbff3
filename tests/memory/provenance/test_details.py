"""The details of a message say what of memory went to the model with it, and whose it is."""

from chat.context.prompt import build_request
from chat.models import Head, Message
from chat.rendering.details import details_of
from chat.rendering.shown import ShownMessage
from memory.index.documents import index_document
from tests.conversations import send, settle


def test_files_curated_memory_and_recalled_lines_are_named_and_can_be_opened(ada, append, space, client, stranger):
    append(space, "Be brief.\n", path="AGENTS.md")
    append(space, "- Ada drinks tea.\n")
    day = append(space, "- The ferry to Naxos leaves at seven.\n", path="memory/2026-11-20.md").document
    index_document(day.pk)
    said = send(ada, "When does my ferry to Naxos leave?")
    build_request(said.turn)
    settle(said)
    found = details_of(ShownMessage(Message.objects.get(pk=said.answer.pk))).from_memory
    assert [each.name for each in found] == ["AGENTS.md", "MEMORY.md", "memory/2026-11-20.md:1-1"]
    assert [each.text for each in found] == ["Be brief.", "- Ada drinks tea.", "- The ferry to Naxos leaves at seven."]
    client.force_login(ada)
    page = client.get(f"/messages/{said.answer.pk}/details").content.decode()
    assert f'href="/memory/{day.pk}/"' in page
    assert "leaves at seven" in page


def test_the_provenance_is_of_the_data_and_not_of_the_prompts_words(ada, append, space):
    append(space, "- Ada drinks tea.\n" + "- More.\n" * 5000 + "- Ada has a cat.\n")
    said = send(ada, "Hello")
    build_request(said.turn)
    settle(said)
    # Words that look like a quotation are none.
    Head.objects.update(system='<memory file="SOUL.md">\nI am no memory.\n</memory>')
    (found,) = details_of(ShownMessage(Message.objects.get(pk=said.answer.pk))).from_memory
    assert found.name == "MEMORY.md"
    assert found.text.startswith("- Ada drinks tea.\n")
    assert "characters are left out here; find them in MEMORY.md" in found.text
    assert found.text.endswith("- Ada has a cat.")


def test_a_conversation_without_memory_says_so(ada, client):
    said = send(ada)
    build_request(said.turn)
    settle(said)
    client.force_login(ada)
    assert "No memory was used." in client.get(f"/messages/{said.message.pk}/details").content.decode()
