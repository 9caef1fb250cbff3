"""What the chat keeps of a person who leaves: shared conversations pass to others, and everything else goes."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from chat.attachments import disk, store
from chat.context.heads import withhold_thinking
from chat.conversations import retention
from chat.conversations.keys import owned_by
from chat.conversations.shared.authorship import FROM_KEY, MEMBER
from chat.conversations.shared.copies import PERSONAL_META
from chat.conversations.shared.share import leave_rounds
from chat.models import (
    Agent,
    Attachment,
    ChatSession,
    ContextRound,
    ImportJob,
    Message,
    Presence,
    RelayedMessage,
    Schedule,
    SessionRoute,
    SharedLink,
    SubTask,
    Turn,
    default_agent,
)
from chat.rendering.cards import Card
from chat.signals import session_handed_over
from chat.transfer import link_copies
from chat.transfer.importing import jobs
from oneclaw import pubsub
from oneclaw.audit.holds import HeldError
from oneclaw.domains import Alive, PersonPart, Way
from oneclaw.llm import Block
from oneclaw.llm.citations import uncited
from oneclaw.models import Space, SpaceMember, User

REFERENCES = {
    "chat.Agent.owner": Way.DELETED,
    "chat.ResetChoice.owner": Way.DELETED,
    "chat.SessionRoute.owner": Way.DELETED,
    "chat.IdentityLink.owner": Way.DELETED,
    "chat.IdentityLink.by": Way.ANONYMISED,
    "chat.IdentityCode.owner": Way.DELETED,
    "chat.Folder.owner": Way.DELETED,
    "chat.ChatSession.owner": Way.HANDED_OVER,
    "chat.Message.author": Way.ANONYMISED,
    "chat.Attachment.owner": Way.HANDED_OVER,
    "chat.ImportJob.owner": Way.DELETED,
    "chat.Presence.user": Way.DELETED,
    "chat.SavedPrompt.owner": Way.DELETED,
    "chat.ContextRound.owner": Way.HANDED_OVER,
    "chat.Schedule.owner": Way.DELETED,
    "chat.Beat.owner": Way.DELETED,
    "chat.SubTask.owner": Way.DELETED,
    "chat.RelayedMessage.owner": Way.DELETED,
    "chat.QueuedMessage.author": Way.DELETED,
    "chat.SessionMember.user": Way.DELETED,
    "chat.Turn.asked_by": Way.ANONYMISED,
}
# What the model and the members are shown instead of the name of a writer who has left.
FORMER_MEMBER = "Former member"
REMOVED = "[Removed.]"
# What of a message was made for the former owner, or for their requests alone.
META_OF_OWNER = ("context", "hook_text", "sent")
THOUGHTS = ("thinking", "redacted_thinking", "compaction")


def counts(person: User) -> Mapping[str, int]:
    """Return how many conversations, shared ones, files, links and scheduled tasks `person` has."""
    mine = ChatSession.objects.filter(owner=person, kind="", last_seq__gt=0)
    shared = mine.filter(shared_at__isnull=False, deleted_at=None)
    return {
        "shared_conversations": shared.count(),
        "conversations": mine.count() - shared.count(),
        "files": Attachment.objects.filter(owner=person).exclude(session__in=shared).count(),
        "links": SharedLink.objects.filter(session__owner=person).count(),
        "tasks": Schedule.objects.filter(owner=person).count(),
        "prompts": person.saved_prompts.count(),
    }


def hashes(person: User) -> Mapping[str, str]:
    """Return what identifies the conversations and the files of `person` that go."""
    removed = ChatSession.objects.filter(Q(shared_at=None) | Q(deleted_at__isnull=False), owner=person)
    files = Attachment.objects.filter(owner=person).order_by("sha256").values_list("sha256", flat=True)
    sessions = removed.order_by("pk").values_list("pk", flat=True)
    return {"conversations": digest(map(str, sessions)), "files": digest(files)}


def digest(values: Iterable[str]) -> str:
    """Return SHA-256 of `values`, one a line. Pure."""
    return hashlib.sha256("".join(f"{value}\n" for value in values).encode()).hexdigest()


def hand_over(person: User, receiver: User | None) -> None:
    """Give the shared conversations of `person` to `receiver` where they are a member, and else to an owner of the
    space; what `person` wrote in those of others loses its author."""
    shared = ChatSession.objects.filter(owner=person, deleted_at=None).exclude(shared_at=None)
    for session in shared.select_related("space").order_by("pk"):
        space = session.space
        is_member = receiver is not None and space is not None and space in Space.objects.visible_to(receiver)
        to = receiver if is_member else owner_of(space, person) if space else None
        if to is not None and to.pk != person.pk:
            hand_over_session(session.pk, to)
    files = Attachment.objects.filter(owner=person, message__isnull=False).exclude(message__session__owner=person)
    for file in files.select_related("message__session__owner"):
        if file.message is not None:
            move_file(file, file.message.session, file.message.session.owner)
    written_in = ChatSession.objects.filter(messages__author=person).exclude(owner=person).distinct()
    for session_id in list(written_in.values_list("pk", flat=True)):
        leave_session(session_id, person)
    link_copies.forget_sharer(person, FORMER_MEMBER)


def owner_of(space: Space, person: User) -> User:
    """Return the owner of `space` who gets what `person` has begun there, one who can sign in if there is any."""
    owners = User.objects.filter(is_active=True, space_roles__space=space, space_roles__role=SpaceMember.Role.OWNER)
    others = owners.exclude(pk=person.pk).order_by("pk")
    return others.filter(pk=space.owner_id).first() or others.first() or space.owner


@transaction.atomic
def leave_session(session_id: uuid.UUID, person: User) -> None:
    """Take the name of `person` from what they have written in the conversation of another person."""
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=session_id)
    for message in session.messages.filter(author=person).order_by("seq").iterator(chunk_size=200):
        Message.objects.filter(pk=message.pk).update(author=None, meta=without_name(message.meta))
    renew_head(session)


def without_name(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the meta of a message whose writer has left: the number by which the model knows them stays. Pure."""
    number = meta.get(FROM_KEY, {}).get("number", 0)
    return meta | {"by": MEMBER, FROM_KEY: {"number": number, "name": FORMER_MEMBER}}


