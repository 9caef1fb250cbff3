"""Recognise the copies that programs which synchronise folders make when a file was changed in two places.

They are no documents of their own: their owner is asked what of them belongs into the document.
"""

import re
from collections.abc import Collection

# By the name of the file without .md; the first group is that of the file that it is a copy of.
PATTERNS = (
    # Syncthing.
    re.compile(r"(.{1,200})\.sync-conflict-[0-9]{8}-[0-9]{6}-[A-Z0-9]{7}"),
    # Dropbox, Nextcloud, Google Drive and others, in English.
    re.compile(r"(.{1,200}?) \((?:[^()]{0,60} )?conflicted copy(?: [^()]{0,60})?\)", re.IGNORECASE),
    re.compile(r"(.{1,200}?) \(case conflict[^()]{0,20}\)", re.IGNORECASE),
    # iCloud and Finder; also a browser's second download.
    re.compile(r"(.{1,200}?)(?: [2-9]| ?\([2-9]\))"),
)


def copied_path(path: str, others: Collection[str]) -> str:
    """Return the path of which the file at `path` is a conflict copy, one of `others`; "" when it is none. Pure."""
    folder, slash, name = path.rpartition("/")
    stem = name.removesuffix(".md")
    if stem == name or path in others:
        return ""
    for pattern in PATTERNS:
        if (found := pattern.fullmatch(stem)) and (original := f"{folder}{slash}{found[1]}.md") in others:
            return original
    # On systems that do not tell letters by their case, such a file cannot be another one.
    return next((other for other in others if other.casefold() == path.casefold()), "")
