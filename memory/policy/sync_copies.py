"""Recognise the copies that programs which synchronise folders make when a file was changed in two places.

They are no documents of their own: their owner is asked what of them belongs into the document.
"""

import re
import unicodedata
from collections.abc import Collection

# What a program adds to a name, in the languages that it speaks.
WORDS = (
    "conflicted copy|case conflict|in konflikt stehende kopie|konflikt|konfliktkopie|copie en conflit|conflit"
    "|copia en conflicto|conflicto|copia in conflitto|cópia em conflito|冲突副本|衝突副本|競合コピー"
)
# By the name of the file without .md; the first group is that of the file that it is a copy of.
PATTERNS = (
    # Syncthing.
    re.compile(r"(.{1,200})\.sync-conflict-[0-9]{8}-[0-9]{6}(?:-[A-Z0-9]{7})?"),
    # Dropbox, Nextcloud, Google Drive and others: in brackets, with a person's name, a computer or a date.
    re.compile(rf"(.{{1,200}}?) ?[(（](?:[^()（）]{{0,60}} )?(?:{WORDS})(?: [^()（）]{{0,60}})?[)）]", re.IGNORECASE),
    re.compile(rf"(.{{1,200}}?)(?:_| - )(?:{WORDS})(?:[_ -][\w -]{{0,60}})?", re.IGNORECASE),
    # Resilio Sync.
    re.compile(r"(.{1,200}?)\.Conflict(?: ?[0-9]{1,3})?", re.IGNORECASE),
    # iCloud and Finder; also a browser's second download.
    re.compile(r"(.{1,200}?)(?: [2-9]| ?\([1-9]\))"),
    # OneDrive, with the name of a Windows computer.
    re.compile(r"(.{1,200}?)-(?:DESKTOP|LAPTOP|PC|WIN)-[A-Z0-9]{3,15}(?:-[0-9]{1,3})?"),
)


def copied_path(path: str, documents: Collection[str]) -> str:
    """Return the path of the document, one of `documents`, of which the file at `path` is a copy; "" when it is none.

    Also the same name in other letter case or in another Unicode form is one: not all systems tell them apart. Pure.
    """
    if path in documents:
        return ""
    folder, slash, name = unicodedata.normalize("NFC", path).rpartition("/")
    stem = name.removesuffix(".md")
    if stem == name:
        return ""
    known = {unicodedata.normalize("NFC", each).casefold(): each for each in documents}
    # A copy of a copy has the marks of both.
    named = [stem]
    for at in named:
        named += [found[1] for pattern in PATTERNS if (found := pattern.fullmatch(at)) and found[1] not in named]
    originals = (known.get(f"{folder}{slash}{each}.md".casefold()) for each in named)
    return next(filter(None, originals), "")
