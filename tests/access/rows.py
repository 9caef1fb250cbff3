"""Rows of every kind in a cast: of the author alone, of the space, and of the server."""

import datetime as dt
import uuid

from allauth.usersessions.models import UserSession
from django.utils import timezone

from chat.attachments import store
from chat.context.prompt import build_request
from chat.conversations import lifecycle, transcript
from chat.conversations.keys import sub_session_key
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
    SubTask,
    default_agent,
)
from chat.rendering import outgoing_links
from chat.transfer import share as links
from memory.documents.write import Append, Author, apply
from memory.forgetting.forget import forget
from memory.index import conversations
from memory.library import files, reading
from memory.models import Decision, FileVersion, GoldenQuestion, MemoryRevision, Proposal, Review, Suggestion, Topic
from memory.skills import approval, writing
from memory.skills.catalogue import find_skill
from memory.tools import proposals
from oneclaw.models import Budget, Invitation, LegalHold, ModelServer, Offboarding, RetentionRule, Space
from oneclaw.people import keys
from tests.access.cast import AUTHOR, COMMON, MEMBERS, STAFF, Cast, with_people
from tests.conversations import FINISHED, cite, summarise
from tests.skills import skill_text


def make_cast() -> Cast:
    """Return the people with rows of every kind."""
    cast = with_people()
    for kind, readers in (("private", AUTHOR), ("shared", MEMBERS)):
        # First, so that it goes into the answers.
        remember(cast, kind, readers)
        keep_files(cast, kind, readers)
        converse(cast, kind, readers)
    keep_own(cast)
    ChatSession.objects.create(key="peer", owner=cast.people["peer"], agent=default_agent(), title="Peer")
    keep_server(cast)
    return cast


def converse(cast: Cast, kind: str, readers: frozenset[str]) -> None:
    """Make a conversation of the author in the space, with a file, a title and a summary that the model reads."""
    author, ids = cast.people["author"], getattr(cast, kind)
    file = store.store_file(
        author, f"{cast.word(f'{kind}name', readers)}.txt", cast.word(f"{kind}inside", readers).encode()
    )
    first = turn(cast, f"{kind}first", readers, files=[file.pk])
    session = ChatSession.objects.get(pk=first.message.session_id)
    ChatSession.objects.filter(pk=session.pk).update(space=cast.space, title=cast.word(f"{kind}title", readers))
    session.refresh_from_db()
    if kind == "shared":
        session = sharing.share(author, session, cast.space)
    # Of what was said before a conversation was shared, the members see less.
    second = turn(cast, f"{kind}second", readers, session_id=session.pk)
    session.refresh_from_db()
    made = summarise(session, first.answer.seq, cast.word(f"{kind}summary", readers))
    conversations.run(conversations.request(session))
    # By the author, so that no page marks it later.
    ChatSession.objects.filter(pk=session.pk).update(read_seq=session.last_seq)
    session.refresh_from_db()
    cast.sessions[kind] = session
    ids |= {
        "session_id": session.pk,
        "message_id": second.answer.pk,
        "question": second.message.pk,
        "attachment_id": file.pk,
        "number": made.number,
        "mark": cite(second),
        "to": outgoing_links.signed(second.answer.pk, "https://example.org/long/path"),
    }


def turn(cast: Cast, name: str, readers: frozenset[str], **how: object) -> transcript.AcceptedMessage:
    """Return a finished turn of the author."""
    session_id = how.pop("session_id", None) or uuid.uuid4()
    asked = f"Who brought the {COMMON} from Naxos, {cast.word(f'{name}asked', readers)}?"
    accepted = transcript.accept(cast.people["author"], session_id, uuid.uuid4(), asked, **how)
    build_request(accepted.turn)
    answer = [{"type": "text", "text": f"{cast.word(f'{name}answer', readers)} {COMMON}"}]
    transcript.finish_turn(accepted.turn, accepted.answer, answer, "complete", **FINISHED)
    return accepted


def remember(cast: Cast, kind: str, readers: frozenset[str]) -> None:
    """Make memory of the author, or of the space: a document with revisions, and what waits for an answer."""
    author, ids = cast.people["author"], getattr(cast, kind)
    space = cast.space if kind == "shared" else Space.objects.own_of(author)
    by = Author(MemoryRevision.Source.PAGE, author)
    line = f"- {cast.word(f'{kind}line', readers)} likes {COMMON} tea"
    gone = f"- {cast.word(f'{kind}gone', frozenset())} likes {COMMON} too"
    apply(space, "MEMORY.md", Append(f"{line}\n"), by)
    document_id = apply(space, "MEMORY.md", Append(f"{gone}\n"), by).document_id
    receipt = forget(space, [gone], author if kind == "private" else cast.people["owner"])
    noted = f"The {cast.word(f'{kind}noted', readers)} {COMMON} was brought from Naxos."
    apply(space, "memory/2026-11-03.md", Append(f"## Monday\n\n- {noted}\n"), by)
    document = space.documents.get(pk=document_id)
    revision = document.revisions.first()
    waiting = f"{cast.word(f'{kind}suggested', readers)} {COMMON}"
    asked = f"{cast.word(f'{kind}question', readers)} {COMMON}"
    ids |= {
        "document_id": document_id,
        "revision_id": revision.pk,
        "line": 1,
        "topic": Topic.OTHER.value,
        "path": "MEMORY.md",
        "forgetting_id": receipt.pk,
        "decision_id": Decision.objects.create(revision=revision, kind="contradiction").pk,
        "review_id": Review.objects.create(document=document, kind="still_true", line_hash="x").pk,
        "suggestion_id": Suggestion.objects.create(
            space=space, path="MEMORY.md", text=waiting, text_hash=kind, kind="session"
        ).pk,
        "question_id": GoldenQuestion.objects.create(space=space, question=asked, expected=[], key=kind).pk,
    }
    if kind == "private":
        ids["space"] = space.pk
    else:
        text = cast.word("proposed", readers)
        ids["proposal_id"] = proposals.propose(space, text, author, Proposal.Kind.WRITTEN).pk


