"""Which paths a document may have. The only answer to that question."""

import unicodedata

LONGEST = 255


class BadPath(ValueError):
    """A path that no document may have; the message is one sentence that says why."""


def checked_path(path: str) -> str:
    """`path` in Unicode form NFC, or BadPath: a relative path of a Markdown file inside the space's folder."""
    path = unicodedata.normalize("NFC", path)
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in path)[:80]
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in path):
        raise BadPath(f"“{shown}” cannot be a file of a memory: it contains control characters.")
    if len(path.encode()) > LONGEST:
        raise BadPath(f"“{shown}…” cannot be a file of a memory: its path is longer than {LONGEST} bytes.")
    if path.startswith("/") or "\\" in path or path[1:2] == ":":
        raise BadPath(f"“{shown}” cannot be a file of a memory: write its path relative to the folder, with /.")
    for name in path.split("/"):
        if name in ("", ".", ".."):
            raise BadPath(f"“{shown}” cannot be a file of a memory: no part of its path may be empty, . or ..")
        if name.startswith(".") or name != name.strip():
            raise BadPath(f"“{shown}” cannot be a file of a memory: no name may be hidden or begin or end with space.")
    if ".md/" in path:
        raise BadPath(f"“{shown}” cannot be a file of a memory: a folder may not be named like a file.")
    if not path.endswith(".md"):
        raise BadPath(f"“{shown}” cannot be a file of a memory: its name must end with .md.")
    return path
