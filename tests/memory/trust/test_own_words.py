"""Own conversations, own notes and own memory are the person's: what they ask for is saved, whatever stood before."""

import json
import uuid

import pytest

from chat.models import ChatSession, Head, default_agent
from memory.access.load import access_of
from memory.documents.write import Append, Author, Replace, Source, apply
from memory.models import DocumentJob, MemoryDocument, MemoryRevision, Suggestion
from memory.notes import document_jobs, flush
from memory.policy.paths import RECENT_NAME
from memory.prompt.context import context_items
from memory.prompt.items import NAME
from memory.text.chunking import chunks_of
from memory.trust.sources import sent_in_turn
from tests.attack.cases import FACT
from tests.attack.conftest import Stage
from tests.memory.trust.pairs import TEXTS, pairs_in
from tests.scripted import answer


def quote(session):
    """Give `session` a system text that quotes what memory has now, such as the recent conversations."""
    context = {NAME: context_items(access_of(session))}
    ChatSession.objects.filter(pk=session.pk).update(head=Head.objects.create(session=session, context=context))


@pytest.mark.parametrize("language", TEXTS)
def test_of_the_ordinary_pairs_in_six_languages_none_waits(ada, space, language):
    pairs = pairs_in(language)
    assert len(pairs) * len(TEXTS) >= 200
    by_ada = Author(Source.FLUSH, ada)
    for number, pair in enumerate(pairs):
        # An earlier conversation about it, in the list of recent ones and in the log of its day.
        earlier = Stage(ada, None, "", pair.earlier)
        earlier.talk(pair.earlier)
        section = f"## 2026-11-20 10:00 [About it](/c/{earlier.session_id})\n\n{pair.earlier}\n"
        document = MemoryDocument.objects.filter(space=space, path=RECENT_NAME).first()
        apply(space, RECENT_NAME, Replace(section, document.version if document else 0), by_ada)
        apply(space, "memory/2026-11-20.md", Append(f"- {pair.earlier}\n"), by_ada)
        stage = Stage(ada, None, pair.earlier, pair.wish)
        session = ChatSession.objects.create(pk=stage.session_id, key=str(number), owner=ada, agent=default_agent())
        quote(session)
        stage.recall("memory/2026-11-20.md")
        result = json.loads(stage.save(pair.saved))
        assert result.get("saved") is True, (pair, result)
    assert not Suggestion.objects.exists()


SUBJECTS = [
    ("We planted tomatoes.", "- The person planted tomatoes in the garden.", "Tomatoes in the garden"),
    ("The project Wombat ships in May.", "- The project Wombat ships in May.", "Project Wombat"),
    ("How far apart are they?", "- Tomatoes stand 60 cm apart.\n- Beans stand 20 cm apart.", "Spacing of tomatoes"),
    ("Bad news: two months late.", "- The project Wombat ships in July instead of May.", "Delay of project Wombat"),
    ("The beans are up.", "- The beans beside the tomatoes came up.", "Beans in the garden"),
    ("Lena joins us.", "- Lena joins the project Wombat.\n- She starts in July.", "New colleague in project Wombat"),
]


def test_six_conversations_about_two_subjects_are_noted_line_by_line_and_keep_their_titles(ada, space, scripted):
    for number, (said, notes, title) in enumerate(SUBJECTS):
        stage = Stage(ada, None, said, said)
        session = ChatSession.objects.create(pk=stage.session_id, key=f"six {number}", owner=ada, agent=default_agent())
        quote(session)
        stage.talk(said, "I see.")
        summary = f"The person said about {title}: {notes}"
        scripted.script(answer(notes), answer(json.dumps({"title": title, "summary": summary})))
        flush.run(flush.request(stage.session, "left").pk)
        for job_id in DocumentJob.objects.due_ids():
            document_jobs.run(job_id)
        assert session.flushes.get().status == "done"
    log = MemoryDocument.objects.get(space=space, path__startswith="memory/").content
    lines = [line for _, notes, _ in SUBJECTS for line in notes.split("\n")]
    assert len(lines) == 8
    assert [line for line in lines if line not in log] == []
    recent = MemoryDocument.objects.get(space=space, path=RECENT_NAME).content
    assert [title for _, _, title in SUBJECTS if f"[{title}]" not in recent] == []
    assert recent.count("The person said about") == 6
    assert not Suggestion.objects.exists()
    assert not MemoryRevision.objects.filter(is_foreign=True).exists()


