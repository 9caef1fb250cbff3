"""Decide which skills the model may use: those that their person has approved, as they were then.

What a person writes on the page of a skill is approved with it. Everything else (written by the model or by a program,
imported, changed in the folder, of a shared space or of the server) waits for a yes, and each change takes it back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from django.db import transaction
from django.db.models.functions import Now

from memory.access.decided import MemoryAccess
from memory.access.reading import once
from memory.documents import write
from memory.documents.diff import Hunk, diff
from memory.models import MemoryDocument, SkillApproval
from memory.skills.catalogue import Skill, by_name, find_skill, may_have_skills, skills_in, skills_of_conversation
from oneclaw.models import Space, User


class SkillState(Enum):
    """Whether the model may use a skill, and why not."""

    USED = "used"
    # No one has approved it; or it has changed since.
    WAITING = "waiting"
    CHANGED = "changed"
    OFF = "off"
    # Its SKILL.md breaks the specification.
    FAULTY = "faulty"


class SkillChangedError(Exception):
    """The skill is not the one that the person was shown."""


class NotAnOwnerError(Exception):
    """Only an owner of a shared space approves a skill for every member."""


@dataclass(frozen=True)
class SkillOfPerson:
    """A skill with what its person decided about it. `is_hidden`: another one with its name goes before it."""

    skill: Skill
    state: SkillState
    # The newest answer; None: there was none.
    approval: SkillApproval | None = None
    is_hidden: bool = False

    @property
    def is_used(self) -> bool:
        """Return whether the model may use it."""
        return self.state == SkillState.USED and not self.is_hidden


def with_states(user: User, skills: Iterable[Skill]) -> list[SkillOfPerson]:
    """Return `skills`, in the order of precedence, each with what `user` decided about it.

    Of several with one name, the first that may be used is used.
    """
    listed = list(skills)
    answers: dict[tuple[int | None, str], list[SkillApproval]] = {}
    if listed:
        folders = {skill.folder for skill in listed}
        for row in SkillApproval.objects.counting_for(user).filter(folder__in=folders).order_by("-at"):
            answers.setdefault((row.space_id, row.folder), []).append(row)
    found = []
    for skill in listed:
        rows = answers.get((skill.space.pk if skill.space else None, skill.folder), [])
        found.append((skill, *_state(user, skill, rows)))
    used = {id(skill) for skill in by_name(skill for skill, state, _ in found if state == SkillState.USED)}
    return [
        SkillOfPerson(skill, state, row, state == SkillState.USED and id(skill) not in used)
        for skill, state, row in found
    ]


def usable_skills(access: MemoryAccess) -> list[Skill]:
    """Return the skills that the model may use in a conversation, by name; those that only the person may name as
    well."""
    return once(("usable skills", access), lambda: _usable(access)) if may_have_skills(access) else []


def _usable(access: MemoryAccess) -> list[Skill]:
    skills = skills_of_conversation(access)
    if access.person is None:
        found = approved_for_all(skills)
    else:
        found = [each.skill for each in with_states(access.person, skills) if each.is_used]
    return sorted(found, key=lambda skill: skill.folder)


def approved_for_all(skills: Iterable[Skill]) -> list[Skill]:
    """Return those of `skills` that an owner of their space has approved for every member, as they are now."""
    listed = [skill for skill in skills if skill.space is not None and not skill.faults]
    rows = SkillApproval.objects.by_owners().filter(space__in=[skill.space for skill in listed])
    approved = set(rows.values_list("space", "folder", "digest"))
    return [skill for skill in listed if skill.space and (skill.space.pk, skill.folder, skill.digest) in approved]


def waiting_own_skills(user: User) -> int:
    """Return how many skills of the own space of `user` wait for their approval."""
    found = with_states(user, skills_in([Space.objects.own_of(user)]))
    return sum(each.state in (SkillState.WAITING, SkillState.CHANGED) for each in found)


def approve(user: User, skill: Skill, digest: str, *, for_all: bool = False) -> None:
    """Let the model use `skill` for `user`, or `for_all` members of its space. Idempotent.

    `digest` is that of the skill that the person was shown. Raise SkillChangedError when it is another one by now, or
    cannot be used, and NotAnOwnerError for all members without owning the space.
    """
    if digest != skill.digest or skill.faults:
        raise SkillChangedError
    if for_all and not owns(user, skill.space):
        raise NotAnOwnerError
    _answer(user, skill, is_used=True, for_all=for_all)


def switch_off(user: User, skill: Skill) -> None:
    """Keep the model from using `skill` for `user`, also after a change. Idempotent."""
    _answer(user, skill, is_used=False, for_all=False)


def approves_with_edit(user: User, skill: Skill | None) -> bool:
    """Return whether what `user` writes on the page of `skill` approves it: a new one (None), one without further
    files, or one that was approved as it is."""
    if skill is None or len(skill.files) <= 1:
        return True
    return with_states(user, [skill])[0].state == SkillState.USED


@transaction.atomic
def approve_written(user: User, source: str, folder: str) -> None:
    """Approve a skill as it is now for `user`, who has just written it; not one with faults."""
    skill = find_skill(user, source, folder)
    if skill is not None and not skill.faults:
        _answer(user, skill, is_used=True, for_all=False)


def owns(user: User, space: Space | None) -> bool:
    """Return whether `user` is an owner of the shared space `space`."""
    if space is None or space.is_private:
        return False
    return Space.objects.owned_by(user).filter(pk=space.pk).exists()


def changes_since(skill: Skill, approval: SkillApproval | None) -> dict[str, list[Hunk]]:
    """Return what differs in each file of `skill` since `approval`: all of it without one. Other files are left out."""
    now = skill.contents()
    then = _contents_of(skill, approval) if approval else {}
    paths = [*now, *sorted(then.keys() - now.keys())]
    return {path: hunks for path in paths if (hunks := _hunks(then.get(path), now.get(path)))}


def _hunks(then: str | None, now: str | None) -> list[Hunk]:
    """Return the difference of two texts of a file; None: there was none, or is none any more."""
    if then is None or now is None:
        removed, added = ([] if text is None else text.removesuffix("\n").split("\n") for text in (then, now))
        return [Hunk(at=0, removed=removed, added=added)]
    return diff(then, now)


def _contents_of(skill: Skill, approval: SkillApproval) -> dict[str, str]:
    """Return the text of each file as it was approved."""
    files: Mapping[str, int | str] = approval.files
    if skill.space is None:
        return {path: str(text) for path, text in files.items()}
    rows = MemoryDocument.objects.filter(
        space=skill.space, path__in=[f"skills/{skill.folder}/{path}" for path in files]
    )
    # Its history, and not a copy: what was forgotten since is in neither.
    return {row.path.split("/", 2)[2]: write.content_at(row, int(files[row.path.split("/", 2)[2]])) for row in rows}


def _state(user: User, skill: Skill, rows: list[SkillApproval]) -> tuple[SkillState, SkillApproval | None]:
    """Return the state of `skill` by these answers, and the one that decides."""
    mine = next((row for row in rows if row.user_id == user.pk), None)
    newest = mine or (rows[0] if rows else None)
    if mine is not None and not mine.is_used:
        return SkillState.OFF, mine
    if skill.faults:
        return SkillState.FAULTY, newest
    approved = next((row for row in rows if row.digest == skill.digest), None)
    if approved is not None:
        return SkillState.USED, approved
    return (SkillState.CHANGED if newest else SkillState.WAITING), newest


def _answer(user: User, skill: Skill, *, is_used: bool, for_all: bool) -> None:
    files: dict[str, int | str] = {}
    if is_used:
        files = {**skill.contents()} if skill.space is None else {file.path: file.version for file in skill.files}
    SkillApproval.objects.update_or_create(
        user=user,
        space=skill.space,
        folder=skill.folder,
        defaults={"digest": skill.digest, "files": files, "is_used": is_used, "for_all": for_all, "at": Now()},
    )
