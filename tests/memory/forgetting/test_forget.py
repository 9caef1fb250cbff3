"""Forgetting: from everywhere, for good, and never learnt again."""

import datetime as dt
import json
import threading

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from chat.context import per_message
from chat.context.prompt import build_request
from chat.conversations import transcript
from chat.extensions import ToolCall, ToolError
from chat.models import Beat, ChatSession, Message, Schedule, Turn
from chat.rendering.messages import html_columns
from memory.documents import undo
from memory.documents import write as documents
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.files import folders
from memory.files.scan import scan_folder
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.index import conversations
from memory.invariants import INVARIANTS
from memory.models import (
    Decision,
    DocumentJob,
    Flush,
    Forgetting,
    ForgottenLine,
    MemoryDocument,
    MemoryRevision,
    TextVector,
    TranscriptChunk,
    Upload,
)
from memory.notes import claims, document_jobs, flush
from memory.policy.tombstones import LineForgottenError
from memory.prompt.context import FILE_MAX_CHARS
from memory.prompt.items import CURATED, RECALLED, piece
from memory.search.manager import HybridSearchManager
from memory.tools.save_memory import SAVE
from oneclaw import invariants
from oneclaw.llm.quoting import kept_chars
from oneclaw.models import Space
from oneclaw.reasons import Reason
from tests.conversations import FINISHED, send, settle
from tests.scripted import answer

MARKER = "Zorabella"
LINE = f"- My sister {MARKER} lives in Lisbon."
WORDS = LINE.removeprefix("- ")


@pytest.fixture
def forget(space, ada, django_capture_on_commit_callbacks):
    def forget(*lines, where=space):
        with django_capture_on_commit_callbacks(execute=True):
            return forgetting.forget(where, lines or [LINE], ada)

    return forget


@pytest.fixture
def write(django_capture_on_commit_callbacks):
    """write(space, text, path): appended, indexed and mirrored."""

    def write(space, text, path="MEMORY.md", source=Source.PAGE):
        with django_capture_on_commit_callbacks(execute=True):
            return documents.apply(space, path, Append(text), Author(source, space.owner))

    return write


def everything_in(*labels):
    """Every value of every column of the tables of these apps, as one text."""
    with connection.cursor() as cursor:
        for label in labels:
            for model in apps.get_app_config(label).get_models():
                cursor.execute(f"SELECT row_to_json(row)::text FROM {model._meta.db_table} row")
                for (text,) in cursor.fetchall():
                    yield model.__name__, text


def holders(marker, *labels):
    return sorted({name for name, text in everything_in(*labels) if marker.casefold() in text.casefold()})


def files_of(space):
    return {path.name: path.read_bytes() for path in folders.folder_of(space).rglob("*") if path.is_file()}


def talk(session, say, space):
    """A conversation in which memory showed the line everywhere that it can."""
    quoted = {"memory": [piece(CURATED, "MEMORY.md", 1, LINE, 0, len(LINE))]}
    session.head = session.heads.create(system=f'<memory file="MEMORY.md">\n{LINE}\n</memory>', context=quoted)
    session.save()
    recalled = piece(RECALLED, "MEMORY.md", 1, f"{LINE}\n- Other.", 0, len(LINE) + 9) | {"heading": WORDS}
    say(session, "Where does she live?", meta={"context": {"memory": [recalled]}})
    uses = [
        {"type": "tool_use", "id": "a", "name": "memory_search", "input": {"query": WORDS}},
        {"type": "tool_use", "id": "b", "name": "memory_get", "input": {"path": "MEMORY.md"}},
        {"type": "tool_use", "id": "c", "name": "save_memory", "input": {"content": f"one\n{LINE}"}},
        {"type": "tool_use", "id": "d", "name": "fetch", "input": {"query": "something else"}},
    ]
    told = {
        "a": {"results": [{"path": "MEMORY.md", "snippet": f"{LINE}\n- Other."}]},
        "b": {"text": f"# Title\n{LINE}"},
        "c": {"saved": True, "path": "MEMORY.md"},
        "d": {"text": "from elsewhere"},
    }
    asked = say(session, "", role="assistant", content=uses)
    results = [{"type": "tool_result", "tool_use_id": key, "content": json.dumps(told[key])} for key in told]
    cards = {key: {"state": "done", "summary": "", "lines": [LINE] if key != "d" else ["kept"]} for key in told}
    say(session, "", role="tool", content=results, meta={"cards": cards})
    Message.objects.filter(pk=asked.pk).update(**html_columns(uses, cards))


