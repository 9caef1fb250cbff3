"""A space with private and shared rows of every kind, the people around it, and who may read which word.

Each row has a word that stands nowhere else, so that a page, an answer or a file tells by its words what it shows.
"""

import datetime as dt
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from chat.attachments import store
from chat.conversations import transcript
from chat.conversations.shared import share as sharing
from chat.library import organise
from chat.models import (
    Agent,
    ChatSession,
    IdentityLink,
    ImportJob,
    SavedPrompt,
    Schedule,
    SessionRoute,
    SharedLink,
    default_agent,
)
from chat.transfer import share as links
from memory.documents.write import Append, Author, apply
from memory.forgetting.forget import forget
from memory.library import files, reading
from memory.models import Decision, FileVersion, GoldenQuestion, MemoryRevision, Proposal, Review, Suggestion
from memory.policy.access import persons_space
from memory.tools import proposals
from oneclaw.models import Group, GroupMember, Invitation, Space, SpaceGroup, SpaceMember, User
from oneclaw.people import keys
from tests.conversations import FINISHED

Source = MemoryRevision.Source
WORD = re.compile(r"zq[a-z]+")
# Everybody of the cast. The author began the conversations, and is an editor of the space; former was one; grouped
# reads through a group; staff may do everything in the administration, and has no role in the space.
PEOPLE = ("owner", "author", "editor", "reader", "grouped", "former", "stranger", "staff")
MEMBERS = frozenset({"owner", "author", "editor", "reader", "grouped"})
AUTHOR = frozenset({"author"})


@dataclass
class Cast:
    """The people by name, ids of private and shared rows by parameter of a URL, and whose words are whose."""

    people: dict[str, User] = field(default_factory=dict)
    private: dict[str, object] = field(default_factory=dict)
    shared: dict[str, object] = field(default_factory=dict)
    words: dict[str, frozenset[str]] = field(default_factory=dict)
    space: Space = field(default_factory=Space)
    sessions: dict[str, ChatSession] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def word(self, name: str, readers: frozenset[str]) -> str:
        """Return a new word that only `readers` may see."""
        assert f"zq{name}" not in self.words
        self.words[f"zq{name}"] = readers
        return f"zq{name}"

    def beyond(self, text: str, role: str) -> set[str]:
        """Return the words of `text` that `role` may not see."""
        return {word for word in WORD.findall(text) if word in self.words and role not in self.words[word]}


def make_cast() -> Cast:
    """Return a space with its people and rows."""
    cast = Cast()
    for name in PEOPLE:
        make = User.objects.create_superuser if name == "staff" else User.objects.create_user
        cast.people[name] = make(f"{name}@example.org", "correct horse battery", first_name=name.title())
    cast.space = Space.objects.create(
        owner=cast.people["owner"],
        kind=Space.Kind.TEAM,
        name=cast.word("space", MEMBERS),
        description=cast.word("about", MEMBERS),
    )
    for name, role in {"owner": "owner", "author": "editor", "editor": "editor", "reader": "reader"}.items():
        SpaceMember.objects.create(space=cast.space, user=cast.people[name], role=role)
    group = Group.objects.create(name=cast.word("group", MEMBERS | {"staff"}))
    GroupMember.objects.create(group=group, user=cast.people["grouped"])
    held = SpaceGroup.objects.create(space=cast.space, group=group, role="reader")
    cast.shared |= {
        "space_id": cast.space.pk,
        "member_id": cast.space.members.get(user=cast.people["reader"]).pk,
        "held_id": held.pk,
        "group_id": group.pk,
    }
    was = SpaceMember.objects.create(space=cast.space, user=cast.people["former"], role="editor")
    was.delete()
    for kind, readers in (("private", AUTHOR), ("shared", MEMBERS)):
        converse(cast, kind, readers)
        remember(cast, kind, readers)
    keep_own(cast)
    return cast


def converse(cast: Cast, kind: str, readers: frozenset[str]) -> None:
    """Make a conversation of the author in the space, with a file, a version of the answer, and a title."""
    author, ids = cast.people["author"], getattr(cast, kind)
    file = store.store_file(
        author, f"{cast.word(f'{kind}name', readers)}.txt", cast.word(f"{kind}inside", readers).encode()
    )
    asked = cast.word(f"{kind}asked", readers)
    accepted = transcript.accept(author, uuid.uuid4(), uuid.uuid4(), asked, files=[file.pk])
    answer = [{"type": "text", "text": cast.word(f"{kind}answer", readers)}]
    transcript.finish_turn(accepted.turn, accepted.answer, answer, "complete", **FINISHED)
    session = ChatSession.objects.get(pk=accepted.message.session_id)
    ChatSession.objects.filter(pk=session.pk).update(space=cast.space, title=cast.word(f"{kind}title", readers))
    session.refresh_from_db()
    if kind == "shared":
        session = sharing.share(author, session, cast.space)
    cast.sessions[kind] = session
    ids |= {"session_id": session.pk, "message_id": accepted.answer.pk, "attachment_id": file.pk, "number": 1}
    ids["question"] = accepted.message.pk