def renew_head(session: ChatSession) -> None:
    """Let the next request of the locked conversation make a new head, because what was sent has changed."""
    ChatSession.objects.filter(pk=session.pk).update(head=None)
    session.heads.all().delete()
    withhold_thinking(session, session.last_seq)


@transaction.atomic
def hand_over_session(session_id: uuid.UUID, to: User) -> None:
    """Make `to` the owner of the conversation and its files; their memory learns nothing from it.

    Its sub-sessions, which were never shared, stay with the former owner and go with them.
    """
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=session_id)
    person = session.owner
    session.turns.filter(status=Turn.Status.RUNNING).update(stop_requested=True)
    for message in session.messages.order_by("seq").iterator(chunk_size=200):
        hand_over_message(message, person, through=session.shared_seq)
    files = Attachment.objects.filter(Q(session=session) | Q(names__message__session=session), owner=person)
    for file in files.distinct():
        move_file(file, session, to)
    SharedLink.objects.filter(session=session).delete()
    RelayedMessage.objects.filter(target=session).delete()
    Presence.objects.filter(user=person, session=session).delete()
    Schedule.objects.filter(conversation=session).update(conversation=None)
    SessionRoute.objects.filter(session=session).update(session=None)
    ContextRound.objects.filter(session=session).update(owner=to)
    SubTask.objects.filter(parent=session).delete()
    agent = session.agent if session.agent.owner_id in (None, to.pk) else default_agent()
    key = owned_by(session.key, to.pk, agent.slug)
    session.people.filter(user=to).delete()
    leave_rounds(session)
    changes = {"owner": to, "key": key, "agent": agent, "folder": None, "route": None, "pinned_at": None}
    ChatSession.objects.filter(pk=session.pk).update(**changes)
    session.refresh_from_db()
    # The system text was made for the former owner.
    renew_head(session)
    # A trigger notes the words of messages for the search of their owner.
    session.messages.update(text=F("text"))
    session_handed_over.send(ChatSession, user=to, session=session)
    pubsub.notify(f"user:{to.pk}", {"kind": "sessions"})