def test_it_is_nowhere_any_more(space, session, say, write, forget, ada):
    """In no column of any table of memory, in no file, in no search, in no prompt."""
    write(space, f"# About\n\n{LINE}\n- tea\n")
    write(space, f"- She said: {WORDS}\n", "memory/2026-11-20.md", Source.FLUSH)
    write(space, f"{LINE}\n", "old.md")
    documents.apply(
        space, "old.md", Delete(1), Author(Source.PAGE, ada, reason=Reason("change.notes", {"title": WORDS}))
    )
    recent = f"# Recent Conversations\n\n## 2026-11-20 10:00 [Family](/c/{session.pk})\n\n{WORDS} More.\n\n"
    write(space, recent, "Recent Conversations.md")
    documents.apply(space, "MEMORY.md", Replace("# About\n- tea\n", 1), Author(Source.ADMIN, ada))
    documents.apply(space, "MEMORY.md", Append(LINE), Author(Source.FILE, ada, operation_key="file:1:1:0123"))
    folder = folders.folder_of(space)
    for name in ("MEMORY.md~", ".0123456789abcdef.tmp", "MEMORY.md.1.refused"):
        (folder / name).write_text(f"{LINE}\n- kept\n")
    talk(session, say, space)
    Flush.objects.create(owner=ada, session=session, space=space, reason="left", error=f"refused: {WORDS}")
    assert MARKER.encode() in b"".join(files_of(space).values())
    before = TextVector.objects.count()

    done = forget()

    assert holders(MARKER, "memory") == []
    assert holders(MARKER, "chat") == []
    files = files_of(space)
    assert MARKER.encode() not in b"".join(files.values())
    assert files["MEMORY.md~"] == b"- kept\n"
    assert not {".0123456789abcdef.tmp", "MEMORY.md.1.refused"} & set(files)
    assert not [passage for passage in HybridSearchManager([space]).search(WORDS) if MARKER in passage.snippet]
    assert TextVector.objects.count() < before
    kept = MemoryDocument.objects.get(path="MEMORY.md")
    assert kept.content == "# About\n- tea\n"
    assert MemoryDocument.objects.get(path="Recent Conversations.md").content == "# Recent Conversations\n\n"
    assert [text for invariant in INVARIANTS for text in invariant.violations()] == []
    assert [documents.content_at(kept, number) for number in (1, 2)] == ["# About\n\n- tea\n", "# About\n- tea\n"]
    assert Forgetting.objects.get().finished_at is not None
    assert done.counts | {"vectors": 0} == {
        "lines": 3, "earlier_lines": 1, "documents": 4, "revisions": 7, "summaries": 1, "chunks": 3, "vectors": 0,
        "files": 7, "waiting": 0, "messages": 3, "prompts": 1, "rounds": 0, "suggestions": 0, "proposals": 0,
    }  # fmt: skip
    # What stood beside it stays.
    first, asked, results = session.messages.order_by("seq")
    assert first.meta["context"]["memory"] == [
        {"kind": "recalled", "path": "MEMORY.md", "revision": 1, "lines": [1, 2], "text": "[forgotten]\n- Other."}
    ]
    assert '<recalled file="MEMORY.md" lines="1-2">\n[forgotten]\n- Other.\n</recalled>' in per_message.text_of(
        first.meta
    )
    assert json.loads(results.content[0]["content"])["results"][0]["snippet"] == "[forgotten]\n- Other."
    assert [card["lines"] for card in results.meta["cards"].values()] == [["[forgotten]"]] * 3 + [["kept"]]
    assert asked.content[2]["input"] == {"content": "one\n[forgotten]"}
    assert "[forgotten]" in asked.html
    assert "kept" in asked.html


