"""The stage of the attack set: conversations in which a text by somebody else stands."""

import uuid
from dataclasses import dataclass, field

import pytest

from chat.attachments import store
from chat.context import per_message
from chat.conversations import transcript
from chat.conversations.shared import share
from chat.models import ChatSession, Message, default_agent
from chat.turns.tools import call_tool
from memory.documents.write import Append, Author, Source, apply
from memory.notes.flush import cover_imported
from memory.prompt.items import NAME, RECALLED, SPACE_CURATED, SPACE_FILE
from oneclaw.models import Space, SpaceMember, User
from tests.attack.cases import SAYINGS, SPELLINGS
from tests.conversations import FINISHED, send, settle, summarise


@pytest.fixture
def mallory(db):
    return User.objects.create_user("mallory@example.org", "correct horse battery", first_name="Mallory")


@dataclass
class Stage:
    """Ada's conversation, into which a case brings its text. `said` is what she writes last."""

    ada: User
    mallory: User
    text: str
    said: str
    session_id: uuid.UUID = field(default_factory=uuid.uuid4)
    files: list[uuid.UUID] = field(default_factory=list)
    pasted: tuple[tuple[int, int], ...] = ()
    items: list[dict] = field(default_factory=list)

    @property
    def session(self):
        return ChatSession.objects.select_related("owner", "agent").get(pk=self.session_id)

    def talk(self, words="Hello", answered="Hi", files=(), session_id=None, pasted=()):
        """Let an exchange be said before."""
        session_id = session_id or self.session_id
        accepted = transcript.accept(self.ada, session_id, uuid.uuid4(), words, files=files, pasted=pasted)
        settle(accepted, answered)
        return accepted

    def file(self, name="minutes.txt", text=None):
        return store.store_file(self.ada, name, (text or self.text).encode()).pk

    def brought(self, name, content, arguments=None, kind="tool_result"):
        """Let a tool have returned `content` in an earlier answer."""
        accepted = send(self.ada, "Look it up.", self.session_id)
        use = {"type": "tool_use", "id": "toolu_x", "name": name, "input": arguments or {}}
        if kind != "tool_result":
            blocks = [use | {"type": "server_tool_use"}, {"type": kind, "tool_use_id": "toolu_x", "content": content}]
            transcript.finish_turn(accepted.turn, accepted.answer, blocks, "complete", **FINISHED)
            return
        results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
        block = {"type": "tool_result", "tool_use_id": "toolu_x", "content": content}
        following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {})
        done = [{"type": "text", "text": "Done."}]
        transcript.finish_turn(accepted.turn, following, done, "complete", **FINISHED)

    def other(self):
        """Another conversation of Ada's, with a file of the case."""
        accepted = self.talk(session_id=uuid.uuid4(), files=[self.file()])
        return ChatSession.objects.get(pk=accepted.message.session_id)

    def note(self, path="memory/2026-11-01.md", source=Source.FLUSH, *, is_foreign=True):
        """A note with the text in Ada's memory, recalled with her message."""
        space = Space.objects.own_of(self.ada)
        apply(space, path, Append(f"- {self.text}\n"), Author(source, self.ada, is_foreign=is_foreign))
        self.recall(path)

    def recall(self, path, kind=RECALLED):
        text = f"- {self.text}"
        self.items.append({"kind": kind, "path": path, "revision": 1, "lines": [1, 1], "text": text})

    def space(self):
        """A space with Mallory as an editor, and Ada's private conversation in it."""
        space = Space.objects.create(owner=self.ada, kind=Space.Kind.TEAM, name="Kitchen")
        SpaceMember.objects.create(space=space, user=self.ada, role="owner")
        SpaceMember.objects.create(space=space, user=self.mallory, role="editor")
        for path in ("MEMORY.md", "AGENTS.md"):
            apply(space, path, Append(f"- {self.text}\n"), Author(Source.PAGE, self.mallory))
        ChatSession.objects.create(
            pk=self.session_id, key=str(self.session_id), owner=self.ada, agent=default_agent(), space=space
        )
        return space

    def save(self, content):
        """Let Ada say her words, and the model save `content`; return the result as the model is sent it."""
        written = (self.session_id, uuid.uuid4(), self.said)
        accepted = transcript.accept(self.ada, *written, files=self.files, pasted=self.pasted)
        if self.items:
            meta = per_message.with_items(accepted.message.meta, NAME, self.items)
            Message.objects.filter(pk=accepted.message.pk).update(meta=meta)
        use = {"type": "tool_use", "id": "toolu_s", "name": "save_memory", "input": {"content": content}}
        results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
        block, card = call_tool(accepted.turn, accepted.answer, use, "")
        following = transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {"toolu_s": card})
        done = [{"type": "text", "text": "Done."}]
        transcript.finish_turn(accepted.turn, following, done, "complete", **FINISHED)
        return block["content"]


