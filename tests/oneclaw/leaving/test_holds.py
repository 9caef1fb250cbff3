"""A legal hold keeps everything of a person or a space, by whichever way somebody tries to remove it.

The ways are those of the code: a new address or operation that removes something must be here, or say why it need not.
"""

import contextlib
import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from chat import tasks
from chat.attachments import store
from chat.conversations import agents, lifecycle
from chat.conversations.shared import share
from chat.library import saved_prompts
from chat.models import Attachment, ChatSession, Message, Schedule
from memory import tasks as memory_tasks
from memory.documents import write
from memory.documents.write import Append, Author, Replace, Source
from memory.library import files as library
from memory.models import Decision, MemoryDocument, MemoryRevision
from oneclaw.audit import holds
from oneclaw.leaving import offboard
from oneclaw.models import Offboarding, RetentionRule, Space, SpaceMember, User
from oneclaw.spaces import deletion, members
from oneclaw.spaces import lifecycle as space_lifecycle
from tests.access.addresses import operations, pages
from tests.oneclaw.leaving.test_offboarding import dump, said
from tests.oneclaw.leaving.test_pages import signed_in

pytestmark = pytest.mark.django_db(transaction=True)
# In everything that is held: in a row, or in the name of one.
WORD = "zyzzyva"
LINE = f"- {WORD} likes tea."
# Tables that are made from others.
DERIVED = {"chat_messagewords", "memory_memorychunk", "memory_transcriptchunk", "memory_documentoverview"}
REMOVING = re.compile(r"delete|remove|forget|take_out|drop|discard|offboard|purge|erase")
# Addresses that remove, and the ways below that try them, or the function that they share with others.
TRIED = {
    "delete_account": "the account's page",
    "offboard": "an admin's removal",
    "delete_prompt": "the page of a prompt",
    "delete_agent": "the page of an agent",
    "delete_task": "the page of a task",
    "delete_space": "the page of a space",
    "library_remove": "the page of a library",
    "memory_entry_forget": "the page of forgetting",
    "memory_forget": "the page of forgetting",
    "memory_take_out": "the card of a secret",
    "remove_attachment": "the button of an unsent file",
    "delete_session": "the deletion of a conversation",
    "remove_library_file": "the API of a library",
}
# Those that remove nothing that anybody wrote, or keep it elsewhere.
KEEPING = {
    "offboarding": "shows a receipt",
    "offboarding_receipt": "is a receipt",
    "remove_rule": "lets more be kept",
    "delete_folder": "its conversations stay",
    "memory_delete_line": "the history keeps the line",
    "memory_delete_skill": "the history keeps the skill",
    "memory_lab_drop": "asks a question no more, whose line stays",
    "remove_member": "the person and the space stay",
    "remove_group": "the people and the space stay",
    "remove_model_server": "nobody wrote it",
}


def test_every_address_that_removes_is_tried_or_says_why_not():
    found = {each.name for each in [*pages(), *operations()] if each.method != "get" and REMOVING.search(each.name)}
    assert found == TRIED.keys() | KEEPING.keys()


class Stage:
    """Ada with something of everything, and Ed with whom she shares a space."""

    def __init__(self, ada: User) -> None:
        self.ada = ada
        self.ed = User.objects.create_user("ed@example.org", "correct horse battery")
        self.own = Space.objects.own_of(ada)
        self.team = space_lifecycle.create(ada, space_lifecycle.checked_draft("Engine room", kind="team"))
        members.add_by_email(self.team, self.ed.email, SpaceMember.Role.OWNER)

    @property
    def client(self) -> Client:
        return signed_in(self.ada)

    def line(self, space: Space, path: str = "MEMORY.md") -> MemoryDocument:
        author = Author(Source.PAGE, self.ada)
        write.apply(space, path, Append(f"{LINE}\n"), author)
        return space.documents.get(path=path)

    def conversation(self, **changes: object) -> ChatSession:
        session = said(self.ada, f"My {WORD} is here")
        ChatSession.objects.filter(pk=session.pk).update(**changes)
        return ChatSession.objects.get(pk=session.pk)


@pytest.fixture
def stage(ada, admin_person) -> Stage:
    return Stage(ada)


def long_ago(days: int = 400) -> dt.datetime:
    return timezone.now() - dt.timedelta(days=days)


def purge() -> None:
    for kind in RetentionRule.Kind:
        RetentionRule.objects.get_or_create(kind=kind, space=None, defaults={"days": 1})
    tasks.purge()
    memory_tasks.purge()


# -- The ways: each makes what it would remove, and returns what tries to remove it. --------------------------------


def page_of_forgetting(stage: Stage) -> Callable[[], object]:
    document = stage.line(stage.own)
    form = {"document": document.pk, "line": [LINE]}

    def attempt() -> None:
        plan = stage.client.post("/memory/forget", form)
        stage.client.post("/memory/forget", form | {"digest": plan.context["plan"].digest})

    return attempt


