"""Parse the file SKILL.md of a skill, after the specification of agentskills.io, and say what is wrong with it. Pure.

---
name: release-notes
description: Writes release notes from merged changes. Use it when a release is prepared.
---
The instructions, in Markdown.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from oneclaw.llm.estimate import text_tokens
from oneclaw.reasons import Reason

# The limits of the specification.
NAME_MAX_CHARS, DESCRIPTION_MAX_CHARS, COMPATIBILITY_MAX_CHARS = 64, 1024, 500
# A body should have less than so many tokens, and at most so many lines.
BODY_TOKENS, BODY_MAX_LINES = 5_000, 500
# The part of the file before the instructions, and how deep it may be nested.
FRONTMATTER_MAX_CHARS, FRONTMATTER_MAX_DEPTH = 16_000, 8
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Without the joiners of emoji and of Persian and Indian scripts, which these need.
INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
FENCE = re.compile(r"---[ \t]*")
# The fields of the specification, and disable-model-invocation, which other programs brought.
UNDERSTOOD = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation"}
)


@dataclass(frozen=True)
class ParsedSkill:
    """The content of a SKILL.md. With `faults` the skill cannot be used; `warnings` do not prevent that."""

    name: str = ""
    description: str = ""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    # Tools that the skill would like to use without a question. A wish: it grants nothing.
    allowed_tools: tuple[str, ...] = ()
    # Whether only the person may choose it, by $name.
    is_only_named: bool = False
    body: str = ""
    faults: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()


class FrontmatterError(Exception):
    """The part before the instructions cannot be read, for a `reason`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code)
        self.reason = reason


@lru_cache(maxsize=512)
def parse(text: str, folder: str) -> ParsedSkill:
    """Return the content of `text`, the SKILL.md of the skill whose folder has the name `folder`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        head, body = split(text)
        fields = read_fields(head)
    except FrontmatterError as error:
        return ParsedSkill(faults=(error.reason,))
    faults = [*_faults_of_name(fields.get("name"), folder), *_faults_of_texts(fields), *_faults_of_others(fields)]
    if not body.strip():
        faults.append(Reason("skill.no_body"))
    return ParsedSkill(
        name=_text(fields, "name").strip(),
        description=" ".join(_text(fields, "description").split()),
        license=_text(fields, "license").strip(),
        compatibility=_text(fields, "compatibility").strip(),
        metadata=_texts(fields.get("metadata")),
        allowed_tools=_tools(fields.get("allowed-tools")),
        is_only_named=_text(fields, "disable-model-invocation").strip().lower() in ("true", "yes", "on", "1"),
        body=body.strip("\n"),
        faults=tuple(faults),
        warnings=tuple(_warnings(fields, body)),
    )


def split(text: str) -> tuple[str, str]:
    """Return the frontmatter and the instructions of `text`, whose lines end with \\n. Raise FrontmatterError."""
    lines = text.split("\n")
    if not FENCE.fullmatch(lines[0]):
        raise FrontmatterError(Reason("skill.no_frontmatter"))
    end = next((at for at, line in enumerate(lines[1:], 1) if FENCE.fullmatch(line)), 0)
    if not end:
        raise FrontmatterError(Reason("skill.frontmatter_not_closed"))
    head = "\n".join(lines[1:end])
    if len(head) > FRONTMATTER_MAX_CHARS:
        raise FrontmatterError(Reason("skill.frontmatter_too_long", {"most": FRONTMATTER_MAX_CHARS}))
    return head, "\n".join(lines[end + 1 :])


class _PlainLoader(yaml.BaseLoader):
    """A loader of lists, mappings and texts alone: it makes no other values, follows no aliases, and has a depth."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise FrontmatterError(Reason("skill.has_alias"))
        self.depth += 1
        if self.depth > FRONTMATTER_MAX_DEPTH:
            raise FrontmatterError(Reason("skill.too_deep", {"most": FRONTMATTER_MAX_DEPTH}))
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(keys) < len(node.value):
            raise FrontmatterError(Reason("skill.not_fields"))
        if len(set(keys)) < len(keys):
            name = next(key for key, count in Counter(keys).items() if count > 1)
            raise FrontmatterError(Reason("skill.field_twice", {"name": name[:80]}))
        return super().construct_mapping(node, deep)


