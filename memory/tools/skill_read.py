"""Define the tool skill_read, by which the model reads a skill that its person has approved.

No tool writes a skill or approves one, and none runs a script of one.
"""

import re

from django.utils.translation import gettext_lazy as _

from chat.context import per_message
from chat.extensions import Tool, ToolCall, ToolError, ToolResult
from chat.models import ChatSession, Message
from memory.access.load import access_of
from memory.skills.approval import usable_skills
from memory.skills.catalogue import Skill
from memory.skills.limits import READ_MAX_CHARS
from memory.skills.offering import EXTENSION, FRAME_CHARS, NAMED, READING_TOOL, cut, instructions_of
from oneclaw.llm.quoting import quoted
from oneclaw.reasons import Reason


def skill_read(call: ToolCall) -> ToolResult:
    """Return the instructions of a skill, or one of its other files, whole. Raise ToolError when the model may not read
    it: it does not exist, waits for a yes, or was not named by the person although only they choose it."""
    name, file = str(call.input["name"]).removeprefix("$"), str(call.input.get("file", ""))
    skill = next((each for each in usable_skills(access_of(call.session, call.user)) if each.folder == name), None)
    if skill is None:
        message = f"There is no skill “{name}” that the person has approved."
        raise ToolError("unknown_skill", message, Reason("skill.unknown", {"name": name}))
    if skill.parsed.is_only_named and not was_named(call.session, skill):
        message = f"Only the person chooses the skill “{name}”, by writing ${name} in a message."
        raise ToolError("only_named", message, Reason("skill.only_named", {"name": name}))
    if not file or file == "SKILL.md":
        text = quoted("skill", instructions_of(skill), name=name)
        return ToolResult(text, Reason("skill.read", {"name": name}))
    content = skill.contents().get(file)
    if content is None:
        listed = ", ".join(sorted(each.path for each in skill.files)) or "none"
        raise ToolError(
            "unknown_file",
            f"The skill “{name}” has no file “{file}”. Its files: {listed}.",
            Reason("skill.no_file", {"name": name, "file": file}),
        )
    path = re.sub(r'[<>"]', "", file)
    text = quoted("skill_file", cut(content, READ_MAX_CHARS - FRAME_CHARS - len(path)), name=name, file=path)
    return ToolResult(text, Reason("skill.read_file", {"name": name, "file": file}))


def was_named(session: ChatSession, skill: Skill) -> bool:
    """Return whether the person has named `skill` in the shown branch of `session`."""
    rows = session.messages.shown().filter(role=Message.Role.USER, meta__context__has_key=EXTENSION)
    items = (item for meta in rows.values_list("meta", flat=True) for item in per_message.items_of(meta, EXTENSION))
    return any(item["kind"] == NAMED and item["path"] == skill.path for item in items)


def read_notes(session: ChatSession, through_seq: int) -> list[str]:
    """Return a sentence for each skill that was read in the shown messages of `session` up to `through_seq`: what a
    summary replaces need not be read, or done, again."""
    rows = session.messages.shown().filter(seq__lte=through_seq).order_by("seq")
    failed: set[str | None] = set()
    uses: list[tuple[str, str]] = []
    for role, content, meta in rows.values_list("role", "content", "meta"):
        if role == Message.Role.USER:
            uses += [
                ("", item["path"].split("/")[1])
                for item in per_message.items_of(meta, EXTENSION)
                if item["kind"] == NAMED
            ]
        for block in content:
            if block["type"] == "tool_use" and block["name"] == READING_TOOL and not block["input"].get("file"):
                uses.append((block["id"], str(block["input"].get("name", "")).removeprefix("$")))
            elif block["type"] == "tool_result" and block.get("is_error"):
                failed.add(block.get("tool_use_id"))
    names = dict.fromkeys(name for id, name in uses if name and id not in failed)
    return [
        f"The skill “{name[:64]}” was read (done): it need not be carried out again because of that. "
        f"To go on with it, read it again with {READING_TOOL}."
        for name in names
    ]


READ = Tool(
    READING_TOOL,
    "Read a skill: instructions for a certain task that the person has approved. Without a file, its instructions and "
    "the names of its other files; with one, that file. Scripts are only shown.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 65, "description": "The name of the skill."},
            "file": {"type": "string", "maxLength": 255, "description": "One of its files, as it is listed there."},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
    skill_read,
    only_reads=True,
    offered=lambda session: bool(usable_skills(access_of(session))),
    for_spaces=True,
    about_memory=True,
    whole=True,
    is_protected=True,
    label=_("Read skills"),
    headings={"running": _("Reading a skill …"), "done": _("Read a skill"), "failed": _("Could not read a skill")},
)
