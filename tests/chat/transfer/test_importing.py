"""Conversations out of files of other programs and of our own: what comes, what does not, and each once."""

import datetime as dt
import io
import json
import random
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from chat import tasks
from chat.conversations import lifecycle
from chat.library import search
from chat.models import ChatSession, ImportJob, Message
from chat.transfer.importing import chatgpt, create, formats, jobs, json_stream, reasons, unpack
from oneclaw import invariants
from oneclaw.jobs import DueJob
from tests.conversations import send, settle
from tests.imports import (
    CHATGPT,
    CLAUDE,
    DAY,
    LIBRECHAT,
    NO_PARENT,
    OPEN_WEBUI,
    PICTURES,
    as_json,
    as_zip,
    counts,
    libre,
    lines,
    node,
    numbered,
    tree,
)


def test_chatgpts_tree_with_the_branch_that_is_shown(ada, bring):
    job = bring([CHATGPT])
    assert counts(job) == ("done", 1, 1, 0, 0)
    session = ChatSession.objects.get()
    assert (session.title, session.titled_by, session.is_unread) == ("Tea in numbers", "person", False)
    assert session.created_at == dt.datetime.fromtimestamp(DAY, dt.UTC)
    assert session.active_at == dt.datetime.fromtimestamp(DAY + 600, dt.UTC)
    assert lines(session, active=True) == [
        ("user", "How many cups of tea in a litre?"),
        ("assistant", "```python\nprint(1000 / 240)\n```\n\n```\n4.17\n```\n\nAbout **four** cups."),
    ]
    assert lines(session, active=False) == [("user", "How much tea?"), ("assistant", "A lot.")]
    answer = session.messages.get(active=True, role="assistant")
    assert (answer.model, answer.turn.prompt.text) == ("gpt-4o", "How many cups of tea in a litre?")
    assert answer.created_at == dt.datetime.fromtimestamp(DAY + 11, dt.UTC)
    assert "<strong>four</strong>" in answer.html
    assert [found.message for found in search.messages(ada, "litre")] == [answer.turn.prompt]
    assert list(invariants.check()) == []


def test_pictures_stay_behind_and_are_counted(ada, bring):
    job = bring(as_zip({"chat.html": b"<p>", "conversations.json": as_json([PICTURES]), "user.json": b"{}"}))
    assert (*counts(job), job.left_out) == ("done", 1, 1, 0, 0, 2)
    assert lines(ChatSession.objects.get()) == [
        ("user", "*Attached: cup.png*\n\nWhat is this?"),
        ("assistant", "*A picture was here.*"),
    ]


def test_claudes_messages_with_tools_and_files(ada, bring):
    job = bring([CLAUDE])
    session = ChatSession.objects.get()
    assert (job.brought, job.left_out, session.title) == (1, 1, "Bread")
    assert lines(session) == [
        ("user", "*Attached: list.txt*\n\n```\nflour\n```\n\n*Attached: oven.jpg*\n\nHow do I bake?"),
        ("assistant", '*web_search*\n\n```json\n{\n  "query": "bread"\n}\n```\n\n```\nA recipe\n```\n\nWith yeast.'),
    ]
    assert session.active_at.isoformat() == "2024-05-01T10:05:00+00:00"
    assert list(invariants.check()) == []


def test_claudes_branches_when_messages_name_the_one_before(ada, bring):
    nothing = "00000000-0000-4000-8000-000000000000"
    said = [("m1", nothing, "human"), ("m2", "m1", "assistant"), ("m3", "m1", "assistant"), ("m4", "m2", "human")]
    messages = [{"uuid": name, "parent_message_uuid": to, "sender": who, "text": name} for name, to, who in said]
    bring([CLAUDE | {"chat_messages": messages, "current_leaf_message_uuid": "m4"}])
    session = ChatSession.objects.get()
    assert [text for _, text in lines(session, active=True)] == ["m1", "m2", "m4"]
    assert [text for _, text in lines(session, active=False)] == ["m3"]
    assert list(invariants.check()) == []


