"""What was saved and contradicts a line, or lost a secret, waits for the person's decision."""

import uuid

import pytest
from django.db import connection

from chat.conversations import transcript
from chat.conversations.message_pages import page_messages
from chat.library import search
from chat.models import Message
from chat.turns.tools import call_tool
from memory.documents import undo, write
from memory.documents.write import Author, Replace, Source
from memory.models import Comparison, Decision, MemoryRevision
from memory.tools import comparisons, decisions
from oneclaw.models import SpaceMember
from tests.conversations import FINISHED, send
from tests.scripted import answer

SECRET = "hunter2!"


@pytest.fixture
def save(ada, django_capture_on_commit_callbacks):
    """save("Ada likes tea.", said=…): one turn of Ada's in which the model saves this; the conversation."""

    def save(content, said="Remember it.", session_id=None):
        accepted = send(ada, said, session_id)
        use = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": "save_memory"}
        use["input"] = {"content": content}
        results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
        with django_capture_on_commit_callbacks(execute=True):
            block, card = call_tool(accepted.turn, accepted.answer, use, "")
        following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {use["id"]: card})
        transcript.finish_turn(accepted.turn, following, [{"type": "text", "text": "Done."}], "complete", **FINISHED)
        return accepted.message.session

    return save


@pytest.fixture
def contradiction(save, scripted):
    """Ada lives in Zurich, and since just now in Bern."""
    save("Ada lives in Zurich.")
    scripted.script(answer("1"))
    session = save("Ada lives in Bern.")
    for comparison_id in Comparison.objects.due_ids():
        comparisons.run(comparison_id)
    assert Decision.objects.get().kind == "contradiction"
    return session


@pytest.fixture
def secret(save):
    return save(f"The wifi password is {SECRET}", said=f"Remember: the wifi password is {SECRET}")


@pytest.fixture
def at(client, ada):
    client.force_login(ada)
    return client


def test_a_secret_that_is_only_masked_is_not_asked_about(save, settings):
    settings.SCREEN = settings.SCREEN | {"password": "mask"}
    save(f"The wifi password is {SECRET}", said=f"Remember: the wifi password is {SECRET}")
    assert MemoryRevision.objects.get().document.content == "- The wifi password is [password removed]\n"
    assert not Decision.objects.exists()


def test_a_text_is_kept_as_said_only_if_all_its_secrets_may_be(save, settings):
    settings.SCREEN = settings.SCREEN | {"password": "mask"}
    text = f"The wifi password is {SECRET}, the card 4111 1111 1111 1111"
    save(text, said=f"Remember: {text}")
    decision = Decision.objects.get()
    assert decisions.choices_of(decision) == ["masked", "remove"]
    settings.SCREEN = settings.SCREEN | {"password": "ask"}
    assert decisions.choices_of(decision) == ["masked", "as_said", "remove"]


def decide(client, choice, **options):
    return client.post(f"/memory/decisions/{Decision.objects.get().pk}", {"choice": choice}, **options)


def shown(session):
    return page_messages(Message.objects.filter(session=session).shown())


@pytest.mark.parametrize(
    ("choice", "content", "told"),
    [
        ("both", "- Ada lives in Zurich.\n- Ada lives in Bern.\n", "You kept both lines."),
        ("new", "- Ada lives in Bern.\n", "You kept the new line"),
        ("old", "- Ada lives in Zurich.\n", "You kept the old line"),
    ],
)
def test_of_two_lines_that_contradict_each_other_the_person_keeps_what_is_right(
    at, contradiction, space, document_of, choice, content, told
):
    page = at.get(f"/c/{contradiction.pk}").content.decode()
    assert "<dd>Ada lives in Zurich.</dd>" in page
    assert "<dd>Ada lives in Bern.</dd>" in page
    assert "Which is right?" in at.get("/memory/inbox/").content.decode()
    home = at.get("/memory/").content.decode()
    assert "1 question for you" in home
    assert "A newer line contradicts it" in home
    assert "It contradicts an older line" in home
    before = MemoryRevision.objects.count()
    card = decide(at, choice, headers={"HX-Request": "true"}).content.decode()
    assert card.startswith("<tool-card")
    assert told in card
    decide(at, choice)
    assert document_of(space).content == content
    assert MemoryRevision.objects.count() == before + (choice != "both")
    if choice != "both":
        assert "contradicted each other" in str(MemoryRevision.objects.latest("pk").reason)
    # As it is stored, and after a reload.
    assert told in shown(contradiction)
    assert "waits for you in the inbox" not in at.get("/memory/").content.decode()
    assert "Nothing is waiting for you." in at.get("/memory/inbox/").content.decode()


@pytest.mark.parametrize(
    ("choice", "content"),
    [
        ("masked", "- The wifi password is [password removed]\n"),
        ("as_said", f"- The wifi password is {SECRET}\n"),
        ("remove", ""),
    ],
)
def test_what_becomes_of_a_line_without_its_secret(at, secret, space, document_of, choice, content):
    assert "Save it with the secret" in at.get(f"/c/{secret.pk}").content.decode()
    decide(at, choice)
    assert document_of(space).content == content
    heading = "No longer in memory" if choice == "remove" else "Saved to memory"
    assert heading in shown(secret)


