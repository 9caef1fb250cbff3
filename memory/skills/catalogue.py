"""Find the skills of a person: of their own space, of the spaces that they share, and of the server's folder."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from django.conf import settings
from django.db.models import Case, F, TextField, Value, When
from django.db.models.functions import Length

from memory.access.decided import MemoryAccess
from memory.models import MemoryDocument, content_hash
from memory.policy.paths import SKILL_FILE, SKILLS
from memory.skills.limits import SKILL_MAX_BYTES, SKILL_MAX_FILES, SKILLS_MAX_COUNT
from memory.skills.parsing import ParsedSkill, parse
from memory.skills.server_folder import server_skills
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

# The sources that are no shared space; the source of one of these is its id.
OWN, SERVER = "own", "server"


@dataclass(frozen=True)
class SkillFile:
    """One file of a skill; `path` is that inside of its folder. `document` and `version` are 0 in the server's folder.

    The text of another file than SKILL.md is read when it is asked for.
    """

    path: str
    hash: str
    # In characters.
    size: int
    document: int = 0
    version: int = 0

    @property
    def is_main(self) -> bool:
        """Return whether it is the file with the instructions."""
        return self.path == SKILL_FILE

    @property
    def is_text(self) -> bool:
        """Return whether it is a text to read, and no script or data."""
        return self.path.endswith((".md", ".txt"))


@dataclass(frozen=True)
class Skill:
    """A skill of one source: the person's own space, a shared space, or the server's folder (without a space)."""

    folder: str
    files: tuple[SkillFile, ...]
    # The text of its SKILL.md; "" when it has none.
    text: str
    space: Space | None = None

    @property
    def source(self) -> str:
        """Return the source as addresses have it: own, server, or the id of a shared space."""
        return source_in(self.space) if self.space else SERVER

    @property
    def path(self) -> str:
        """Return the path of its SKILL.md in the space."""
        return f"{SKILLS}/{self.folder}/{SKILL_FILE}"

    @cached_property
    def parsed(self) -> ParsedSkill:
        """Return the content of its SKILL.md."""
        return parse(self.text, self.folder) if self.main else ParsedSkill(faults=(Reason("skill.missing"),))

    @cached_property
    def faults(self) -> tuple[Reason, ...]:
        """Return why it cannot be used; nothing when it can."""
        faults = list(self.parsed.faults)
        if len(self.files) > SKILL_MAX_FILES:
            faults.append(Reason("skill.many_files", {"most": SKILL_MAX_FILES}))
        if sum(file.size for file in self.files) > SKILL_MAX_BYTES:
            faults.append(Reason("skill.large", {"most": SKILL_MAX_BYTES}))
        return tuple(faults)

    @property
    def main(self) -> SkillFile | None:
        """Return its SKILL.md; None when it has none."""
        return next((file for file in self.files if file.is_main), None)

    @cached_property
    def digest(self) -> str:
        """Return a hash that differs when any of its files differs."""
        listed = "\n".join(f"{file.hash} {file.path}" for file in sorted(self.files, key=lambda file: file.path))
        return hashlib.sha256(listed.encode()).hexdigest()

    def contents(self) -> dict[str, str]:
        """Return the text of each of its files, SKILL.md first; those in a space are read from the database."""
        ordered = sorted(self.files, key=lambda file: (not file.is_main, file.path))
        if self.space is None:
            held = server_skills().get(self.folder, {})
        else:
            rows = MemoryDocument.objects.present().filter(space=self.space, pk__in=[file.document for file in ordered])
            held = {path.split("/", 2)[2]: content for path, content in rows.values_list("path", "content")}
        # Changed in between, a file is not what was approved.
        return {
            file.path: held[file.path]
            for file in ordered
            if file.path in held and content_hash(held[file.path]) == file.hash
        }


def source_in(space: Space) -> str:
    """Return the source of the skills in `space`."""
    return OWN if space.kind == Space.Kind.OWN else str(space.pk)


def skills_of_person(user: User) -> list[Skill]:
    """Return every skill that `user` may read, in the order of precedence: own, then of spaces, then of the server."""
    spaces = sorted(
        Space.objects.visible_to(user).exclude(kind=Space.Kind.AGENT),
        key=lambda space: (space.kind != Space.Kind.OWN, space.pk),
    )
    return [*skills_in(spaces), *skills_of_server()]


def skills_of_conversation(access: MemoryAccess) -> list[Skill]:
    """Return the skills that a conversation may use, if they are approved, in the order of precedence: none without
    memory, and only those of its space in a shared one."""
    found = skills_in([known.space for known in access.skills if known.has_skills])
    return [*found, *skills_of_server()] if access.person and access.may_read else found


def may_have_skills(access: MemoryAccess) -> bool:
    """Return whether a conversation may have a skill."""
    has_servers = bool(settings.SKILLS) and access.person is not None and access.may_read
    return has_servers or any(known.has_skills for known in access.skills)


def skills_in(spaces: Sequence[Space]) -> list[Skill]:
    """Return the skills of `spaces`, in their order and by name."""
    by_id = {space.pk: space for space in spaces}
    text = Case(When(path__endswith=f"/{SKILL_FILE}", then=F("content")), default=Value(""), output_field=TextField())
    rows = MemoryDocument.objects.present().filter(space__in=by_id, path__startswith=f"{SKILLS}/")
    found = rows.order_by("space", "path").annotate(main_text=text, size=Length("content"))
    columns = found.values_list("space", "path", "content_hash", "size", "pk", "version", "main_text")
    inside = [(space, *path.split("/", 2)[1:], *rest) for space, path, *rest in columns if path.count("/") >= 2]
    skills: dict[int, list[Skill]] = {}
    # By whole names: "a-b/" is sorted between "a/" and "a/b".
    ordered = sorted(inside, key=lambda row: row[:2])
    for (space_id, folder), files in groupby(ordered, key=lambda row: row[:2]):
        skills.setdefault(space_id, []).append(_skill(by_id[space_id], folder, files))
    return [skill for space in spaces for skill in skills.get(space.pk, [])[:SKILLS_MAX_COUNT]]


def skills_of_server() -> list[Skill]:
    """Return the skills of the server's folder, by name."""
    return [server_skill(folder, files) for folder, files in server_skills().items()]


