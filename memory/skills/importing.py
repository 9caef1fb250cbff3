"""Import skills from a zip file or a folder into a person's own space, or into a shared one that they may write.

Everything is checked before anything is written, and written in one transaction. An imported skill waits for a yes.
"""

import io
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.files import disk
from memory.models import MemoryDocument
from memory.policy.paths import (
    DOCUMENT_MAX_BYTES,
    SKILL_FILE,
    SKILL_SUFFIXES,
    SKILLS,
    BadPathError,
    checked_path,
)
from memory.skills.limits import SKILL_MAX_BYTES, SKILL_MAX_FILES
from memory.skills.parsing import is_name, parse
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError, UserFacingError

# Limits of one import: the zip file, all files unpacked, their number, and that of the skills.
ARCHIVE_MAX_BYTES, UNPACKED_MAX_BYTES = 5 * 1024 * 1024, 10 * 1024 * 1024
IMPORT_MAX_FILES, IMPORT_MAX_SKILLS = 1_000, 20
COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# What a damaged or hostile zip file raises.
DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, OverflowError, RuntimeError)


class SkillImportError(UserFacingError):
    """Nothing was imported, for the reason of the sentence."""


@dataclass(frozen=True)
class ImportedSkills:
    """The result of an import: the names of its skills, and the files that are no text and were left out."""

    names: list[str]
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReadSkills:
    """What was read of an import: {name of a skill: {path in its folder: text}}, and the files that were left out."""

    skills: Mapping[str, Mapping[str, str]]
    skipped: list[str]


def import_zip(
    user: User, name: str, data: bytes, *, space: Space | None = None, replaces: bool = False
) -> ImportedSkills:
    """Import the skills of the zip file `data`, named `name`, into `space`, which the caller has checked that they may
    write, or into their own one. Raise SkillImportError.

    A skill that is there already is written anew only with `replaces`; its other files are deleted then.
    """
    return store(user, name, skills_in(files_of_zip(data)), space=space, replaces=replaces)


def import_folder(user: User, folder: Path, *, replaces: bool = False) -> ImportedSkills:
    """Import the skills of `folder`: one with its SKILL.md, or several in folders of it. Raise SkillImportError."""
    return store(user, folder.name, skills_in(files_of_folder(folder)), replaces=replaces)


def import_uploaded(
    user: User,
    name: str,
    files: Iterable[tuple[str, bytes]],
    *,
    space: Space | None = None,
    replaces: bool = False,
) -> ImportedSkills:
    """Import the skills of the (path, content) pairs of a folder that a browser has sent, as import_zip does. Raise
    SkillImportError."""
    found: dict[str, bytes] = {}
    left = UNPACKED_MAX_BYTES
    for number, (path, content) in enumerate(files, 1):
        left -= len(content)
        if left < 0:
            raise SkillImportError(_("It has more than %(most)s bytes."), most=UNPACKED_MAX_BYTES)
        if number > IMPORT_MAX_FILES:
            raise SkillImportError(_("There are more than %(most)s files in it."), most=IMPORT_MAX_FILES)
        add_file(found, path, content)
    return store(user, name, skills_in(found), space=space, replaces=replaces)


def files_of_zip(data: bytes) -> dict[str, bytes]:
    """Return {path: content} of each file in the zip file `data`, without using the disk. Raise SkillImportError."""
    if len(data) > ARCHIVE_MAX_BYTES:
        raise SkillImportError(_("This file is larger than %(most)s bytes."), most=ARCHIVE_MAX_BYTES)
    found: dict[str, bytes] = {}
    left = UNPACKED_MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > IMPORT_MAX_FILES:
                raise SkillImportError(_("There are more than %(most)s files in it."), most=IMPORT_MAX_FILES)
            for entry in entries:
                _check_entry(entry)
                with archive.open(entry) as stream:
                    # What the entry says of its size is not relied on.
                    content = stream.read(min(left, DOCUMENT_MAX_BYTES) + 1)
                left -= len(content)
                if left < 0:
                    raise SkillImportError(_("It unpacks to more than %(most)s bytes."), most=UNPACKED_MAX_BYTES)
                add_file(found, entry.filename, content)
    except DAMAGE as error:
        raise SkillImportError(_("This zip file cannot be read.")) from error
    return found


def files_of_folder(folder: Path) -> dict[str, bytes]:
    """Return {path: content} of each file below `folder`. Raise SkillImportError, also for a link."""
    found: dict[str, bytes] = {}
    left = UNPACKED_MAX_BYTES
    try:
        for entry in disk.walk(folder):
            if entry.is_link or not entry.is_file:
                raise SkillImportError(_("%(path)s is a link, or no file."), path=shown(entry.path))
            if len(found) >= IMPORT_MAX_FILES:
                raise SkillImportError(_("There are more than %(most)s files in it."), most=IMPORT_MAX_FILES)
            content = disk.first_bytes(folder, entry.path, min(left, DOCUMENT_MAX_BYTES) + 1)
            left -= len(content)
            if left < 0:
                raise SkillImportError(_("It has more than %(most)s bytes."), most=UNPACKED_MAX_BYTES)
            add_file(found, entry.path, content)
    except OSError as error:
        raise SkillImportError(_("This folder cannot be read.")) from error
    return found