def test_the_prompt_of_a_conversation_that_knew_it_is_built_without_it(space, ada, write, forget, scripted):
    write(space, f"{LINE}\n- tea\n")
    first = send(ada, "Hello, what do you know about me?")
    assert MARKER in str(build_request(first.turn))
    settle(first)
    forget()
    second = send(ada, "And now?", first.turn.session_id)
    asked = str(build_request(second.turn))
    assert MARKER not in asked
    assert "- tea" in asked


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_line_of_which_a_shortened_prompt_holds_a_part_is_found(space, ada, write, forget, is_kept):
    """Nothing but the data says whether the line is among those that were sent."""
    budget, _ = kept_chars(FILE_MAX_CHARS)
    before = "\n".join(f"- Line {number} of many." for number in range(2000))
    before = before[: budget - 20].rpartition("\n")[0]
    line = f"- {MARKER} " + "lives in Lisbon and in Porto " * 10 + "."
    after = "\n- A line in the middle that no prompt holds at all."
    write(space, f"{before}\n{line}{after}" + "\n- More of the same kind." * 2000)
    said = send(ada, "Hello, what do you know about me?")
    prompt = build_request(said.turn).system[0]["text"]
    assert MARKER in prompt
    assert line not in prompt
    settle(said)
    session = ChatSession.objects.get()
    assert line in session.context["memory"][0]["text"]
    forget(line if is_kept else after.strip())
    session.refresh_from_db()
    assert (session.head is None) == (session.heads.get().context == {}) == is_kept
    if is_kept:
        assert holders(MARKER, "memory", "chat") == []


def test_other_prompts_keep_their_bytes(space, ada, write, forget):
    """A prompt that was shortened, but holds nothing of the line, is not built anew."""
    write(space, "- Tea.\n" + "- A line of a long file.\n" * 2000)
    said = send(ada, "Hello, what do you know about me?")
    before = build_request(said.turn).system
    assert "characters are left out here" in before[0]["text"]
    settle(said)
    write(space, f"{LINE}\n", "notes.md")
    forget()
    assert build_request(send(ada, "And now?", said.turn.session_id).turn).system == before


def test_a_recalled_line_of_which_the_model_was_sent_a_part_is_blanked(space, ada, write, forget):
    line = f"- The ferry to Naxos: {MARKER} " + " ".join(f"says number {number}," for number in range(200)) + " thanks."
    write(space, f"# Ferries\n\n{line}\n- The ferry to Paros leaves at eight.\n", "memory/2026-11-20.md")
    said = send(ada, "When does my ferry to Naxos leave?")
    sent = build_request(said.turn).messages[0]["content"][0]["text"]
    assert MARKER in sent
    assert line not in sent
    settle(said)
    # By hashes alone, as when a turn that ran meanwhile is cleaned after it.
    forget("- Something else entirely.", line)
    assert holders(MARKER, "memory", "chat") == []
    again = build_request(send(ada, "And now?", said.turn.session_id).turn).messages[0]["content"][0]["text"]
    assert again.startswith("Passages of the person's notes")
    assert "[forgotten]" in again


def test_what_people_said_stays_and_is_told(space, session, say, write, forget, ada):
    write(space, LINE)
    say(session, WORDS)
    plan = forget_plans.plan(space, [LINE])
    assert plan.said_in == [session]
    forget()
    assert session.messages.get().text == WORDS


def test_only_the_lines_that_are_meant_go(space, write, forget):
    write(space, f"- Zora lives in Porto.\n{LINE}\n- I like tea.\n- tea\n")
    forget(LINE, "- tea")
    assert MemoryDocument.objects.get().content == "- Zora lives in Porto.\n- I like tea.\n"


def test_a_dry_run_changes_nothing_and_lists_what_goes(space, session, say, write, ada):
    write(space, f"# About\n{LINE}\n")
    documents.apply(space, "MEMORY.md", Append(f"- {WORDS} Really."), Author(Source.PAGE, ada))
    documents.apply(space, "MEMORY.md", Replace(f"# About\n{LINE}\n", 2), Author(Source.PAGE, ada))
    say(session, WORDS)
    flush.request(session, "left")
    before = list(everything_in("memory", "chat"))
    plan = forget_plans.plan(space, [LINE])
    assert list(everything_in("memory", "chat")) == before
    (going,) = plan.documents
    assert (going.path, going.lines, going.earlier, going.revisions) == (
        "MEMORY.md", [(2, LINE)], [f"- {WORDS} Really."], 3,
    )  # fmt: skip
    assert (plan.chunks, plan.vectors, plan.files, plan.waiting) == (1, 1, ["MEMORY.md"], 1)