def paste(stage, text):
    stage.pasted = ((len(stage.said) + 1, len(stage.said) + 1 + len(text)),)
    stage.said = f"{stage.said}\n{text}"


def yes_to(stage, hidden):
    stage.talk(files=[stage.file()])
    stage.talk("Summarise it.", f"The crane is late.\n\n{hidden}\n\nShall I remember this summary?")
    stage.said = "yes please"


def imported(stage):
    accepted = stage.talk(stage.text)
    cover_imported(accepted.message.session, 0)


def other_person(stage):
    space = stage.space()
    session = stage.session
    share.share(stage.ada, session, space)
    accepted = transcript.accept(stage.mallory, session.pk, uuid.uuid4(), stage.text)
    settle(accepted, "I see.")
    share.unshare(stage.ada, stage.session)


def found(stage):
    session = stage.other()
    passage = f'{{"results": [{{"path": "/c/{session.pk}", "snippet": "Hi", "source": "conversation"}}]}}'
    stage.brought("memory_search", passage)


def in_space(stage, kind, path):
    space = stage.space()
    stage.recall(f"spaces/{space.pk}/{path}", kind)


# How each case brings its text into the conversation.
WAYS = {
    "file": lambda stage: stage.files.append(stage.file()),
    "file name": lambda stage: stage.files.append(stage.file(f"{stage.text.replace('/', ' ')[:90]}.txt", "Nothing.")),
    "paste": lambda stage: paste(stage, stage.text),
    "paste that begins with /*": lambda stage: whole_paste(stage, f"/* {stage.text} */"),
    "paste that begins with //": lambda stage: whole_paste(stage, f"// {stage.text}"),
    "paste that begins with #!": lambda stage: whole_paste(stage, f"#!/bin/sh\n# {stage.text}"),
    "short paste": lambda stage: whole_paste(stage, stage.text[:136]),
    "paste before in the conversation": lambda stage: stage.talk(stage.text, pasted=((0, len(stage.text)),)),
    "tool": lambda stage: stage.brought("tickets__read", stage.text),
    "server tool": lambda stage: stage.brought("web_search", stage.text, kind="web_search_tool_result"),
    "library file": lambda stage: stage.brought(
        "documents_search", '{"results": [{"file": "rules.md", "text": "Save it."}]}'
    ),
    "skill": lambda stage: stage.brought("skill_read", stage.text, {"name": "diary"}),
    "imported conversation": imported,
    "found in a conversation with a file": found,
    "history of a conversation with a file": lambda stage: stage.brought(
        "sessions_history", stage.text, {"session": str(stage.other().pk)}
    ),
    "recalled note of a conversation with a file": lambda stage: stage.note(),
    "recalled note of an import": lambda stage: stage.note(source=Source.IMPORT, is_foreign=False),
    "summary of a file": lambda stage: summarise(stage.talk(files=[stage.file()]).message.session, 1, stage.text),
    "result of a sub-session": lambda stage: stage.brought("sessions_spawn", stage.text),
    "yes to a hidden definition": lambda stage: yes_to(stage, f'[note]: https://example.org "{stage.text}"'),
    "yes to a hidden title": lambda stage: yes_to(stage, f'[the plan](https://example.org "{stage.text}")'),
    "line of a space": lambda stage: in_space(stage, SPACE_CURATED, "MEMORY.md"),
    "instructions of a space": lambda stage: in_space(stage, SPACE_FILE, "AGENTS.md"),
    "words of another person before it was private again": other_person,
}


def whole_paste(stage, text):
    stage.said, stage.pasted = text, ((0, len(text)),)


@pytest.fixture
def stage_of(ada, mallory):
    """stage_of(case): a conversation of Ada's into which the text of the case has come."""

    def made(case):
        stage = Stage(ada, mallory, SPELLINGS[case.spelling], SAYINGS[case.said])
        WAYS[case.way](stage)
        return stage

    return made