def add_file(found: dict[str, bytes], path: str, content: bytes) -> None:
    """Add one file to `found`, if it is not hidden. Raise SkillImportError when its path leaves the folder, or is there
    twice."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or path[1:2] == ":" or ".." in parts or "" in parts:
        raise SkillImportError(_("“%(path)s” is outside of the folder, or no path."), path=shown(path))
    if parts[0] == "__MACOSX" or any(part.startswith(".") and part != "." for part in parts):
        return
    plain = str(PurePosixPath(path))
    if plain in found:
        raise SkillImportError(_("%(path)s is in it twice."), path=shown(path))
    found[plain] = content


def skills_in(files: Mapping[str, bytes]) -> ReadSkills:
    """Return the skills among `files`: each folder with a SKILL.md, and what is below it. Raise SkillImportError unless
    every one is valid."""
    mains = sorted(path for path in files if PurePosixPath(path).name == SKILL_FILE)
    roots = [path.removesuffix(SKILL_FILE) for path in mains]
    # A SKILL.md inside of another skill is a file of that one.
    roots = [root for root in roots if not any(root != other and root.startswith(other) for other in roots)]
    if not roots:
        raise SkillImportError(_("There is no SKILL.md in it."))
    if len(roots) > IMPORT_MAX_SKILLS:
        raise SkillImportError(_("There are more than %(most)s skills in it."), most=IMPORT_MAX_SKILLS)
    skills: dict[str, Mapping[str, str]] = {}
    skipped = [path for path in files if not path.startswith(tuple(roots))]
    for root in roots:
        inside = {path.removeprefix(root): files[path] for path in files if path.startswith(root)}
        skipped += [root + path for path in inside if not path.endswith(SKILL_SUFFIXES)]
        texts = _texts_of(inside)
        name = _checked_name(root, texts)
        if name in skills:
            raise SkillImportError(_("Two skills in it have the name %(name)s."), name=name)
        skills[name] = texts
    return ReadSkills(skills, skipped)


@transaction.atomic
def store(
    user: User, name: str, read: ReadSkills, *, space: Space | None = None, replaces: bool = False
) -> ImportedSkills:
    """Write skills that were read into `space`, or into the own one of `user`. Raise SkillImportError when one is there
    already, without `replaces`."""
    space = space or Space.objects.own_of(user)
    author = Author(Source.IMPORT, user, reason=Reason("change.skill_imported", {"name": shown(name)}))
    for folder, texts in sorted(read.skills.items()):
        hold(f"skill {space.pk} {folder}")
        below = MemoryDocument.objects.filter(space=space, path__startswith=f"{SKILLS}/{folder}/")
        versions = {row.path: row for row in below}
        if not replaces and any(not row.is_deleted for row in versions.values()):
            raise SkillImportError(_("There is already a skill with the name %(name)s."), name=folder)
        wanted = {f"{SKILLS}/{folder}/{path}": text for path, text in texts.items()}
        try:
            for path, text in wanted.items():
                write.apply(space, path, Replace(text, versions[path].version if path in versions else 0), author)
            for path, row in versions.items():
                if path not in wanted and not row.is_deleted:
                    write.apply(space, path, Delete(row.version), author)
        except (write.DocumentError, InvalidTextError, BadPathError) as error:
            raise SkillImportError(str(error)) from error
    return ImportedSkills(sorted(read.skills), [shown(path) for path in sorted(read.skipped)])


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Raise SkillImportError unless `entry` is a plain file that can be read."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise SkillImportError(_("%(path)s is a link, or no file."), path=shown(entry.filename))
    if entry.flag_bits & 0x1 or entry.compress_type not in COMPRESSION_METHODS:
        words = _("%(path)s is encrypted, or compressed in a way that is not supported.")
        raise SkillImportError(words, path=shown(entry.filename))


def _texts_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the text files of one skill. Raise SkillImportError."""
    texts: dict[str, str] = {}
    for path, content in files.items():
        if not path.endswith(SKILL_SUFFIXES):
            continue
        if len(content) > DOCUMENT_MAX_BYTES:
            words = _("%(path)s has more than %(most)s bytes.")
            raise SkillImportError(words, path=shown(path), most=DOCUMENT_MAX_BYTES)
        try:
            texts[path] = content.decode("utf-8-sig" if path == SKILL_FILE else "utf-8")
        except UnicodeDecodeError as error:
            raise SkillImportError(_("%(path)s is not valid UTF-8."), path=shown(path)) from error
    if len(texts) > SKILL_MAX_FILES:
        raise SkillImportError(_("A skill in it has more than %(most)s files."), most=SKILL_MAX_FILES)
    if sum(len(content) for path, content in files.items() if path in texts) > SKILL_MAX_BYTES:
        raise SkillImportError(_("A skill in it has more than %(most)s bytes."), most=SKILL_MAX_BYTES)
    return texts


def _checked_name(root: str, texts: Mapping[str, str]) -> str:
    """Return the name of the skill with these files, which is that of its folder `root`; of a skill without a folder,
    the one that its SKILL.md has. Raise SkillImportError when the skill is not valid."""
    folder = PurePosixPath(root).name if root else parse(texts[SKILL_FILE], "").name
    parsed = parse(texts[SKILL_FILE], folder)
    if parsed.faults or not is_name(folder):
        faults = parsed.faults or (Reason("skill.bad_name", {"name": folder}),)
        sentences = " ".join(map(str, faults))
        raise SkillImportError(_("%(path)s: %(faults)s"), path=shown(f"{root}{SKILL_FILE}"), faults=sentences)
    for path in texts:
        whole = f"{SKILLS}/{folder}/{path}"
        try:
            is_plain = checked_path(whole) == whole
        except BadPathError as error:
            raise SkillImportError(str(error)) from error
        if not is_plain:
            raise SkillImportError(_("“%(path)s” is outside of the folder, or no path."), path=shown(path))
        try:
            write.check(whole, texts[path])
        except (InvalidTextError, write.DocumentError) as error:
            raise SkillImportError(str(error)) from error
    return folder


def shown(name: str) -> str:
    """Return the name of a file as a page may show it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)[:200]