def hand_over_message(message: Message, person: User, *, through: int) -> None:
    """Take from `message` what was made for `person` alone, its former owner: their name, and up to the message
    `through`, after which the conversation was shared, what came from their memory."""
    meta = {name: value for name, value in message.meta.items() if name not in META_OF_OWNER}
    is_theirs = message.author_id in (None, person.pk) and message.is_by_person
    changes: dict[str, Any] = {}
    if message.author_id == person.pk:
        changes["author"] = None
    if message.seq <= through:
        changes["content"] = [without_memory(block) for block in message.content if block["type"] not in THOUGHTS]
        cards = {id: blank_card(card) for id, card in meta.get("cards", {}).items()}
        meta = {name: value for name, value in meta.items() if name not in PERSONAL_META}
        meta |= {"cards": cards} if cards else {}
        # It is rendered anew from what is left.
        changes["html"], changes["html_version"] = "", 0
    changes["meta"] = without_name(meta) if is_theirs else meta
    Message.objects.filter(pk=message.pk).update(**changes)


def without_memory(block: Block) -> Block:
    """Return the block of a message without what a tool was asked or has answered, and without citations. Pure."""
    if block["type"] == "tool_result":
        return {**block, "content": REMOVED}
    return {**block, "input": {}} if block["type"] == "tool_use" else uncited(block)


def blank_card(card: Card) -> Card:
    """Return the card of a tool call without anything that the tool was asked or has answered. Pure."""
    return {"state": card["state"], "summary": "", "lines": [], "seconds": card.get("seconds", 0)}


def move_file(file: Attachment, session: ChatSession, to: User) -> None:
    """Copy the file to the folder of `to`, and give them its row; the old copy goes with its folder."""
    for name in (str(file.pk), store.small_name(file.pk)):
        data = disk.read(file.owner_id, name)
        if data is not None:
            disk.write(to.pk, name, data)
    message = Message.objects.filter(session=session, file_names__attachment=file.pk).order_by("seq").first()
    Attachment.objects.filter(pk=file.pk).update(owner=to, session=session, message=message)


def spaces(person: User) -> QuerySet[Space]:
    """Return the shared spaces in which `person` has conversations, deleted ones included."""
    return Space.objects.filter(pk__in=ChatSession.objects.filter(owner=person, space__isnull=False).values("space"))


def remove(person: User, alive: Alive) -> None:
    """Delete the conversations of `person` one by one, then files, schedules and agents. Raise HeldError when a legal
    hold keeps one."""
    Schedule.objects.filter(owner=person).delete()
    SessionRoute.objects.filter(owner=person).delete()
    mine = ChatSession.objects.filter(owner=person)
    Turn.objects.filter(session__in=mine, status=Turn.Status.RUNNING).update(stop_requested=True)
    for session_id in list(mine.values_list("pk", flat=True)):
        if not retention.purge(mine, session_id) and mine.filter(pk=session_id).exists():
            # A hold that was set in this moment: its files must stay, too.
            raise HeldError
        alive()
    Attachment.objects.filter(owner=person).delete()
    disk.remove_folder(person.pk)
    for job_id in ImportJob.objects.filter(owner=person).values_list("pk", flat=True):
        jobs.path_of(job_id).unlink(missing_ok=True)
        jobs.parts_of(job_id).unlink(missing_ok=True)
    Agent.objects.filter(owner=person).delete()


PART = PersonPart(counts, hashes, hand_over, remove, spaces)