def test_open_webuis_answers_with_thoughts_tools_and_ratings(bring):
    job = bring([OPEN_WEBUI])
    session = ChatSession.objects.get()
    assert (job.brought, job.left_out, session.title, session.archived_at) == (1, 1, "Weather", session.active_at)
    assert session.active_at == dt.datetime.fromtimestamp(DAY + 60, dt.UTC)
    assert lines(session, active=True) == [
        ("user", "*Attached: map.pdf*\n\nIs it warm in Paris?"),
        ("assistant", '*weather*\n\n```json\n{"city": "Paris"}\n```\n\n```\n18C\n```\n\nYes.'),
    ]
    older = session.messages.get(active=False)
    assert older.text == '*weather*\n\n```json\n{"city": 1}\n```\n\n```\n18C\n```\n\nIt is **18** degrees.'
    assert (older.model, older.rating.is_good, older.rating.reason) == ("llama3.1:latest", False, "Wrong day")
    assert bring([OPEN_WEBUI]).known == 1


def test_folded_parts_that_never_end_are_text_and_take_no_time(bring):
    text = "<details" + "<details type='x'>" * 10_000
    answer = OPEN_WEBUI["chat"]["history"]["messages"]["a2"] | {"output": [], "content": text}
    bring([{"id": "w-2", "chat": {"title": "Long", "history": {"messages": {"a2": answer}}}}])
    assert Message.objects.get().text == text


def test_librechats_list_with_branches(bring):
    job = bring(LIBRECHAT)
    session = ChatSession.objects.get()
    assert (job.brought, job.left_out, session.title) == (1, 1, "Boats")
    assert lines(session, active=True) == [
        ("user", "*Attached: harbour.png*\n\nWhich boat?"),
        ("assistant", '*search*\n\n```json\n{"q": "boat"}\n```\n\n```\nBlue\n```\n\nA blue one.'),
        ("user", "Thanks"),
    ]
    older = session.messages.get(active=False)
    assert (older.text, older.model, older.rating.is_good) == ("A red one.", "gpt-4-turbo", True)
    assert session.active_at == dt.datetime(2024, 5, 1, 16, 35, 39, 114_000, dt.UTC)


def test_librechats_tree_of_a_long_conversation(bring):
    inside = []
    for number in range(140, 0, -1):
        inside = [libre("q" if number % 2 else "answer", "", str(number), children=inside, messageId=f"m{number}")]
    inside[0]["parentMessageId"] = NO_PARENT
    job = bring({"conversationId": "l-2", "title": "Long", "recursive": True, "messagesTree": inside})
    assert counts(job) == ("done", 1, 1, 0, 0)
    assert [text for _, text in lines(ChatSession.objects.get(), active=True)] == [str(n) for n in range(1, 141)]


def test_the_same_file_again_doubles_nothing(ada, stranger, bring):
    bring([CHATGPT, CLAUDE])
    assert counts(bring([CLAUDE, CHATGPT, PICTURES])) == ("done", 3, 1, 2, 0)
    assert ChatSession.objects.filter(owner=ada).count() == 3
    assert bring([CHATGPT], stranger).brought == 1
    lifecycle.delete(ChatSession.objects.get(owner=ada, title="Bread"))
    job = bring([CLAUDE])
    assert (counts(job), job.problems[0]["why"]) == (("done", 1, 0, 0, 1), "deleted")


def test_a_conversation_that_goes_on_after_it_was_imported(ada, bring):
    bring([CHATGPT])
    session = ChatSession.objects.get()
    accepted = send(ada, "And in a pot?", session.pk)
    settle(accepted, "Twelve.")
    assert accepted.message.parent.text.endswith("About **four** cups.")
    session.refresh_from_db()
    assert (session.title, session.last_seq) == ("Tea in numbers", 6)
    assert list(invariants.check()) == []


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64])
def test_a_file_is_split_where_its_conversations_end(monkeypatch, piece):
    monkeypatch.setattr(json_stream, "PIECE_BYTES", piece)
    values = [{"a": '[{\\"}]'}, {"b": ['"', "\\", "\\\\"], "c": {"d": "é€𝄞"}}, {}]
    for text in (
        json.dumps(values),
        json.dumps(values, ensure_ascii=False, indent=2),
        f"\ufeff \n{json.dumps(values)}",
    ):
        found = [json.loads(raw) for raw, _ in json_stream.elements(io.BytesIO(text.encode()))]
        assert found == values
    alone = json.dumps(values[1]).encode()
    assert list(json_stream.elements(io.BytesIO(alone))) == [(alone, "")]