def command_of_forgetting(stage: Stage) -> Callable[[], object]:
    stage.line(stage.own)
    return lambda: call_command("memory", "forget", "--with", WORD, "--user", stage.ada.email)


def retention_by_age(stage: Stage) -> Callable[[], object]:
    stage.conversation(active_at=long_ago())
    session = said(stage.ada, "See", [store.store_file(stage.ada, "old.txt", b"Old")])
    Attachment.objects.filter(session=session).update(created_at=long_ago(), text=WORD)
    stage.line(stage.own, "memory/2026-01-01.md")
    MemoryDocument.objects.update(updated_at=long_ago())
    return purge


def deletion_of_a_conversation(stage: Stage) -> Callable[[], object]:
    session = stage.conversation()

    def attempt() -> None:
        lifecycle.delete(session, by=stage.ada)
        ChatSession.objects.filter(pk=session.pk).update(deleted_at=long_ago())
        purge()

    return attempt


def end_of_a_temporary_one(stage: Stage) -> Callable[[], object]:
    session = stage.conversation(mode="temporary", active_at=long_ago())

    def attempt() -> None:
        lifecycle.delete(session, by=stage.ada)
        tasks.sweep()

    return attempt


def conversation_of_another_person(stage: Stage) -> Callable[[], object]:
    """What Ada wrote in a conversation of Ed's, which he deletes."""
    session = said(stage.ed, "Where shall we meet?")
    share.share(stage.ed, session, stage.team)
    said(stage.ada, f"Where the {WORD} is", session_id=session.pk)

    def attempt() -> None:
        lifecycle.delete(ChatSession.objects.get(pk=session.pk), by=stage.ed)
        ChatSession.objects.filter(pk=session.pk).update(deleted_at=long_ago())
        purge()

    return attempt


def forgetting_by_another_owner(stage: Stage) -> Callable[[], object]:
    """What memory put into a conversation of Ada's in the space, of which Ed is an owner as well."""
    session = stage.conversation(space=stage.team)
    answer = session.messages.get(role=Message.Role.ASSISTANT)
    call = {"type": "tool_use", "id": "toolu_1", "name": "save_memory", "input": {"content": LINE}}
    Message.objects.filter(pk=answer.pk).update(content=[call])
    Message.objects.filter(session=session).update(text="", html="")
    Message.objects.filter(session=session, role="user").update(content=[{"type": "text", "text": "Save it"}])
    ChatSession.objects.filter(pk=session.pk).update(title="Tea")
    form = {"space": stage.team.pk, "line": [LINE]}

    def attempt() -> None:
        client = signed_in(stage.ed)
        plan = client.post("/memory/forget", form)
        client.post("/memory/forget", form | {"digest": plan.context["plan"].digest})

    return attempt


def card_of_a_secret(stage: Stage) -> Callable[[], object]:
    session = said(stage.ada, f"The wifi password is {WORD}9!")
    revision = write.apply(stage.own, "MEMORY.md", Append("- Tea.\n"), Author(Source.TOOL, stage.ada)).document
    row = revision.revisions.get()
    MemoryRevision.objects.filter(pk=row.pk).update(message=session.messages.last())
    decision = Decision.objects.create(revision=row, kind=Decision.Kind.SECRET)
    return lambda: stage.client.post(f"/memory/decisions/{decision.pk}/take-out")


def page_of_a_library(stage: Stage) -> Callable[[], object]:
    file = library.add(stage.own, stage.ada, f"{WORD}.txt", b"Tea").file
    return lambda: stage.client.post(f"/memory/documents/{file.pk}/remove")


def page_of_a_space(stage: Stage) -> Callable[[], object]:
    stage.line(stage.team)

    def attempt() -> None:
        digest = deletion.plan(stage.team).digest
        stage.client.post(f"/spaces/{stage.team.pk}/delete", {"digest": digest})

    return attempt


def page_of_a_space_of_two(stage: Stage) -> Callable[[], object]:
    """A space whose other owner, Ed, deletes it with what Ada wrote in its memory."""
    stage.line(stage.team)

    def attempt() -> None:
        digest = deletion.plan(stage.team).digest
        signed_in(stage.ed).post(f"/spaces/{stage.team.pk}/delete", {"digest": digest})

    return attempt


def command_about_a_space(stage: Stage) -> Callable[[], object]:
    library.add(stage.team, stage.ada, f"{WORD}.txt", b"Tea")
    return lambda: call_command("space", "delete", str(stage.team.pk))