def read_fields(head: str) -> dict[str, Any]:
    """Return the fields of the frontmatter `head`; each value is a text, a list or a mapping. Raise FrontmatterError.

    As in the specification's own reader, numbers and dates are the texts that were written.
    """
    try:
        found = yaml.load(head, _PlainLoader)  # noqa: S506 - it makes texts, lists and mappings alone
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark.line if error.problem_mark else 0) + 2
        raise FrontmatterError(Reason("skill.bad_yaml", {"line": line})) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FrontmatterError(Reason("skill.unreadable_yaml")) from error
    if not isinstance(found, dict):
        raise FrontmatterError(Reason("skill.not_fields"))
    return found


def has_invisible(text: str) -> bool:
    """Return whether `text` has characters that cannot be seen, or that show it in another order than a model reads."""
    return INVISIBLE.search(text.removeprefix("\ufeff")) is not None


def is_name(text: str) -> bool:
    """Return whether a skill may have the name `text`."""
    return len(text) <= NAME_MAX_CHARS and NAME.fullmatch(text) is not None


def _faults_of_name(name: object, folder: str) -> Iterator[Reason]:
    if not isinstance(name, str) or not name.strip():
        yield Reason("skill.no_name")
    elif len(name.strip()) > NAME_MAX_CHARS:
        yield Reason("skill.long_name", {"size": len(name.strip()), "most": NAME_MAX_CHARS})
    elif not is_name(name.strip()):
        yield Reason("skill.bad_name", {"name": name.strip()})
    elif name.strip() != folder:
        yield Reason("skill.other_folder", {"name": name.strip(), "folder": folder})


def _faults_of_texts(fields: Mapping[str, Any]) -> Iterator[Reason]:
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        yield Reason("skill.no_description")
    elif (size := len(description.strip())) > DESCRIPTION_MAX_CHARS:
        yield Reason("skill.long_description", {"size": size, "most": DESCRIPTION_MAX_CHARS})
    compatibility = fields.get("compatibility", "")
    if isinstance(compatibility, str) and (size := len(compatibility.strip())) > COMPATIBILITY_MAX_CHARS:
        yield Reason("skill.long_compatibility", {"size": size, "most": COMPATIBILITY_MAX_CHARS})


def _faults_of_others(fields: Mapping[str, Any]) -> Iterator[Reason]:
    for name in ("license", "compatibility", "disable-model-invocation"):
        if not isinstance(fields.get(name, ""), str):
            yield Reason("skill.not_text", {"name": name})
    metadata = fields.get("metadata", {})
    if metadata != "" and not (isinstance(metadata, dict) and all(isinstance(each, str) for each in metadata.values())):
        yield Reason("skill.bad_metadata")
    tools = fields.get("allowed-tools", "")
    if not isinstance(tools, str) and not (isinstance(tools, list) and all(isinstance(each, str) for each in tools)):
        yield Reason("skill.bad_tools")


def _warnings(fields: Mapping[str, Any], body: str) -> Iterator[Reason]:
    lines = body.strip("\n").count("\n") + 1
    tokens = text_tokens(body, 4)
    if lines > BODY_MAX_LINES:
        yield Reason("skill.many_lines", {"size": lines, "most": BODY_MAX_LINES})
    if tokens >= BODY_TOKENS:
        yield Reason("skill.many_tokens", {"size": tokens, "most": BODY_TOKENS})
    if unknown := sorted(str(name)[:80] for name in fields.keys() - UNDERSTOOD):
        yield Reason("skill.unknown_fields", {"names": ", ".join(unknown[:10])})


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    return {str(name): each for name, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else {}


def _tools(value: object) -> tuple[str, ...]:
    """Return the names of tools, which stand in a list, or in a text between spaces or commas."""
    if isinstance(value, list):
        return tuple(each for each in value if isinstance(each, str))
    # A pattern in brackets may have spaces: Bash(git add *).
    return tuple(re.findall(r"[^\s,(]+(?:\([^)]{0,200}\))?", value)) if isinstance(value, str) else ()