def test_what_would_go_now_is_shown_when_it_is_something_else(space, write, ada):
    write(space, LINE)
    seen = forget_plans.plan(space, [LINE]).digest
    write(space, f"- As I said, {WORDS}\n", "notes.md")
    with pytest.raises(forgetting.PlanChangedError) as changed:
        forgetting.forget(space, [LINE], ada, seen)
    assert not Forgetting.objects.exists()
    assert forgetting.forget(space, [LINE], ada, changed.value.plan.digest).counts["documents"] == 2


@pytest.mark.parametrize("lines", [[], ["", "  "], ["---", "```"]])
def test_lines_without_words_are_refused(space, ada, lines):
    with pytest.raises(forget_plans.NothingToForgetError):
        forgetting.forget(space, lines, ada)
    with pytest.raises(forget_plans.TooManyLinesError):
        forget_plans.plan(space, [f"line {number}" for number in range(501)])


def test_a_long_line_goes_also_from_where_search_had_cut_it(space, session, say, write, forget):
    long = "- " + " ".join(f"{MARKER} sentence number {number} of a very long line." for number in range(40))
    write(space, long + "\n- short\n")
    pieces = list(MemoryDocument.objects.get().chunks.values_list("text", flat=True))
    use = {"type": "tool_use", "id": "a", "name": "memory_search", "input": {}}
    say(session, "", role="assistant", content=[use])
    snippets = [{"snippet": pieces[1]}, {"snippet": f"- short\n{pieces[0][:-3]}"}]
    told = json.dumps({"results": snippets})
    say(session, "", role="tool", content=[{"type": "tool_result", "tool_use_id": "a", "content": told}])
    forget(long)
    assert holders(MARKER, "memory", "chat") == []


def test_neither_other_people_nor_other_spaces_lose_anything(space, strangers_space, write, forget, ada):
    write(strangers_space, LINE)
    team = Space.objects.create(kind="team", name="Team", owner=ada)
    write(team, LINE)
    write(space, LINE)
    forget()
    assert {row.space for row in MemoryDocument.objects.exclude(content="")} == {strangers_space, team}
    write(strangers_space, "- more", source=Source.FLUSH)
    forget(where=team)
    assert {row.space for row in MemoryDocument.objects.exclude(content="")} == {strangers_space}


# Never learnt again.


def test_the_tool_does_not_save_it_again_and_the_model_learns_why(space, session, say, write, forget):
    write(space, LINE)
    forget()
    message = say(session, "", role="assistant")

    def save(content):
        return SAVE.call(ToolCall("t", "save_memory", {"content": content}, session.owner, session, message.pk))

    for content in (WORDS, f"- new\n{LINE.upper()}"):
        with pytest.raises(ToolError, match="has had this forgotten") as refusal:
            save(content)
        assert refusal.value.code == "forgotten"
    assert MemoryDocument.objects.get().content == ""
    save("My brother lives in Porto.")
    assert MemoryDocument.objects.get().content == "- My brother lives in Porto.\n"


def test_a_flush_neither_shows_it_to_the_model_nor_notes_it(space, session, say, write, forget, scripted):
    write(space, LINE)
    forget()
    session.title = f"Remember: {WORDS}"
    session.save()
    say(session, f"Remember that {WORDS} And I moved to Bern.")
    scripted.script(answer(f"{LINE}\n- Ada moved to Bern."))
    flush.run(flush.request(session, "switched").pk)
    assert MARKER not in json.dumps(scripted.messages[0].body["messages"])
    assert "moved to Bern" in json.dumps(scripted.messages[0].body["messages"])
    log = MemoryDocument.objects.get(path="memory/2026-11-21.md").content
    assert log.endswith("## 15:32 Remember: [forgotten].\n\n- Ada moved to Bern.\n")
    assert holders(MARKER, "memory") == []


