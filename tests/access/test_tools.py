"""Each tool of the model and each kind of person: no call brings back a word that they may not read.

The calls are run as the turn runs them, in a private conversation that each person has in the space, and in the
conversation that is shared with it. The tools are those of the registry.
"""

import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat import extensions
from chat.conversations import transcript
from chat.models import ChatSession, Message, Turn
from chat.turns.tools import WaitingCall, call_tool
from memory.models import MemoryDocument, Proposal
from tests.access import table
from tests.access.cast import COMMON, Cast
from tests.access.roles import MAY, rules_of
from tests.sub_sessions import turn_on_session_tools

TOOLS = rules_of(table.TOOLS)
SAVED = "Peppermint is better"
WRITING = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|MERGE|COPY)\b", re.IGNORECASE)


def calls(cast: Cast, role: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each tool with arguments by which a model could get at rows of the author, and at those of the space."""
    yield "memory_search", {"query": COMMON, "min_score": 0, "max_results": 60}
    yield "documents_search", {"query": COMMON, "max_results": 30}
    yield "sessions_list", {"kind": "all", "limit": 50}
    yield "sessions_spawn", {"task": COMMON, "context": "fork"}
    yield "schedule", {"text": COMMON, "repeat": "daily", "time": "09:00"}
    yield "read_result", {"id": "before"}
    yield "read_result", {"id": "after"}
    yield "memory_get", {"path": "/results/before"}
    yield "memory_get", {"path": "/results/after"}
    yield "save_memory", {"content": f"{SAVED}, says {role}."}
    for kind in ("private", "shared"):
        ids, session = getattr(cast, kind), cast.sessions[kind]
        yield "memory_get", {"path": session.get_absolute_url()}
        yield "documents_get", {"document": ids["file_id"]}
        yield "memory_get", {"path": f"/d/{ids['file_id']}"}
        yield "skill_read", {"name": ids["folder"]}
        yield "sessions_history", {"session": str(session.pk)}
        yield "sessions_send", {"session": str(session.pk), "text": COMMON}
    for path in ("MEMORY.md", f"spaces/{cast.private['space']}/MEMORY.md", f"spaces/{cast.space.pk}/MEMORY.md"):
        yield "memory_get", {"path": path}


def test_the_table_has_every_tool():
    assert TOOLS.keys() == extensions.tool_labels().keys()


def test_no_tool_brings_back_what_a_person_may_not_read(cast):
    keep_results(cast)
    turn_on_session_tools(*cast.people.values())
    offered = {tool.name for tool in extensions.tools_for(cast.sessions["shared"])}
    # In its place memory_get is offered.
    assert offered | {"read_result"} == {name for name, (_, shared) in TOOLS.items() if shared != "-"}
    wrong = [each for is_shared in (False, True) for each in told_by_tools(cast, is_shared=is_shared)]
    assert not wrong, "\n".join(wrong)


def told_by_tools(cast: Cast, *, is_shared: bool) -> Iterator[str]:
    """Yield what is wrong with what the calls bring back, and with where they save, in such a conversation."""
    told: dict[tuple[str, str], set[str]] = defaultdict(set)
    for role in cast.people:
        answer = answer_for(cast, role, is_shared=is_shared)
        for number, (name, arguments) in enumerate(calls(cast, role)):
            text = said_to_model(answer, {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments})
            told[name, role] |= cast.words_in(text)
            readers = MAY["members"] if is_shared else {role}
            if words := {word for word in cast.words_in(text) if not readers <= cast.words[word]}:
                yield f"{name}{arguments} tells {role} {words}"
    for name, words in TOOLS.items():
        reached = {role for role in cast.people if told[name, role]}
        if reached != MAY["nobody" if words[is_shared] == "-" else words[is_shared]]:
            yield f"{name} tells {reached}, is for {words[is_shared]}"
    # What readers and strangers had saved is nowhere in the space.
    saved = [*MemoryDocument.objects.filter(space=cast.space).values_list("content", flat=True)]
    saved += Proposal.objects.filter(space=cast.space).values_list("text", flat=True)
    savers = {role for role in cast.people if f"{SAVED}, says {role}." in "\n".join(saved)}
    if savers != (MAY["writers"] if is_shared else set()):
        yield f"{savers} have saved to the space"


def test_each_tool_is_known_as_one_that_only_reads_or_that_changes_something():
    only_read = {name for name in TOOLS if extensions.tool_named(name).only_reads}
    assert only_read == {
        *("memory_search", "memory_get", "documents_search", "documents_get", "skill_read"),
        *("read_result", "sessions_list", "sessions_history"),
    }
    assert TOOLS.keys() - only_read == {"save_memory", "schedule", "sessions_send", "sessions_spawn"}


def test_calls_that_only_read_write_no_row(cast):
    keep_results(cast)
    turn_on_session_tools(*cast.people.values())
    written = defaultdict(list)
    for is_shared in (False, True):
        answer = answer_for(cast, "author", is_shared=is_shared)
        for number, (name, arguments) in enumerate(calls(cast, "author")):
            with CaptureQueriesContext(connection) as queries:
                said_to_model(answer, {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments})
            written[name] += [query["sql"] for query in queries if WRITING.match(query["sql"])]
    assert {name for name, statements in written.items() if not statements} == {
        name for name in TOOLS if extensions.tool_named(name).only_reads
    }


def keep_results(cast: Cast) -> None:
    """Store results of tools in the shared conversation: of before it was shared, for its owner alone, and of after."""
    session = cast.sessions["shared"]
    for name, seq, readers in (("before", 0, MAY["author"]), ("after", session.last_seq + 1, MAY["members"])):
        result = {"type": "tool_result", "tool_use_id": name, "content": cast.word(name, readers)}
        Message.objects.create(session=session, seq=seq, role="tool", content=[result])
    ChatSession.objects.filter(pk=session.pk).update(last_seq=session.last_seq + 1)


def answer_for(cast: Cast, role: str, *, is_shared: bool) -> Message:
    """Return the answer in whose turn the model calls tools for `role`."""
    if not is_shared:
        accepted = transcript.accept(cast.people[role], uuid.uuid4(), uuid.uuid4(), "Hello")
        # A former member has begun it in the space, too; and a stranger, if only they could.
        ChatSession.objects.filter(pk=accepted.message.session_id).update(space=cast.space)
        return accepted.answer
    session, author = cast.sessions["shared"], cast.people["author"]
    Turn.objects.filter(session=session).update(status="complete", finished_at=timezone.now())
    accepted = transcript.accept(author, session.pk, uuid.uuid4(), "Hello")
    # Who has lost the role in the middle of the turn, or never had it.
    Turn.objects.filter(pk=accepted.turn.pk).update(asked_by=cast.people[role])
    return accepted.answer


def said_to_model(answer: Message, use: dict[str, object]) -> str:
    """Return what a call brings back: to the model, and to the card of the person."""
    turn = Turn.objects.get(pk=answer.turn_id)
    done = call_tool(turn, Message.objects.select_related("turn__asked_by").get(pk=answer.pk), use, "")
    if isinstance(done, WaitingCall):
        done = done.finished(done.pending.meanwhile)
    return json.dumps(done, ensure_ascii=False)