def remember(cast: Cast, kind: str, readers: frozenset[str]) -> None:
    """Make memory of the author, or of the space: a document with revisions, a file, and what waits for an answer."""
    author, ids = cast.people["author"], getattr(cast, kind)
    space = cast.space if kind == "shared" else persons_space(author)
    by = Author(Source.PAGE, author)
    line, gone = (
        f"- {cast.word(f'{kind}line', readers)} likes tea",
        f"- {cast.word(f'{kind}gone', frozenset())} is forgotten",
    )
    apply(space, "MEMORY.md", Append(f"{line}\n"), by)
    apply(space, "MEMORY.md", Append(f"{gone}\n"), by)
    document = space.documents.get(path="MEMORY.md")
    receipt = forget(space, [gone], author) if kind == "private" else forget(space, [gone], cast.people["owner"])
    page = f"The {cast.word(f'{kind}page', readers)} is on this page.\n".encode()
    version = files.add(space, author, f"{cast.word(f'{kind}book', readers)}.txt", page)
    reading.run(version.pk)
    version = FileVersion.objects.get(pk=version.pk)
    ids |= {
        "document_id": document.pk,
        "revision_id": document.revisions.first().pk,
        "line": 1,
        "topic": 0,
        "file_id": version.file_id,
        "path": "MEMORY.md",
        "forgetting_id": getattr(receipt, "pk", 1),
        "decision_id": Decision.objects.create(revision=document.revisions.first(), kind="contradiction").pk,
        "review_id": Review.objects.create(document=document, kind="still_true", line_hash="x").pk,
        "suggestion_id": Suggestion.objects.create(
            space=space, path="MEMORY.md", text=cast.word(f"{kind}suggested", readers), text_hash=kind, kind="session"
        ).pk,
        "question_id": GoldenQuestion.objects.create(
            space=space, question=cast.word(f"{kind}question", readers), expected=[], key=kind
        ).pk,
    }
    if kind == "shared":
        proposed = proposals.propose(space, cast.word("proposed", readers), author, Proposal.Kind.WRITTEN)
        ids["proposal_id"] = proposed.pk


def keep_own(cast: Cast) -> None:
    """Make what belongs to the author alone, whatever spaces there are."""
    author, private = cast.people["author"], cast.private
    agent = Agent.objects.create(owner=author, slug="zqagent", name=cast.word("agent", AUTHOR), instructions="x")
    schedule = Schedule.objects.create(
        owner=author,
        kind="task",
        text=cast.word("schedule", AUTHOR),
        repeat="daily",
        at=dt.time(9),
        zone="UTC",
        confirmed_at=author.date_joined,
    )
    route = SessionRoute.objects.create(
        owner=author, agent=default_agent(), key="route", channel="telegram", peer=cast.word("peer", AUTHOR)
    )
    linked = IdentityLink.objects.create(
        owner=author, canonical=cast.word("canonical", AUTHOR), provider="telegram", peer="zqpeer"
    )
    job = ImportJob.objects.create(owner=author, name=f"{cast.word('import', AUTHOR)}.zip")
    link, token = links.share(author, cast.sessions["private"], "week", SharedLink.Scope.SPACE, cast.space.pk)
    cast.tokens["space"] = token
    key, _ = keys.make(author, cast.word("key", AUTHOR), "never")
    private |= {
        "slug": agent.slug,
        "prompt_id": SavedPrompt.objects.create(owner=author, name="p", text=cast.word("prompt", AUTHOR)).pk,
        "schedule_id": schedule.pk,
        "route_id": route.pk,
        "folder_id": organise.get_or_create_folder(author, cast.word("folder", AUTHOR)).pk,
        "job_id": job.pk,
        "link_id": link.pk,
        "linked_id": linked.pk,
        "key_id": key.pk,
        "token": token,
        "invitation_id": Invitation.objects.create(token_hash="x", expires_at=author.date_joined).pk,
        "person_id": author.pk,
    }


def gone_ids(ids: Mapping[str, object]) -> dict[str, object]:
    """Return ids of the same kinds that nothing has."""
    made = {
        name: uuid.uuid4() if isinstance(value, uuid.UUID) else 2**40 + 7 if isinstance(value, int) else "zz-nothing"
        for name, value in ids.items()
    }
    return made | {"path": "memory/2001-01-01.md"}
