"""What the chat keeps of a person who leaves: shared conversations pass to others, and everything else goes."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import Q

from chat.attachments import disk, store
from chat.context.heads import withhold_thinking
from chat.conversations import retention
from chat.conversations.keys import owned_by
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
from chat.signals import session_handed_over
from chat.transfer.importing import jobs
from oneclaw import pubsub
from oneclaw.leaving.parts import Alive, PersonPart
from oneclaw.leaving.references import Way, declare
from oneclaw.models import Space, User

declare(
    {
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
        "chat.SubTask.owner": Way.HANDED_OVER,
        "chat.RelayedMessage.owner": Way.DELETED,
    }
)
# Of a message whose writer has left (Message.meta["by"]): its words are not those of the conversation's owner.
LEFT = "left"
# What of a message was made for the former owner, or for their requests alone.
META_OF_OWNER = ("context", "hook_text", "sent")


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
    return {"conversations": digest(map(str, removed.order_by("pk").values_list("pk", flat=True))), "files": digest(files)}


def digest(values: Iterable[str]) -> str:
    """Return SHA-256 of `values`, one a line. Pure."""
    return hashlib.sha256("".join(f"{value}\n" for value in values).encode()).hexdigest()


def hand_over(person: User, receiver: User | None) -> None:
    """Give the shared conversations of `person` to `receiver` where they are a member, and else to the space's owner;
    what `person` wrote in those of others loses its author."""
    shared = ChatSession.objects.filter(owner=person, deleted_at=None).exclude(shared_at=None)
    for session in shared.select_related("space").order_by("pk"):
        space = session.space
        is_member = receiver is not None and space is not None and space in Space.objects.visible_to(receiver)
        to = receiver if is_member else space.owner if space else None
        if to is not None and to.pk != person.pk:
            hand_over_session(session.pk, to)
    written = Message.objects.filter(author=person)
    for message in written.only("meta").iterator(chunk_size=200):
        Message.objects.filter(pk=message.pk).update(author=None, meta=message.meta | {"by": LEFT})


@transaction.atomic
def hand_over_session(session_id: uuid.UUID, to: User) -> None:
    """Make `to` the owner of the conversation, of its sub-sessions and files; their memory learns nothing from it."""
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=session_id)
    person = session.owner
    for below in ChatSession.objects.filter(sub_task__parent=session).values_list("pk", flat=True):
        hand_over_session(below, to)
    session.turns.filter(status=Turn.Status.RUNNING).update(stop_requested=True)
    for message in session.messages.order_by("seq").iterator(chunk_size=200):
        meta = {name: value for name, value in message.meta.items() if name not in META_OF_OWNER}
        if message.author_id == to.pk:
            # The owner's own messages name nobody.
            Message.objects.filter(pk=message.pk).update(author=None, meta=meta)
        elif message.author_id is None and message.is_by_person:
            Message.objects.filter(pk=message.pk).update(meta=meta | {"by": LEFT})
        elif meta != message.meta:
            Message.objects.filter(pk=message.pk).update(meta=meta)
    for file in Attachment.objects.filter(Q(session=session) | Q(names__message__session=session)).distinct():
        move_file(file, session, to)
    SharedLink.objects.filter(session=session).delete()
    RelayedMessage.objects.filter(target=session).delete()
    Presence.objects.filter(user=person, session=session).delete()
    Schedule.objects.filter(conversation=session).update(conversation=None)
    SessionRoute.objects.filter(session=session).update(session=None)
    ContextRound.objects.filter(session=session).update(owner=to)
    SubTask.objects.filter(Q(session=session) | Q(parent=session)).update(owner=to)
    agent = session.agent if session.agent.owner_id in (None, to.pk) else default_agent()
    key = owned_by(session.key, to.pk, agent.slug)
    # The system text was made for the former owner, so the next request makes a new one.
    changes = {"owner": to, "key": key, "agent": agent, "folder": None, "route": None, "pinned_at": None, "head": None}
    ChatSession.objects.filter(pk=session.pk).update(**changes)
    session.heads.all().delete()
    session.refresh_from_db()
    withhold_thinking(session, session.last_seq)
    session_handed_over.send(ChatSession, user=to, session=session)
    pubsub.notify(f"user:{to.pk}", {"kind": "sessions"})


def move_file(file: Attachment, session: ChatSession, to: User) -> None:
    """Copy the file to the folder of `to`, and give them its row; the old copy goes with its folder."""
    for name in (str(file.pk), store.small_name(file.pk)):
        data = disk.read(file.owner_id, name)
        if data is not None:
            disk.write(to.pk, name, data)
    message = Message.objects.filter(session=session, file_names__attachment=file.pk).order_by("seq").first()
    Attachment.objects.filter(pk=file.pk).update(owner=to, session=session, message=message)


def remove(person: User, alive: Alive) -> None:
    """Delete the conversations of `person` one by one, then files, schedules and agents."""
    Schedule.objects.filter(owner=person).delete()
    SessionRoute.objects.filter(owner=person).delete()
    mine = ChatSession.objects.filter(owner=person)
    Turn.objects.filter(session__in=mine, status=Turn.Status.RUNNING).update(stop_requested=True)
    for session_id in list(mine.values_list("pk", flat=True)):
        retention.purge(mine, session_id)
        alive()
    Attachment.objects.filter(owner=person).delete()
    disk.remove_folder(person.pk)
    for job_id in ImportJob.objects.filter(owner=person).values_list("pk", flat=True):
        jobs.path_of(job_id).unlink(missing_ok=True)
        jobs.parts_of(job_id).unlink(missing_ok=True)
    Agent.objects.filter(owner=person).delete()


PART = PersonPart("chat", counts, hashes, hand_over, remove)