def test_a_file_that_ends_in_the_middle_is_refused_as_a_whole(bring):
    whole = as_json([CHATGPT, CLAUDE])
    cut = random.Random(1)
    for _ in range(10):
        job = bring(whole[: cut.randrange(1, len(whole) - 1)])
        assert (job.status, job.error, job.brought) == ("failed", "cut", 0)
    assert not ChatSession.objects.exists()


def encrypted(data):
    """The same zip file with the sign that its first file is encrypted."""
    at, listed = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    return data[: at + 6] + b"\x01\x00" + data[at + 8 : listed + 8] + b"\x01\x00" + data[listed + 10 :]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "empty"),
        (as_zip({"a.txt": b"x"}), "empty"),
        (as_zip({"conversations.json": b"[{}]"})[:-30], "bad_zip"),
        (as_zip({"conversations.json": b"nothing"}), "not_json"),
        (as_zip({"conversations.json": b"[{}]"}, zipfile.ZIP_BZIP2), "packed"),
        (as_zip({"conversations.json": b"[{}]"}, zipfile.ZIP_LZMA), "packed"),
        (encrypted(as_zip({"conversations.json": b"[{}]"})), "encrypted"),
        (as_zip({"conversations.json": b"[" + b" " * 1_100_000 + b"]"}), "unpacked"),
    ],
)
def test_a_file_that_cannot_be_taken_in_says_why(bring, settings, data, why):
    settings.IMPORT_UNPACKED_MEGABYTES = 1
    job = bring(data)
    assert (job.status, job.error) == ("failed", why)
    assert reasons.of_file(why).endswith(".")


def test_a_zip_file_with_too_many_names_is_not_even_read(bring, monkeypatch):
    monkeypatch.setattr(unpack, "DIRECTORY_MAX_BYTES", 40)
    assert bring(as_zip({"conversations.json": as_json([CHATGPT])})).error == "crowded"


def test_more_conversations_than_anybody_has(bring, monkeypatch):
    monkeypatch.setattr(unpack, "MAX_CONVERSATIONS", 3)
    assert bring(numbered(3)).brought == 3
    job = bring(numbered(4))
    assert (job.error, job.known) == ("many", 0)
    assert "100,000" in reasons.of_file("many")