def test_a_day_of_which_everything_was_forgotten_is_noted_again(space, session, say, forget, scripted):
    """Also its headings, which every note of that day would bring."""
    scripted.script(answer("- one"), answer(json.dumps({"title": "Tea", "summary": "One."})), answer("- two"))
    say(session, "one")
    flush.run(flush.request(session, "switched").pk)
    document_jobs.run(DocumentJob.objects.get().pk)
    lines = "\n".join(MemoryDocument.objects.values_list("content", flat=True))
    forget(*lines.split("\n"), "[forgotten]")
    assert "".join(MemoryDocument.objects.values_list("content", flat=True)).strip() == ""
    say(session, "two")
    flush.run(flush.request(session, "switched").pk)
    scripted.script(answer(json.dumps({"title": "Tea", "summary": "Two."})))
    document_jobs.run(DocumentJob.objects.open().get().pk)
    assert not Flush.objects.open().exists()
    assert not DocumentJob.objects.open().exists()
    contents = "".join(MemoryDocument.objects.values_list("content", flat=True))
    assert "- two\n" in contents
    assert "Two." in contents
    assert "November" not in contents


@pytest.mark.parametrize("kind", [DocumentJob.Kind.RECENT, DocumentJob.Kind.LAST_MESSAGES])
def test_summaries_and_last_messages_leave_it_out(space, session, say, write, forget, scripted, kind):
    write(space, LINE)
    forget()
    say(session, WORDS)
    say(session, "What else?", role="assistant")
    told = {"recent": json.dumps({"title": "Family", "summary": f"Ada said: {WORDS}"}), "last_messages": WORDS}
    scripted.script(answer(told[kind]))
    document_jobs.run(document_jobs.request(session, kind, 2).pk)
    assert not DocumentJob.objects.open().exists()
    assert "[forgotten]" in MemoryDocument.objects.exclude(path="MEMORY.md").get().content
    assert holders(MARKER, "memory") == []


def test_a_flush_that_raced_with_the_forgetting_is_done_again_without_it(space, session, say, write, forget, scripted):
    write(space, LINE)
    say(session, "Hello")
    queued = flush.request(session, "switched")
    scripted.script(answer(f"{LINE}\n- Ada said hello."))
    claim = claims.claim_flush(queued.pk)
    notes, _ = flush._notes(claim)
    forget()
    with pytest.raises(LineForgottenError), transaction.atomic():
        flush.finish(claim, notes)
    claims.put_back(claim, LineForgottenError("x"))
    Flush.objects.update(due_at=timezone.now())
    scripted.script(answer(f"{LINE}\n- Ada said hello."))
    flush.run(queued.pk)
    assert "- Ada said hello." in MemoryDocument.objects.get(path="memory/2026-11-21.md").content
    assert holders(MARKER, "memory") == []


def test_an_import_a_restored_state_and_an_undo_do_not_bring_it_back(space, write, forget, ada):
    deleted = write(space, f"- tea\n{LINE}\n")
    undone = documents.apply(space, "MEMORY.md", Replace("- tea\n", 1), Author(Source.PAGE, ada))
    before = MemoryRevision.objects.get(pk=undone.pk)
    forget()
    document = MemoryDocument.objects.get()
    undo.undo(before, Author(Source.UNDO, ada))
    document.refresh_from_db()
    undo.restore(document, deleted.number, document.version, Author(Source.UNDO, ada))
    for path, version in (("MEMORY.md", 3), ("new.md", 0)):
        text = f"- imported\n{LINE}\n"
        documents.apply(space, path, Replace(text, version), Author(Source.IMPORT, ada))
        assert MemoryDocument.objects.get(path=path).content == "- imported\n"
    assert holders(MARKER, "memory") == []
    with pytest.raises(undo.CannotUndoForgettingError):
        undo.undo(MemoryRevision.objects.get(source="forget"), Author(Source.UNDO, ada))


def test_a_line_number_of_before_deletes_no_other_line(space, write, forget, ada):
    write(space, f"{LINE}\n- one\n- two\n")
    forget()
    with pytest.raises(undo.OverlapError):
        undo.change_lines(MemoryDocument.objects.get(), 1, 1, [], 1, Author(Source.PAGE, ada))
    assert MemoryDocument.objects.get().content == "- one\n- two\n"


