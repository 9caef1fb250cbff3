"""Say which skills the model is sent: in the system text of a conversation, and with a message.

The system text has up to `SEARCH.max_skills` skills with their descriptions. Of more, those that fit a message are sent
with it, each once in a conversation. A skill that the person names in a message, as $name, is sent whole with it.
"""

import re
from collections.abc import Sequence

from django.conf import settings
from django.template.loader import get_template

from chat.context import per_message
from chat.conversations.payers import payer_of
from chat.extensions import ContextItem, Mention
from chat.models import ChatSession, Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.skills.approval import usable_skills
from memory.skills.catalogue import Skill
from memory.skills.choosing import chosen
from memory.skills.limits import READ_MAX_CHARS
from oneclaw.llm.quoting import quoted
from oneclaw.models import Spend

# The name of the extension under which the chat stores the pieces.
EXTENSION = "memory"
READING_TOOL = "skill_read"
# Kinds of pieces: name and description of a skill, and the instructions of one that the person has named.
SKILL, NAMED = "skill", "named_skill"
# Skills that one message may name.
NAMED_MAX_COUNT = 5
# Room for the tags around a text, and for the note in a text that is cut.
FRAME_CHARS, NOTE_MAX_CHARS = 200, 80
MENTION = re.compile(r"(?<![\w$])\$([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-])")


def skill_items(session: ChatSession) -> list[ContextItem]:
    """Return the skills that the system text of `session` lists; none when there are too many for that."""
    skills = offered_skills(access_of(session))
    return [] if len(skills) > settings.SEARCH.max_skills else [_entry(skill) for skill in skills]


def skills_section(session: ChatSession, listed: Sequence[ContextItem]) -> str:
    """Return the prompt section about skills; "" when the model may use none."""
    if not listed and not offered_skills(access_of(session)):
        return ""
    return get_template("skills.txt", using="prompts").render({"skills": _quoted_entries(listed)}).strip()


def message_skills(access: MemoryAccess, message: Message) -> list[ContextItem]:
    """Return the skills that are sent with `message`: those that it names, whole, and those that fit it, when there are
    too many for the system text. None is listed twice in a conversation."""
    # Only the person names a skill: a text of another conversation, or of a schedule, must not have it followed.
    named = named_skills(access, message.text) if message.is_by_person else []
    found = [_whole(skill) for skill in named]
    skills, session = offered_skills(access), access.session
    if len(skills) <= settings.SEARCH.max_skills or not can_read_skills(session):
        return found
    payer = payer_of(session, Spend.Purpose.EMBEDDING, is_in_turn=True)
    candidates = chosen(skills, message.text, session.owner.day(), payer)
    if not candidates:
        return found
    known = {*listed_before(session, message), *(item["path"] for item in found)}
    fresh = [skill for skill in candidates if skill.path not in known]
    return found + [_entry(skill) for skill in fresh[: settings.SEARCH.max_skills]]


def skills_text(found: Sequence[ContextItem]) -> str:
    """Return the text of the skills that were stored with a message.

    The same items must always give the same bytes (chat.extensions.MessageContext).
    """
    if not found:
        return ""
    context = {
        "named": [quoted("skill", item["text"], name=_name(item)) for item in found if item["kind"] == NAMED],
        "fitting": _quoted_entries([item for item in found if item["kind"] == SKILL]),
    }
    return get_template("message_skills.txt", using="prompts").render(context).strip()


def is_of_skill(item: ContextItem) -> bool:
    """Return whether the piece is of a skill."""
    return item["kind"] in (SKILL, NAMED)


def offered_skills(access: MemoryAccess) -> list[Skill]:
    """Return the skills that the model may choose in a conversation, by name."""
    if READING_TOOL in access.session.agent.tools_off:
        return []
    return [skill for skill in usable_skills(access) if not skill.parsed.is_only_named]


def can_read_skills(session: ChatSession) -> bool:
    """Return whether the head of `session` has the tool for it: one that was made before the first skill has not."""
    tools = session.head.tools if session.head else None
    return any(tool["name"] == READING_TOOL for tool in tools or ())


def named_skills(access: MemoryAccess, text: str) -> list[Skill]:
    """Return the skills of a conversation that `text` names as $name, in its order, each once."""
    names = list(dict.fromkeys(MENTION.findall(text)))
    usable = {skill.folder: skill for skill in usable_skills(access)} if names else {}
    return [usable[name] for name in names if name in usable][:NAMED_MAX_COUNT]


def mentions(session: ChatSession) -> list[Mention]:
    """Return the skills that a person may name in a message of `session`."""
    return [Mention(f"${skill.folder}", skill.parsed.description) for skill in usable_skills(access_of(session))]


def listed_before(session: ChatSession, message: Message) -> set[str]:
    """Return the paths of the skills that the model was sent in the system text, and with earlier messages."""
    earlier = session.messages.shown().filter(role=Message.Role.USER, seq__lt=message.seq)
    metas = earlier.filter(meta__context__has_key=EXTENSION).values_list("meta", flat=True)
    items = [item for meta in metas for item in per_message.items_of(meta, EXTENSION)]
    return {item["path"] for item in [*session.context.get(EXTENSION, []), *items] if is_of_skill(item)}


def instructions_of(skill: Skill) -> str:
    """Return the instructions of `skill` and the names of its other files, in READ_MAX_CHARS with what surrounds them.

    Tools that a skill asks for are not named: only a person grants one.
    """
    files = sorted(file.path for file in skill.files if not file.is_main)
    listed = f"\n\nIts other files, for skill_read: {', '.join(files)}" if files else ""
    return cut(skill.parsed.body, READ_MAX_CHARS - FRAME_CHARS - len(listed)) + listed


def cut(text: str, most: int) -> str:
    """Return `text`, or as much of its beginning as fits into `most` characters with a note that some is missing."""
    if len(text) <= most:
        return text
    kept = max(most - NOTE_MAX_CHARS, 0)
    return text[:kept] + f"\n\n[… {len(text) - kept:,} characters are left out here …]"


def _entry(skill: Skill) -> ContextItem:
    return ContextItem(kind=SKILL, path=skill.path, revision=_revision(skill), lines=[], text=skill.parsed.description)


def _whole(skill: Skill) -> ContextItem:
    return ContextItem(kind=NAMED, path=skill.path, revision=_revision(skill), lines=[], text=instructions_of(skill))


def _revision(skill: Skill) -> int | None:
    return (skill.main.version or None) if skill.main else None


def _quoted_entries(listed: Sequence[ContextItem]) -> list[str]:
    return [quoted("skill", item["text"], name=_name(item)) for item in listed]


def _name(item: ContextItem) -> str:
    return item["path"].split("/")[1]