def test_what_is_left_aside_is_named_with_its_reason(bring, monkeypatch):
    monkeypatch.setattr(json_stream, "CONVERSATION_MAX_BYTES", 5_000)
    monkeypatch.setattr(formats, "MAX_MESSAGES", 3)
    deep = '{"title": "Deep", "a": ' + "[" * 50_000 + "]" * 50_000 + "}"
    texts = [
        json.dumps(CLAUDE),
        json.dumps({"title": "Odd", "something": 1}),
        deep,
        json.dumps({"title": "Large", "x": "y" * 5_000}),
        json.dumps(CHATGPT | {"title": "Many"}),
        json.dumps(CLAUDE | {"uuid": "e", "name": "Empty", "chat_messages": []}),
        '{"title": "Broken", "a": tru}',
        json.dumps({"format": "oneclaw.conversation", "version": 99, "title": "Newer"}),
        json.dumps({"title": "Shape", "mapping": {"a": {"message": {"author": 1, "content": 5}, "parent": {}}}}),
    ]
    job = bring(("[" + ",\n".join(texts) + "]").encode())
    assert counts(job) == ("done", 9, 1, 0, 8)
    assert [(each["number"], each["title"], each["why"]) for each in job.problems] == [
        (2, "Odd", "unknown"),
        (3, "", "too_deep"),
        (4, "", "too_large"),
        (5, "Many", "too_many"),
        (6, "Empty", "empty"),
        (7, "", "broken"),
        (8, "Newer", "newer"),
        (9, "Shape", "empty"),
    ]
    assert all(reasons.of_conversation(each["why"]) for each in job.problems)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_one_that_the_database_cannot_hold_is_left_aside_at_once(bring, number):
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "NUMBER"}}
    messages = [
        {"seq": 1, "role": "user", "content": [{"type": "text", "text": "Tea?"}]},
        {"seq": 2, "parent": 1, "role": "assistant", "content": [call]},
        {"seq": 3, "parent": 2, "role": "tool", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        {"seq": 4, "parent": 3, "role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    ]
    own = {"format": "oneclaw.conversation", "version": 1, "title": "Odd", "messages": messages}
    job = bring(as_json([own, CLAUDE]).replace(b'"NUMBER"', number.encode()))
    assert counts(job) == ("done", 2, 1, 0, 1)
    assert job.problems == [{"number": 1, "title": "Odd", "why": "faulty"}]


def test_a_long_id_of_another_program_is_cut(bring):
    job = bring([CHATGPT | {"conversation_id": "c" * 300}, CLAUDE | {"uuid": "u" * 300}])
    assert counts(job) == ("done", 2, 2, 0, 0)


def test_an_answer_in_many_steps_is_joined_once_and_cut_as_any(bring, monkeypatch):
    steps = [
        node(f"s{number}", f"s{number - 1}" if number else "q", "assistant", f"step {number} " + "x" * 50_000)
        for number in range(6)
    ]
    mapping = tree(node("q", None, "user", "Go"), *steps)
    bring([CHATGPT | {"mapping": mapping, "current_node": "s5"}])
    answer = Message.objects.get(role="assistant")
    assert "step 0" in answer.text
    assert "step 3" in answer.text
    assert answer.text.endswith("… (longer than can be imported)")
    assert len(answer.text) < reasons.MESSAGE_MAX_CHARS + 100
    monkeypatch.setattr(chatgpt, "MAX_NODES", 6)
    job = bring([CHATGPT | {"mapping": mapping, "conversation_id": "other"}])
    assert job.problems[0]["why"] == "too_many"


def test_text_passes_the_gate(bring):
    text = "a\0b \ud800 c\r\nd" + "x" * reasons.MESSAGE_MAX_CHARS
    messages = [{"uuid": "m", "sender": "human", "text": text, "created_at": "9999-99-99", "updated_at": float("nan")}]
    job = bring(
        [CLAUDE | {"name": "T\0\n" + "t" * 500, "created_at": 1e300, "updated_at": -5, "chat_messages": messages}]
    )
    assert job.brought == 1
    message = Message.objects.get()
    assert message.text.startswith("a\ufffdb \ufffd c\nd")
    assert message.text.endswith("… (longer than can be imported)")
    assert (timezone.now() - message.created_at).total_seconds() < 60
    assert len(message.session.title) == 200


def test_a_tree_that_is_none_is_no_trap_and_keeps_its_words(bring):
    ring = {
        name: dict(node, parent=to) for (name, node), to in zip(CHATGPT["mapping"].items(), "bcdefghijkl", strict=True)
    }
    ring = {"a": ring["asked"] | {"parent": "b"}, "b": ring["first"] | {"parent": "a"}}
    assert bring([CHATGPT | {"mapping": ring}]).brought == 1
    assert lines(ChatSession.objects.get()) == [("user", "How much tea?"), ("assistant", "A lot.")]


def test_a_killed_worker_is_followed_by_one_that_goes_on(ada, bring, monkeypatch):
    planted, plant = [], jobs.create_session

    def killed_at_the_third(owner, conversation):
        planted.append(conversation.title)
        plant(owner, conversation)
        if len(planted) == 3:
            raise SystemExit

    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(5))))
    monkeypatch.setattr(jobs, "create_session", killed_at_the_third)
    with pytest.raises(SystemExit):
        jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, ChatSession.objects.count()) == ("running", 2, 2)
    # Nobody else takes it up before its time is over.
    assert ImportJob.objects.due_ids() == []
    ImportJob.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert ImportJob.objects.due_ids() == [job.pk]
    jobs.run(job.pk)
    job.refresh_from_db()
    assert counts(job) == ("done", 5, 5, 0, 0)
    assert planted == ["Number 0", "Number 1", "Number 2", "Number 2", "Number 3", "Number 4"]
    assert ChatSession.objects.count() == 5