def keep_files(cast: Cast, kind: str, readers: frozenset[str]) -> None:
    """Make a file in the library, and a skill that every reader may use."""
    author, ids = cast.people["author"], getattr(cast, kind)
    space = cast.space if kind == "shared" else Space.objects.own_of(author)
    page = f"The {cast.word(f'{kind}page', readers)} about {COMMON} is on this page.\n".encode()
    version = files.add(space, author, f"{cast.word(f'{kind}book', readers)}.txt", page)
    reading.run(version.pk)
    folder, source = f"brew-{kind}", str(space.pk) if kind == "shared" else "own"
    about = f"Brews {COMMON} tea as {cast.word(f'{kind}skill', readers)} does. Use it when tea is wanted."
    writing.create(author, space, folder, skill_text(folder, about, f"Boil {cast.word(f'{kind}brew', readers)}."))
    if kind == "shared":
        skill = find_skill(cast.people["owner"], source, folder)
        approval.approve(cast.people["owner"], skill, skill.digest, for_all=True)
    ids |= {
        "file_id": FileVersion.objects.get(pk=version.pk).file_id,
        "folder": folder,
        "source": source,
        "memory_id": "0",
    }


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
    link, token = links.share(author, cast.sessions["private"], "week", SharedLink.Scope.SPACE, cast.space.pk)
    key, _ = keys.make(author, cast.word("key", AUTHOR), "never")
    deleted = turn(cast, "deleted", frozenset()).message.session
    lifecycle.delete(deleted)
    cast.sessions["deleted"] = deleted
    private |= {
        "slug": agent.slug,
        "prompt_id": SavedPrompt.objects.create(owner=author, name="p", text=cast.word("prompt", AUTHOR)).pk,
        "schedule_id": schedule.pk,
        "route_id": route.pk,
        "folder_id": organise.get_or_create_folder(author, cast.word("folder", AUTHOR)).pk,
        "job_id": ImportJob.objects.create(owner=author, name=f"{cast.word('import', AUTHOR)}.zip").pk,
        "link_id": link.pk,
        "linked_id": linked.pk,
        "key_id": key.pk,
        "device_id": UserSession.objects.create(
            user=author, ip="127.0.0.1", session_key=cast.word("sessionkey", frozenset()), user_agent="Firefox"
        ).pk,
        "token": token,
        "task_id": sub_session(cast).pk,
    }


def sub_session(cast: Cast) -> SubTask:
    """Return a sub-session that the model of the author's conversation has begun, and that has ended."""
    author, parent = cast.people["author"], cast.sessions["private"]
    session_id = uuid.uuid4()
    session = ChatSession.objects.create(
        pk=session_id,
        key=sub_session_key("oneclaw", author.pk, session_id),
        owner=author,
        agent=default_agent(),
        kind=ChatSession.Kind.SUB_SESSION,
        title=cast.word("below", AUTHOR),
    )
    answer = parent.messages.get(pk=cast.private["message_id"])
    of_turn = {"turn": answer.turn, "root_turn": answer.turn, "answer": answer, "parent": parent}
    return SubTask.objects.create(
        owner=author,
        session=session,
        tool_use_id="toolu_1",
        depth=1,
        state=SubTask.State.DONE,
        token_budget=1,
        deadline=timezone.now(),
        finished_at=timezone.now(),
        **of_turn,
    )


def keep_server(cast: Cast) -> None:
    """Make what those see who run the server for others."""
    former = cast.people["former"]
    hold = LegalHold.objects.create(user=former, reason=cast.word("hold", STAFF))
    cast.shared |= {
        "person_id": cast.people["author"].pk,
        "invitation_id": Invitation.objects.create(
            token_hash="x",
            expires_at=timezone.now() + dt.timedelta(days=1),
            email=f"{cast.word('invited', STAFF)}@example.org",
        ).pk,
        "offboarding_id": Offboarding.objects.create(person=2**31 - 9, status="done", finished_at=timezone.now()).pk,
        "server_id": ModelServer.objects.create(name="far", url="http://127.0.0.1:9", offers=[{"model": "m"}]).pk,
        "budget_id": Budget.objects.create(period="month", max_tokens=10**12).pk,
        "rule_id": RetentionRule.objects.create(kind="files", days=3000).pk,
        "hold_id": hold.pk,
        "name": "announcement",
    }