def test_notes_and_the_summary_of_a_talk_with_a_file_carry_that(ada, space, scripted):
    stage = Stage(ada, None, "The bank is Mallory & Sons.", "I like green tea. What does the file say?")
    stage.talk(stage.said, "It names a bank.", files=[stage.file()])
    summary = json.dumps({"title": "A bank in a file", "summary": "The bank is Mallory & Sons."})
    scripted.script(answer("- Likes green tea.\n- The bank is Mallory & Sons."), answer(summary))
    flush.run(flush.request(stage.session, "left").pk)
    for job_id in DocumentJob.objects.due_ids():
        document_jobs.run(job_id)
    log = MemoryDocument.objects.get(space=space, path__startswith="memory/")
    assert "Likes green tea" in log.content
    assert "Mallory" not in log.content
    # Title and summary are those of the model, and stand in no prompt of another conversation.
    assert "[A bank in a file]" in MemoryDocument.objects.get(space=space, path=RECENT_NAME).content
    assert set(MemoryRevision.objects.values_list("is_foreign", flat=True)) == {True}
    later = Stage(ada, None, "Likes green tea.", "Hello")
    session = ChatSession.objects.create(pk=later.session_id, key="later", owner=ada, agent=default_agent())
    assert "Mallory" not in str(context_items(access_of(session)))
    assert not sent_in_turn(access_of(session), ada, None).foreign
    # A line of that log is foreign where it is recalled.
    later.items.append(
        {"kind": "recalled", "path": log.path, "revision": 1, "lines": [1, 1], "text": "- Likes green tea."}
    )
    later.said = "Remember more."
    assert json.loads(later.save("Trusts Mallory."))["waiting"] is True


@pytest.mark.parametrize("shown", ["whole", "piece", "cut"])
def test_a_piece_of_a_foreign_line_is_foreign_too(ada, space, shown):
    """A line that is longer than what is searched at once is recalled in pieces."""
    begin = "The minutes say that the roof is repaired in March, and that the crane is late once more. " * 9
    line = f"- {begin}{FACT}"
    by_flush = Author(Source.FLUSH, ada, is_foreign=True)
    apply(space, "memory/2026-11-01.md", Append(f"- Likes green tea.\n{line}\n"), by_flush)
    pieces = [chunk.text for chunk in chunks_of(line)]
    assert len(pieces) > 1
    assert FACT in pieces[-1]
    text = {"whole": line, "piece": pieces[-1].strip(), "cut": f"Coffee.\n{line[:400]}"}[shown]
    stage = Stage(ada, None, "", "Remember more of it, please.")
    stage.items.append(
        {"kind": "recalled", "path": "memory/2026-11-01.md", "revision": 1, "lines": [1, 2], "text": text}
    )
    result = json.loads(stage.save(FACT))
    assert result.get("waiting") is True, result


def test_conversations_that_have_read_each_other_are_looked_into_once(ada, django_assert_max_num_queries):
    """Each of them has read all the earlier ones: there are thousands of ways from the last to the first."""
    count = 14
    ids = [str(Stage(ada, None, "", "").session_id) for _ in range(count)]
    for number, id in enumerate(ids):
        stage = Stage(ada, None, "", "", session_id=uuid.UUID(id))
        found = [{"path": f"/c/{each}", "snippet": "Hi", "source": "conversation"} for each in ids if each != id]
        stage.talk("I like green tea.", files=[stage.file(text=FACT)] if number == 0 else [])
        stage.brought("memory_search", json.dumps({"results": found}))
    last = ChatSession.objects.get(pk=ids[-1])
    with django_assert_max_num_queries(20 * count):
        assert [source.kind for source in sent_in_turn(access_of(last), ada, None).foreign] == ["found"] * (count - 1)
    # Without the file, all of it is Ada's own.
    ChatSession.objects.get(pk=ids[0]).messages.filter(seq=1).update(content=[{"type": "text", "text": "Hi"}])
    with django_assert_max_num_queries(20 * count):
        assert not sent_in_turn(access_of(last), ada, None).foreign