def test_whoever_lost_the_claim_writes_nothing_more(ada, monkeypatch):
    plant = jobs.create_session

    def slow(owner, conversation):
        ImportJob.objects.update(token="00000000-0000-4000-8000-000000000000")
        return plant(owner, conversation)

    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(2))))
    monkeypatch.setattr(jobs, "create_session", slow)
    assert jobs.run(job.pk) is None
    assert not ChatSession.objects.exists()


def test_one_that_breaks_the_worker_is_left_aside_in_the_end(ada, bring, monkeypatch):
    plant = jobs.create_session

    def choosy(owner, conversation):
        if conversation.title == "Number 1":
            raise RuntimeError
        return plant(owner, conversation)

    monkeypatch.setattr(jobs, "create_session", choosy)
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(3))))
    for _ in range(jobs.MAX_ATTEMPTS):
        with pytest.raises(RuntimeError):
            jobs.run(job.pk)
        ImportJob.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    jobs.run(job.pk)
    job.refresh_from_db()
    assert counts(job) == ("done", 3, 2, 0, 1)
    assert job.problems == [{"number": 2, "title": "Number 1", "why": "faulty"}]


def test_a_long_import_lets_others_have_their_turn(ada, monkeypatch):
    monkeypatch.setattr(jobs, "SLICE_SECONDS", -1)
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(2))))
    assert jobs.run(job.pk) == DueJob(job.pk)
    assert ImportJob.objects.due_ids() == [job.pk]
    assert not jobs.path_of(job.pk).exists()
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 60)
    assert jobs.run(job.pk) is None
    assert ChatSession.objects.count() == 2


def test_a_worker_is_told_of_a_new_import(ada, monkeypatch, django_capture_on_commit_callbacks):
    told = []
    monkeypatch.setattr(tasks.take_in, "apply_async", lambda arguments, *rest, **options: told.append(arguments))
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(1))))
        assert told == []
    assert [list(arguments) for arguments in told] == [[str(job.pk)]]


def test_the_task_and_the_sweep_go_on_where_there_is_more(ada, monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.take_in, "apply_async", lambda arguments, **options: sent.append(arguments))
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(1))))
    again = (str(job.pk),)
    tasks.sweep()
    assert sent == [again]
    with monkeypatch.context() as context:
        context.setattr(jobs, "SLICE_SECONDS", -1)
        tasks.take_in(str(job.pk))
    assert sent == [again, again]
    tasks.take_in(str(job.pk))
    tasks.sweep()
    assert sent == [again, again]
    assert ChatSession.objects.count() == 1


def test_files_that_nobody_names_any_more_are_removed(ada, monkeypatch):
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(1))))
    left = jobs.path_of(job.pk).with_name("left")
    left.write_bytes(b"x")
    jobs.sweep_files()
    assert left.exists()
    monkeypatch.setattr(jobs, "ORPHAN_SECONDS", -1)
    jobs.sweep_files()
    assert (left.exists(), jobs.path_of(job.pk).exists()) == (False, True)
    assert jobs.path_of(job.pk).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("unpacked", [True, False])
def test_a_lost_file_is_said(ada, monkeypatch, unpacked):
    job = jobs.begin(ada, SimpleUploadedFile("c.json", as_json(numbered(1))))
    if unpacked:
        with monkeypatch.context() as context:
            context.setattr(jobs, "SLICE_SECONDS", -1)
            jobs.run(job.pk)
    (jobs.parts_of if unpacked else jobs.path_of)(job.pk).unlink()
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.error) == ("failed", "missing")


def upload(client, data, name="conversations.json"):
    return client.post("/import", {"file": SimpleUploadedFile(name, data)})


