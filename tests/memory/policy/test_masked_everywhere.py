"""A secret that a person has written is masked wherever its message is listed, found or summarised."""

import io
import json
import zipfile

import pytest

from chat.context.prompt import build_request
from chat.conversations import transcript
from chat.models import ChatSession, ContextRound
from memory.models import DocumentJob, MemoryDocument
from memory.notes import document_jobs
from memory.transfer.archive import export_archive
from tests.conversations import FINISHED, send
from tests.scripted import answer
from tests.summaries import LONG, summarised

SECRET = "hunter2!"


@pytest.fixture
def talk(ada):
    """A long conversation, which begins with a secret."""
    session_id = None
    for number in range(4):
        said = send(ada, f"The wifi password is {SECRET}, for visit {number}. {LONG}", session_id)
        build_request(said.turn)
        usage = {"input_tokens": 8_000 + 600 * number, "output_tokens": 300}
        ended = FINISHED | {"usage": usage, "model": "claude-sonnet-5-5"}
        transcript.finish_turn(
            said.turn, said.answer, [{"type": "text", "text": f"Noted. {LONG}"}], "complete", **ended
        )
        session_id = said.message.session_id
    return ChatSession.objects.select_related("agent", "owner", "head").get(pk=session_id)


def test_it_is_in_no_title_no_list_and_no_search_result(talk, client, ada):
    client.force_login(ada)
    assert "[password removed]" in talk.title
    for path in ("/", "/conversations", "/search?q=wifi", "/sessions"):
        html = client.get(path).content.decode()
        assert "wifi password is [password removed]" in html, path
        assert SECRET not in html, path


def test_it_is_in_no_summary_and_in_none_that_is_shown_or_given_to_a_program(talk, client, ada, adas):
    made = summarised(talk)
    stored = ContextRound.objects.filter(pk=made.pk).values("summary", "text", "supplement", "steps").get()
    assert "wifi" in json.dumps(stored)
    assert SECRET not in json.dumps(stored)
    client.force_login(ada)
    assert SECRET not in client.get(f"/c/{talk.pk}/rounds/{made.number}").content.decode()
    assert SECRET not in adas.get(f"/sessions/{talk.pk}/rounds").content.decode()


def test_it_is_in_no_exported_summary(talk, ada, scripted):
    told = {"title": f"The wifi password is {SECRET}", "summary": f"The wifi password is {SECRET}."}
    scripted.default = lambda body: answer(json.dumps(told))
    job = document_jobs.request(talk, DocumentJob.Kind.RECENT, talk.last_seq)
    document_jobs.run(job.pk)
    content = MemoryDocument.objects.get(path__contains="Recent Conversations").content
    assert "The wifi password is (password removed)" in content
    assert SECRET not in content
    with zipfile.ZipFile(io.BytesIO(export_archive(ada))) as exported:
        texts = [exported.read(name) for name in exported.namelist()]
    assert any(b"wifi" in text for text in texts)
    assert not any(SECRET.encode() in text for text in texts)
