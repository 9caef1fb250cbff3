"""A conversation as something to read: what was said, word for word, under a line that says by whom and when.

It is its owner's alone. Its path is the conversation's address, `/c/<id>`, which no document can have.
"""

import datetime as dt
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from chat.models import ChatSession, Message
from memory.policy import switches, tombstones
from memory.policy.access import sources_of
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from oneclaw.models import Space

PATH = re.compile(r"/c/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
NAMES = {Message.Role.USER.value: "Person", Message.Role.ASSISTANT.value: "Assistant"}


@dataclass(frozen=True)
class Said:
    """One message: its text without secrets, and the line of the transcript, from 1, on which that begins."""

    seq: int
    role: str
    at: dt.datetime
    text: str
    line: int


def said_in(session: ChatSession, through_seq: int) -> Iterator[Said]:
    """What was said up to this message while transcripts were on, without what tools were asked and answered,
    without what the person has had forgotten, and of a fork without what is in the conversation that it copied."""
    shown = session.messages.filter(active=True, seq__gt=session.copied_seq, seq__lte=through_seq)
    words = shown.filter(role__in=NAMES).exclude(text="")
    words = switches.said_while_on(words, session.owner, Switch.TRANSCRIPTS)
    known = tombstones.of_space(Space.objects.own_of(session.owner).pk)
    line = 1
    for seq, role, at, text in words.order_by("seq").values_list("seq", "role", "created_at", "text"):
        text, _ = masked(known.unsaid(text.strip("\n")))
        yield Said(seq, role, at, text, line + 1)
        # The label before it and a blank line after it.
        line += text.count("\n") + 3


def read(session: ChatSession, path: str) -> str | None:
    """The transcript that `session` means by `path`: another conversation of its owner's that is kept; else None."""
    found = PATH.fullmatch(path)
    if found is None or sources_of(session).transcripts_of is None:
        return None
    others = ChatSession.objects.visible_to(session.owner).exclude(pk=session.pk)
    meant = others.filter(pk=uuid.UUID(found[1])).first()
    if meant is None or not is_kept(meant):
        return None
    parts = said_in(meant, meant.last_complete_seq())
    return "\n\n".join(f"{label(one.role, session.owner.local(one.at))}\n{one.text}" for one in parts) or None


def is_kept(session: ChatSession) -> bool:
    """Whether what is said in the session may be found later, when the switch is on."""
    kept = session.mode == ChatSession.Mode.AGENT and session.deleted_at is None
    # What an agent with a memory of its own was told, no other one reads.
    return kept and not session.agent.own_memory


def label(role: str, at: dt.datetime) -> str:
    """The line over a message; `at` is on the person's own clock."""
    return f"{NAMES[role]} ({at:%Y-%m-%d %H:%M}):"