def test_the_page_says_how_far_it_is_and_what_came(client, ada, stranger, settings):
    client.force_login(ada)
    assert upload(client, as_json([*numbered(2), {"title": "Odd"}]), "my <file>.json")["Location"] == "/import"
    job = ImportJob.objects.get()
    assert 'hx-trigger="every 1s"' in client.get("/import").content.decode()
    ImportJob.objects.update(total=3, done=1)
    fragment = client.get(f"/import/{job.pk}", headers={"HX-Request": "true"}).content.decode()
    assert '<progress class="job__progress" value="1" max="3"' in fragment
    assert "my &lt;file&gt;.json" in fragment
    assert "1 of 3 conversations" in fragment
    refused = upload(client, as_json([CLAUDE]))
    assert refused.status_code == 422
    assert "Another import is still running" in refused.content.decode()
    ImportJob.objects.update(total=None, done=0)
    jobs.run(job.pk)
    page = client.get("/import").content.decode()
    for words_of_it in (
        "2 conversations were imported. 4 messages in total.",
        "1 conversation was not imported.",
        "“Odd”: its",
    ):
        assert words_of_it in page
    assert "every 1s" not in page
    client.force_login(stranger)
    assert client.get(f"/import/{job.pk}").status_code == 404
    assert "my &lt;file" not in client.get("/import").content.decode()


def test_several_json_files_are_one_import(client, ada):
    """A browser that unpacks a large export by itself leaves its parts."""
    client.force_login(ada)
    parts = [numbered(5)[:2], numbered(5)[2:]]
    files = [SimpleUploadedFile(f"conversations-{index}.json", as_json(part)) for index, part in enumerate(parts)]
    assert client.post("/import", {"file": files})["Location"] == "/import"
    job = ImportJob.objects.get()
    assert job.name == "conversations-0.json, conversations-1.json"
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.brought) == ("done", 5)
    zipped = SimpleUploadedFile("export.zip", b"PK\x03\x04")
    refused = client.post("/import", {"file": [zipped, SimpleUploadedFile("c.json", as_json(numbered(1)))]})
    assert refused.status_code == 422
    assert "Choose a zip file by itself." in refused.content.decode()


@pytest.mark.parametrize(
    ("data", "why"), [(b"%PDF-1.7", "neither a zip file nor JSON"), (b"[" * 1_100_000, "than 1 MB")]
)
def test_a_file_is_refused_at_the_door(client, ada, settings, data, why):
    settings.IMPORT_MEGABYTES = 1
    client.force_login(ada)
    response = upload(client, data)
    assert (response.status_code, why in response.content.decode()) == (422, True)
    assert client.post("/import").status_code == 422
    assert not ImportJob.objects.exists()
    assert not settings.IMPORTS.exists() or not list(settings.IMPORTS.iterdir())


def test_an_unknown_tool_of_ours_cannot_break_what_must_hold(ada, bring):
    """Whoever changes our own file gets no rows that contradict each other."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "save_memory", "input": {"content": "x"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    messages = [
        {"seq": 1, "role": "assistant", "content": [call]},
        {"seq": 2, "parent": 1, "role": "tool", "content": [result]},
        {"seq": 3, "parent": 2, "role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"seq": 4, "parent": 3, "role": "assistant", "status": "running", "content": [call, call]},
        {"seq": 5, "parent": 4, "role": "tool", "content": [result, result]},
        {"seq": 6, "parent": 3, "role": "assistant", "status": "failed", "error": {"code": "x"}, "content": [call]},
        {"seq": 7, "parent": 6, "role": "tool", "content": [result], "cards": {"toolu_1": {"undo": "/x", "lines": 5}}},
        {"seq": 8, "parent": 6, "role": "tool", "content": [result]},
        {"seq": 9, "parent": 7, "role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}]},
        {"seq": 9, "parent": 7, "role": "assistant", "content": [{"type": "text", "text": "Twice"}]},
        {"seq": "x", "parent": 99, "role": "tool", "content": 7},
        {"seq": 12, "parent": 12, "role": "user", "content": [{"type": "text", "text": "Of itself"}]},
        {"role": "assistant", "parent": True, "content": [{"type": "text"}, 5, None]},
    ]
    job = bring({"format": "oneclaw.conversation", "version": 1, "messages": messages})
    assert (job.brought, job.problems) == (1, [])
    assert list(invariants.check()) == []
    assert "undo" not in json.dumps(list(Message.objects.values_list("meta", flat=True)))
    assert create.reserved(Message, 2)[1] > Message.objects.latest("pk").pk
