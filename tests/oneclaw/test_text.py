"""Text that cannot be stored is refused with a sentence or replaced, wherever it comes in; all count it alike."""

import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from chat import extensions
from chat.conversations import transcript
from chat.live.frames import decoded
from chat.models import ChatSession, Message
from memory.documents import write
from memory.models import MemoryDocument
from oneclaw.models import Space
from oneclaw.text import InvalidTextError, replace_unstorable_in_json, validated_text
from tests.conversations import FINISHED, send, settle

UNSTORABLE = ["a\0b", "half \ud800", "\udfff"]
SENTENCE = "contains characters that cannot be stored"


@pytest.mark.parametrize("text", UNSTORABLE)
def test_a_frame_with_it_is_refused(text):
    # JSON can say what UTF-8 cannot.
    said = decoded(json.dumps({"type": "send", "text": text}))["text"]
    with pytest.raises(InvalidTextError, match=SENTENCE) as refused:
        validated_text(said, max_chars=100)
    assert refused.value.code == "bad_text"


@pytest.mark.parametrize(
    ("text", "length"),
    [("a" * 5000, 5000), ("🦞" * 5000, 5000), ("e\u0301" * 2500, 5000), ("a\r\n" * 2500, 5000), ("👩‍🚀" * 1000, 3000)],
)
def test_length_is_counted_in_code_points_and_a_line_end_is_one(text, length):
    assert len(validated_text(text, max_chars=length)) == length
    with pytest.raises(InvalidTextError, match=f"has {length + 1:,} characters; at most {length:,}"):
        validated_text(text + "a", max_chars=length)


def test_the_form_and_the_title_refuse_it_with_a_sentence(client, ada):
    client.force_login(ada)
    accepted = send(ada)
    settle(accepted)
    session = accepted.turn.session_id
    answer = client.post(f"/c/{session}/rename", {"title": "a\0b"})
    assert answer.status_code == 422
    assert SENTENCE in answer.content.decode()
    assert ChatSession.objects.get().title == "Hello"


@pytest.mark.django_db(transaction=True)
def test_a_posted_message_refuses_it_with_a_sentence(client, ada):
    client.force_login(ada)
    answer = client.post(f"/c/{uuid.uuid4()}/send", {"text": "a\0b", "client_id": str(uuid.uuid4())})
    assert answer.status_code == 422
    assert SENTENCE in answer.content.decode()
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_bytes_that_are_no_utf8_are_replaced_or_refused(client, ada, scripted):
    client.force_login(ada)
    session, client_id = uuid.uuid4(), str(uuid.uuid4())
    frame = b'{"type": "send", "client_id": "%s", "text": "a\xff"}' % client_id.encode()
    answer = client.post(f"/c/{session}/frame", frame, content_type="application/json").json()
    assert (answer["code"], answer["client_id"]) == ("bad_text", client_id)


@pytest.mark.parametrize("text", UNSTORABLE)
def test_what_a_model_says_and_passes_to_tools_is_mended(ada, text):
    accepted = send(ada)
    block = {"type": "tool_use", "id": "toolu_1", "name": "note", "input": {text: [text]}}
    transcript.finish_turn(
        accepted.turn, accepted.answer, [{"type": "text", "text": text}, block], "stopped", **FINISHED
    )
    stored = Message.objects.get(pk=accepted.answer.pk)
    assert "\ufffd" in stored.text
    assert stored.content[1]["input"] == replace_unstorable_in_json({text: [text]})


@pytest.mark.parametrize("text", UNSTORABLE)
def test_a_tool_that_is_handed_it_saves_nothing(ada, text):
    from chat.turns.tools import call_tool

    accepted = send(ada)
    use = {"type": "tool_use", "id": "toolu_1", "name": "save_memory", "input": {"content": text}}
    assert extensions.find_tool(accepted.turn.session, "save_memory")
    result, card = call_tool(accepted.turn, accepted.answer, use, "")
    assert result["is_error"]
    assert card["summary"] == {"code": "memory.unstorable", "params": {"path": "MEMORY.md"}}
    assert not MemoryDocument.objects.filter(content__contains="a").exists()


def test_the_admin_refuses_it_with_a_sentence(client, admin_person, ada):
    space = Space.objects.own_of(ada)
    author = write.Author(write.Source.PAGE, ada)
    document = write.apply(space, "MEMORY.md", write.Append("- tea\n"), author).document
    client.force_login(admin_person)
    address = f"/admin/memory/memorydocument/{document.pk}/change/"
    answer = client.post(address, {"content": "a\0b", "base_version": 1})
    assert answer.status_code == 200
    assert "Null characters are not allowed" in answer.content.decode()
    document.refresh_from_db()
    assert document.content == "- tea\n"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [(b"a\0b\n", "cannot hold this text"), (b"caf\x81\xff\xfe\x8f\n", "its encoding is not known")],
)
def test_a_file_with_it_is_not_taken_in(ada, tmp_path, data, sentence, capsys):
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "notes.md").write_bytes(data)
    with pytest.raises(CommandError, match="1 files were not taken"):
        call_command("memory", "import", str(folder), user=ada.email)
    assert sentence in capsys.readouterr().out
    assert not MemoryDocument.objects.exists()
