"""Define which paths a document may have, which of them have a meaning, and how large a document may be."""

import unicodedata

from django.utils.translation import gettext_lazy as _

from oneclaw.text import UserFacingError

PATH_MAX_BYTES = 255
# UTF-8 bytes of a document and of its file.
DOCUMENT_MAX_BYTES = 1024 * 1024
# The curated memory, and the summaries of the newest conversations.
CURATED = "MEMORY.md"
RECENT = "Recent Conversations.md"
# The workspace files, in their order in a prompt.
WORKSPACE_FILES = (
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    CURATED,
)


class BadPathError(UserFacingError, ValueError):
    """A path that no document may have; the sentence says why."""


def checked_path(path: str) -> str:
    """Return `path` in Unicode form NFC. Raise BadPathError unless it is the relative path of a Markdown file."""
    path = unicodedata.normalize("NFC", path)
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in path)[:80]
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in path):
        raise BadPathError(_("“%(path)s” cannot be a file of a memory: it contains control characters."), path=shown)
    if len(path.encode()) > PATH_MAX_BYTES:
        raise BadPathError(
            _("“%(path)s” cannot be a file of a memory: its path is longer than %(most)s bytes."),
            path=f"{shown}…",
            most=PATH_MAX_BYTES,
        )
    if path.startswith("/") or "\\" in path or path[1:2] == ":":
        raise BadPathError(
            _("“%(path)s” cannot be a file of a memory: write its path relative to the folder, with /."), path=shown
        )
    for name in path.split("/"):
        if name in ("", ".", ".."):
            raise BadPathError(
                _("“%(path)s” cannot be a file of a memory: no part of its path may be empty, . or .."), path=shown
            )
        if name.startswith(".") or name != name.strip():
            raise BadPathError(
                _("“%(path)s” cannot be a file of a memory: no name may be hidden or begin or end with space."),
                path=shown,
            )
    if ".md/" in path:
        raise BadPathError(
            _("“%(path)s” cannot be a file of a memory: a folder may not be named like a file."), path=shown
        )
    if not path.endswith(".md"):
        raise BadPathError(_("“%(path)s” cannot be a file of a memory: its name must end with .md."), path=shown)
    return path