def test_a_secret_is_kept_nowhere_for_the_decision(secret):
    with connection.cursor() as cursor:
        for table in ("memory_decision", "memory_memoryrevision", "memory_memorydocument", "memory_memorychunk"):
            cursor.execute(f"SELECT row_to_json({table})::text FROM {table}")
            assert SECRET not in str(cursor.fetchall())


def test_a_secret_that_the_person_did_not_write_cannot_be_saved_as_it_was_said(at, save, space, document_of):
    session = save(f"The wifi password is {SECRET}", said="Make up a password and remember it.")
    assert "Save it with the secret" not in at.get(f"/c/{session.pk}").content.decode()
    assert "The original text no longer exists" in decide(at, "as_said", follow=True).content.decode()
    assert SECRET not in document_of(space).content
    assert Decision.objects.get().is_open


def test_a_decision_works_after_later_changes_of_other_lines(at, contradiction, space, append, document_of):
    append(space, "- Ada likes tea.")
    content = "# About Ada\n\n" + document_of(space).content
    write.apply(space, "MEMORY.md", Replace(content, 3), Author(Source.PAGE))
    decide(at, "new")
    assert document_of(space).content == "# About Ada\n\n- Ada lives in Bern.\n- Ada likes tea.\n"


def test_a_decision_about_a_line_that_was_changed_since_says_that_it_cannot_be_done(
    at, contradiction, space, document_of
):
    content = "- Ada lives in Zurich, Wiedikon.\n- Ada lives in Bern.\n"
    write.apply(space, "MEMORY.md", Replace(content, 2), Author(Source.PAGE))
    assert "waits for you in the inbox" not in at.get("/memory/").content.decode()
    assert "Nothing is waiting for you." in at.get("/memory/inbox/").content.decode()
    card = decide(at, "new", headers={"HX-Request": "true"}).content.decode()
    assert "was changed in the meantime" in card
    assert document_of(space).content == content
    content = content.replace("Bern.", "Bern now.")
    write.apply(space, "MEMORY.md", Replace(content, 3), Author(Source.PAGE))
    assert "its lines were changed again later" in decide(at, "old", follow=True).content.decode()
    assert document_of(space).content == content


def test_another_choice_after_the_first_changes_nothing(at, contradiction, space, document_of):
    decide(at, "new")
    assert "already decided: keep the new" in decide(at, "old", follow=True).content.decode()
    assert document_of(space).content == "- Ada lives in Bern.\n"


def test_only_who_may_write_decides_and_only_what_was_asked(client, ada, stranger, contradiction, space, document_of):
    client.force_login(stranger)
    assert decide(client, "new").status_code == 404
    assert not decisions.open_questions(stranger)
    SpaceMember.objects.filter(space=space, user=ada).update(role="reader")
    client.force_login(ada)
    assert decide(client, "new").status_code == 403
    SpaceMember.objects.filter(space=space, user=ada).update(role="owner")
    for choice in ("masked", "", "x"):
        assert decide(client, choice).status_code == 400
    assert document_of(space).version == 2


def test_without_script_the_way_leads_back_to_the_conversation(at, contradiction):
    page = at.get(f"/c/{contradiction.pk}").content.decode()
    form = page[page.index('<form class="decision"') :]
    assert "csrfmiddlewaretoken" in form[: form.index("</form>")]
    back = at.post(f"/memory/decisions/{Decision.objects.get().pk}", {"choice": "both", "from": "chat"})
    assert back["Location"] == f"/c/{contradiction.pk}"


def test_the_card_of_what_was_taken_back_says_so_and_offers_no_undo(save, ada, space):
    session = save("Ada likes tea.")
    assert "Saved to memory" in shown(session)
    assert ">Undo</a>" in shown(session)
    taken_back = undo.undo(MemoryRevision.objects.get(), Author(Source.UNDO, ada))
    assert "No longer in memory" in shown(session)
    assert ">Undo</a>" not in shown(session)
    undo.undo(taken_back, Author(Source.UNDO, ada))
    assert "Saved to memory" in shown(session)


def test_a_masked_secret_is_in_no_title_and_no_search_result(at, secret, ada):
    secret.refresh_from_db()
    assert SECRET not in secret.title
    assert "[password removed]" in secret.title
    [found] = search.messages(ada, "wifi", 1)
    assert SECRET not in found.snippet


def test_a_secret_is_taken_out_of_the_conversation_on_request(at, secret, stranger, client):
    decision = Decision.objects.get()
    assert "Also remove the secret from the conversation" in at.get(f"/c/{secret.pk}").content.decode()
    client.force_login(stranger)
    assert client.post(f"/memory/decisions/{decision.pk}/take-out").status_code == 404
    client.force_login(secret.owner)
    at.post(f"/memory/decisions/{decision.pk}/take-out")
    with connection.cursor() as cursor:
        for table in ("chat_message", "chat_chatsession", "chat_messagewords", "memory_transcriptchunk"):
            cursor.execute(f"SELECT row_to_json({table})::text FROM {table}")
            assert SECRET not in str(cursor.fetchall())
    assert "the wifi password is [password removed]" in shown(secret)
    assert "Save it with the secret" not in at.get(f"/c/{secret.pk}").content.decode()