def server_skill(folder: str, files: Mapping[str, str]) -> Skill:
    """Return the skill of the server's folder with these files, {path: text}."""
    held = tuple(SkillFile(path, content_hash(text), len(text)) for path, text in files.items())
    return Skill(folder, held, files.get(SKILL_FILE, ""))


def find_skill(user: User, source: str, folder: str) -> Skill | None:
    """Return the skill of `source` in `folder` that `user` may read; None without one."""
    if source == SERVER:
        files = server_skills().get(folder)
        return server_skill(folder, files) if files is not None else None
    if source == OWN:
        space: Space | None = Space.objects.own_of(user)
    elif source.isascii() and source.isdecimal() and len(source) < 18:
        shared = Space.objects.visible_to(user).exclude(kind__in=Space.PRIVATE)
        space = shared.filter(pk=int(source)).first()
    else:
        space = None
    return next((skill for skill in skills_in([space]) if skill.folder == folder), None) if space else None


def _skill(space: Space, folder: str, rows: Iterable[tuple]) -> Skill:
    files, text = [], ""
    for _, _, path, hash, size, document, version, main_text in rows:
        files.append(SkillFile(path, hash, size, document, version))
        text = main_text if path == SKILL_FILE else text
    return Skill(folder, tuple(files), text, space)


def by_name(skills: Iterable[Skill]) -> Iterator[Skill]:
    """Yield the first of `skills` with each name."""
    seen: set[str] = set()
    for skill in skills:
        if skill.folder not in seen:
            seen.add(skill.folder)
            yield skill