def test_a_file_that_still_has_it_loses_it(space, write, forget, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr("memory.files.disk.WRITE_REST_SECONDS", 0)
    write(space, f"{LINE}\n- tea\n")
    forget()
    folder = folders.folder_of(space)
    assert (folder / "MEMORY.md").read_text() == "- tea\n"
    # An editor that had it open saves it, with another change; and there is a new file.
    (folder / "MEMORY.md").write_text(f"{LINE}\n- tea\n- coffee\n")
    (folder / "new.md").write_text(f"{LINE}\n- new\n")
    assert [str(one) for one in invariants.check()] == []
    with django_capture_on_commit_callbacks(execute=True):
        scan_folder(space)
    scan_folder(space)
    assert files_of(space) == {"MEMORY.md": b"- tea\n- coffee\n", "new.md": b"- new\n"}
    assert not MemoryDocument.objects.to_mirror().exists()
    assert holders(MARKER, "memory") == []
    (folder / "MEMORY.md").write_text(f"- tea\n- coffee\n{LINE}\n")
    scan_folder(space)
    assert files_of(space)["MEMORY.md"] == b"- tea\n- coffee\n"


def test_the_person_may_write_it_again_by_hand(space, write, forget, ada):
    write(space, LINE)
    forget()
    write(space, f"{LINE}\n")
    assert MemoryDocument.objects.get().content == f"{LINE}\n"
    assert not ForgottenLine.objects.exists()
    write(space, f"{LINE}\n", "notes.md", Source.FLUSH)


# The database keeps its guard.


def test_a_revision_loses_lines_in_a_forgetting_and_changes_in_no_other_way(space, strangers_space, append):
    revision = append(space, "one\ntwo\n")
    theirs = append(strangers_space, "theirs")
    with transaction.atomic():
        Forgetting.objects.create(space=space)

    def change(which, **fields):
        with transaction.atomic():
            MemoryRevision.objects.filter(pk=which.pk).update(**fields)

    fewer = [{"at": 0, "removed": [], "added": ["two"]}]
    for which, fields in (
        (revision, {"hunks": [{"at": 0, "removed": [], "added": ["three"]}]}),
        (revision, {"number": 9}),
        (revision, {"source": "file"}),
        (revision, {"reason": Reason("change.edited")}),
        (revision, {"operation_key": "k"}),
        (revision, {"created_at": timezone.now()}),
        (theirs, {"hunks": []}),
    ):
        with pytest.raises(DatabaseError, match="A revision is never edited"):
            change(which, **fields)
    change(revision, hunks=fewer, content_hash="x")
    Forgetting.objects.update(transaction=1)
    with pytest.raises(DatabaseError, match="A revision is never edited"):
        change(revision, hunks=[])


# Crashes and races.


def test_what_a_crash_left_undone_the_sweep_does(space, ada, write):
    write(space, f"{LINE}\n- tea\n")
    (folders.folder_of(space) / "copy.txt").write_text(LINE)
    # The process died before anything followed the commit.
    forgetting.forget(space, [LINE], ada)
    assert MARKER in (folders.folder_of(space) / "MEMORY.md").read_text()
    assert [str(one) for one in invariants.check()] == []
    forgetting.finish_all()
    assert files_of(space) == {"MEMORY.md": b"- tea\n", "copy.txt": b""}
    assert Forgetting.objects.get().finished_at is not None
    assert [str(one) for one in invariants.check()] == []


def test_an_answer_that_was_being_written_is_cleaned_when_it_is_done(space, ada, write, forget, scripted):
    write(space, LINE)
    running = send(ada, "Where does she live?")
    use = {"type": "tool_use", "id": "a", "name": "memory_search", "input": {}}
    results = transcript.finish_round(running.turn, running.answer, [use], **FINISHED)
    forget()
    assert Forgetting.objects.get().finished_at is None
    told = [{"type": "tool_result", "tool_use_id": "a", "content": json.dumps({"results": [{"snippet": LINE}]})}]
    cards = {"a": {"state": "done", "summary": "", "lines": [f"MEMORY.md:1–1 {LINE}"]}}
    last = transcript.finish_tools(running.turn, running.answer, results, told, cards)
    assert holders(MARKER, "chat") == ["Message"]
    transcript.finish_turn(running.turn, last, [{"type": "text", "text": "In Lisbon."}], "complete", **FINISHED)
    forgetting.finish_all()
    assert holders(MARKER, "chat") == []
    assert Forgetting.objects.get().finished_at is not None
    assert Turn.objects.get().status == "complete"


@pytest.mark.django_db(transaction=True)
def test_saves_at_the_same_time_lose_nothing_and_bring_nothing_back(ada):
    space = Space.objects.own_of(ada)
    documents.apply(space, "MEMORY.md", Append(LINE), Author(Source.PAGE, ada))
    failures, begin = [], threading.Barrier(5)

    def run(act):
        begin.wait()
        try:
            act()
        except Exception as error:  # noqa: BLE001 - the test fails by it
            failures.append(error)
        finally:
            connection.close()

    def save(name):
        for number in range(8):
            for text in (f"- {name} {number} is kept\n", f"{LINE}\n"):
                try:
                    path = "MEMORY.md" if number % 2 else f"{name}{number}.md"
                    documents.apply(space, path, Append(text), Author(Source.TOOL, ada))
                except LineForgottenError:
                    pass

    def forget():
        for _ in range(3):
            forgetting.forget(space, [LINE], ada)

    acts = [lambda name=name: save(name) for name in ("ann", "bob", "cyd", "dan")] + [forget]
    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert holders(MARKER, "memory") == []
    everything = "".join(MemoryDocument.objects.values_list("content", flat=True))
    assert everything.count("is kept") == 32
    assert [str(one) for one in invariants.check()] == []


def test_questions_about_it_and_what_waits_to_be_imported_go_too(space, write, forget, ada):
    write(space, f"{LINE}\n")
    revision = MemoryRevision.objects.get()
    Decision.objects.create(revision=revision, kind="contradiction", lines=1, lines_hash="0" * 64)
    Upload.objects.create(owner=ada, name="memory.zip", data=LINE.encode())
    forget()
    assert not Decision.objects.exists()
    assert not Upload.objects.exists()


def test_transcripts_are_indexed_anew_without_it(space, session, say, write, forget):
    write(space, f"{LINE}\n")
    say(session, f"{WORDS} And I like tea.")
    index = conversations.request(session)
    conversations.run(index)
    assert holders(MARKER, "memory") != []
    forget()
    assert holders(MARKER, "memory") == []
    for pk in conversations.due():
        conversations.run(pk)
    assert holders(MARKER, "memory") == []
    assert TranscriptChunk.objects.filter(text__contains="I like tea.").exists()


def test_an_index_that_was_being_made_meanwhile_is_made_again(space, session, say, write, forget, monkeypatch):
    write(space, f"{LINE}\n")
    say(session, WORDS)
    index = conversations.request(session)
    make = conversations.build_chunks

    def meanwhile(*arguments):
        made = make(*arguments)
        monkeypatch.setattr(conversations, "build_chunks", make)
        forget()
        return made

    monkeypatch.setattr(conversations, "build_chunks", meanwhile)
    assert conversations.run(index) is False
    assert holders(MARKER, "memory") == []


def test_the_note_of_a_scheduled_turn_goes_at_once_and_that_of_others_stays(ada, stranger, space, write, forget):
    write(space, f"{LINE}\n")
    now = timezone.now()
    for owner in ada, stranger:
        schedule = Schedule.objects.create(owner=owner, kind="heartbeat", confirmed_at=now)
        for number, note in enumerate([f"told: {WORDS}", "nothing new"]):
            at = now + dt.timedelta(minutes=number)
            Beat.objects.create(owner=owner, schedule=schedule, planned_at=at, status="done", finished_at=at, note=note)
    forget()
    notes = Beat.objects.order_by("pk").values_list("owner", "note")
    assert list(notes) == [
        (ada.pk, ""),
        (ada.pk, "nothing new"),
        (stranger.pk, f"told: {WORDS}"),
        (stranger.pk, "nothing new"),
    ]
