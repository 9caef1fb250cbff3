"""Define which paths a document may have, which of them have a meaning, and how large a document may be."""

import re
import unicodedata

from django.utils.translation import gettext_lazy as _

from oneclaw.text import StrOrPromise, UserFacingError

PATH_MAX_BYTES = 255
# UTF-8 bytes of a document and of its file.
DOCUMENT_MAX_BYTES = 1024 * 1024
# The curated memory, and the summaries of the newest conversations.
CURATED = "MEMORY.md"
# Its name in the folders of other programs, used while there is no CURATED.
CURATED_ALTERNATIVE = "memory.md"
RECENT_NAME = "Recent Conversations.md"
# What the person has written about themselves, and about how to answer (memory/views/settings/instructions.py).
INSTRUCTIONS = "USER.md"
# How the assistant works, and what it looks through by itself from time to time (docs/sessions.md).
AGENTS = "AGENTS.md"
HEARTBEAT = "HEARTBEAT.md"
# The workspace files, in their order in a prompt.
WORKSPACE_FILES = (
    AGENTS,
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    INSTRUCTIONS,
    HEARTBEAT,
    "BOOTSTRAP.md",
    CURATED,
)
# The folder with a folder for each skill, and the main file of a skill (memory/skills/).
SKILLS, SKILL_FILE = "skills", "SKILL.md"
# Besides Markdown, a skill may have these files of text, such as scripts. No folder of a skill has a dot in its name:
# a folder and a file never have the same path.
SKILL_SUFFIXES = (
    ".bat", ".c", ".cfg", ".cpp", ".cs", ".css", ".csv", ".dtd", ".go", ".h", ".html", ".ini", ".java", ".js", ".json",
    ".jsonl", ".jsx", ".kt", ".lua", ".md", ".mjs", ".php", ".pl", ".ps1", ".py", ".r", ".rb", ".rs", ".sh", ".sql",
    ".svg", ".swift", ".tex", ".toml", ".ts", ".tsv", ".tsx", ".txt", ".xml", ".xsd", ".xsl", ".yaml", ".yml",
)  # fmt: skip
IN_SKILL = re.compile(rf"{SKILLS}/[^/]+(?:/[^/]+)+")

# Those of a sub-session, which works on a task and does not talk with the person.
SUB_SESSION_FILES = ("AGENTS.md", "TOOLS.md")


class BadPathError(UserFacingError, ValueError):
    """A path that no document may have; the sentence says why."""


def is_in_skill(path: str) -> bool:
    """Return whether `path` is that of a file of a skill: skills/NAME/FILE, also in a folder of it. Pure."""
    return IN_SKILL.fullmatch(path) is not None


def may_be_document(path: str) -> bool:
    """Return whether the name of a file is that of a document: of Markdown, or of another text of a skill. Pure."""
    return path.endswith(SKILL_SUFFIXES) if is_in_skill(path) else path.endswith(".md")


def checked_path(path: str) -> str:
    """Return `path` in Unicode form NFC. Raise BadPathError unless a document may have it: the relative path of a
    Markdown file, or of another text file of a skill."""
    path = unicodedata.normalize("NFC", path)
    if fault := _fault_of(path):
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in path)[:80]
        is_cut = len(path.encode(errors="replace")) > PATH_MAX_BYTES
        raise BadPathError(fault, path=f"{shown}…" if is_cut else shown, most=PATH_MAX_BYTES)
    return path


def _fault_of(path: str) -> StrOrPromise | None:
    """Return why no document may have `path`; None when one may."""
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in path):
        return _("“%(path)s” cannot be a file of a memory: it contains control characters.")
    if len(path.encode()) > PATH_MAX_BYTES:
        return _("“%(path)s” cannot be a file of a memory: its path is longer than %(most)s bytes.")
    if path.startswith("/") or "\\" in path or path[1:2] == ":":
        return _("“%(path)s” cannot be a file of a memory: write its path relative to the folder, with /.")
    for name in path.split("/"):
        if name in ("", ".", ".."):
            return _("“%(path)s” cannot be a file of a memory: no part of its path may be empty, . or ..")
        if name.startswith(".") or name != name.strip():
            return _("“%(path)s” cannot be a file of a memory: no name may be hidden or begin or end with space.")
    if ".md/" in path or (is_in_skill(path) and "." in path.rpartition("/")[0]):
        return _("“%(path)s” cannot be a file of a memory: a folder may not be named like a file.")
    if may_be_document(path):
        return None
    if is_in_skill(path):
        return _("“%(path)s” cannot be a file of a skill: only text files are possible, such as .md, .txt or .py.")
    return _("“%(path)s” cannot be a file of a memory: its name must end with .md.")