def removal_of_an_account_with_its_space(stage: Stage) -> Callable[[], object]:
    """Ed, its only owner, leaves and lets the space go, in which Ada wrote."""
    stage.line(stage.team)
    stage.team.members.filter(user=stage.ada).update(role=SpaceMember.Role.EDITOR)
    Space.objects.filter(pk=stage.team.pk).update(owner=stage.ed)

    def attempt() -> None:
        signed_in(stage.ed).post("/settings/delete/", {f"space-{stage.team.pk}": "delete"})
        for job in Offboarding.objects.values_list("pk", flat=True):
            offboard.run(job)

    return attempt


def page_of_a_prompt(stage: Stage) -> Callable[[], object]:
    prompt = saved_prompts.save(stage.ada, "weekly", WORD)
    return lambda: stage.client.post(f"/prompts/{prompt.pk}/delete")


def page_of_an_agent(stage: Stage) -> Callable[[], object]:
    agent = agents.create(stage.ada, agents.checked_draft("Cook", WORD, "", [], ""))

    def attempt() -> None:
        stage.client.post(f"/agents/{agent.slug}/delete")
        tasks.purge()

    return attempt


def page_of_a_task(stage: Stage) -> Callable[[], object]:
    task = Schedule.objects.create(
        owner=stage.ada, kind="task", text=WORD, repeat="daily", at="08:00", confirmed_at=timezone.now()
    )
    return lambda: stage.client.post(f"/schedules/{task.pk}/delete")


def button_of_an_unsent_file(stage: Stage) -> Callable[[], object]:
    file = store.store_file(stage.ada, f"{WORD}.txt", b"Tea")
    return lambda: stage.client.post(f"/files/{file.pk}/remove")


def page_of_the_account(stage: Stage) -> Callable[[], object]:
    stage.line(stage.own)

    def attempt() -> None:
        stage.client.post("/settings/delete/", {f"space-{stage.team.pk}": str(stage.ed.pk)})
        for job in Offboarding.objects.values_list("pk", flat=True):
            offboard.run(job)

    return attempt


def command_of_offboarding(stage: Stage) -> Callable[[], object]:
    stage.line(stage.own)
    return lambda: call_command("offboard", stage.ada.email, "--to", stage.ed.email)


def edit_of_the_file(stage: Stage) -> Callable[[], object]:
    """The line goes from the document, and stays in its history: nothing of it is removed for good, held or not."""
    document = stage.line(stage.own)
    return lambda: write.apply(
        stage.own, "MEMORY.md", Replace("- Nothing.\n", document.version), Author(Source.FILE, stage.ada)
    )


def way_out_of_a_held_space(stage: Stage) -> Callable[[], object]:
    """Out of it, the conversation would be removed after its deletion as any other."""
    session = stage.conversation(space=stage.team)

    def attempt() -> None:
        stage.client.post(f"/c/{session.pk}/space", {"space": ""})
        lifecycle.delete(session, by=stage.ada)
        ChatSession.objects.filter(pk=session.pk).update(deleted_at=long_ago())
        purge()

    return attempt


Way = Callable[[Stage], Callable[[], object]]
# Of a held person, and of a held space.
OF_PERSON: list[Way] = [
    page_of_forgetting, command_of_forgetting, retention_by_age, deletion_of_a_conversation, end_of_a_temporary_one,
    conversation_of_another_person, forgetting_by_another_owner, card_of_a_secret, page_of_a_library, page_of_a_prompt,
    page_of_a_space_of_two, command_about_a_space, removal_of_an_account_with_its_space,
    page_of_an_agent, page_of_a_task, button_of_an_unsent_file, page_of_the_account, command_of_offboarding,
]  # fmt: skip
OF_SPACE: list[Way] = [page_of_a_space, way_out_of_a_held_space]
NEVER_REMOVING: list[Way] = [edit_of_the_file]


def tried(attempt: Callable[[], object]) -> None:
    """Try to remove: a command refuses by an error, a page by an answer."""
    with contextlib.suppress(CommandError):
        attempt()


@pytest.mark.parametrize("way", [*OF_PERSON, *OF_SPACE], ids=lambda way: way.__name__)
def test_what_is_held_stays_and_goes_by_the_same_way_afterwards(stage, admin_person, way):
    attempt = way(stage)
    of = {"space": stage.team} if way in OF_SPACE else {"person": stage.ada}
    hold = holds.hold(admin_person, "Case 7", **of)
    before = held_words()
    assert before
    tried(attempt)
    assert held_words() >= before
    holds.end(admin_person, hold.pk)
    tried(attempt)
    assert not held_words()


@pytest.mark.parametrize("way", NEVER_REMOVING, ids=lambda way: way.__name__)
def test_what_is_changed_stays_in_its_history(stage, way):
    way(stage)()
    assert "memory_memoryrevision" in held_words()


def held_words() -> set[str]:
    """Return the tables that hold the word, but for those that are derived from others."""
    lines = [line for line in dump().splitlines() if WORD in line]
    return {line.partition(":")[0] for line in lines} - DERIVED
