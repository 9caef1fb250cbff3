"""Write and delete skills on their pages: of a person's own space, or of a shared one that they may write."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.policy.paths import SKILL_FILE, SKILLS
from memory.skills.approval import approve_written, approves_with_edit
from memory.skills.catalogue import Skill, find_skill, source_in
from memory.skills.parsing import is_name, parse
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError


class SkillExistsError(UserFacingError):
    """There is a skill with this name already."""

    wording = _("There is already a skill with the name %(name)s.")


class ReadOnlySkillError(Exception):
    """The skills of the server are only read."""


class FaultySkillError(Exception):
    """The text is no SKILL.md that could be used, for these `reasons`."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__(", ".join(reason.code for reason in reasons))
        self.reasons = reasons


@transaction.atomic
def create(user: User, space: Space, name: str, text: str) -> None:
    """Write a new skill of `space` with this SKILL.md, which `user` approves with it, for themselves. The caller has
    checked that they may write the space.

    Raise FaultySkillError, SkillExistsError, or an error of the write path.
    """
    if not is_name(name):
        raise FaultySkillError(parse(text, name).faults or (Reason("skill.bad_name", {"name": name}),))
    hold(f"skill {space.pk} {name}")
    if find_skill(user, source_in(space), name) is not None:
        raise SkillExistsError(name=name)
    _write(user, space, name, text, 0)
    approve_written(user, source_in(space), name)


@transaction.atomic
def change(user: User, skill: Skill, text: str, base_version: int) -> bool:
    """Write the SKILL.md of `skill`, and return whether the change is approved with it: not when other files of
    the skill wait for a yes. Raise FaultySkillError, or an error of the write path."""
    if skill.space is None:
        raise ReadOnlySkillError
    hold(f"skill {skill.space.pk} {skill.folder}")
    before = find_skill(user, skill.source, skill.folder)
    is_approved = approves_with_edit(user, before)
    _write(user, skill.space, skill.folder, text, base_version)
    if is_approved:
        approve_written(user, skill.source, skill.folder)
    return is_approved


@transaction.atomic
def delete(user: User, skill: Skill) -> None:
    """Delete every file of `skill`; their history is kept. Raise an error of the write path."""
    if skill.space is None:
        raise ReadOnlySkillError
    author = Author(Source.PAGE, user, reason=Reason("change.skill_deleted"))
    for file in skill.files:
        write.apply(skill.space, f"{SKILLS}/{skill.folder}/{file.path}", Delete(file.version), author)


def new_text(name: str, description: str, body: str) -> str:
    """Return the SKILL.md of these fields of a form. Pure."""
    # In double quotes, any text of one line is valid YAML.
    words = " ".join(description.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'---\nname: {name}\ndescription: "{words}"\n---\n\n{body.strip()}\n'


def _write(user: User, space: Space, name: str, text: str, base_version: int) -> None:
    text = text.replace("\r\n", "\n")
    if faults := parse(text, name).faults:
        raise FaultySkillError(faults)
    author = Author(Source.PAGE, user, reason=Reason("change.skill_written"))
    write.apply(space, f"{SKILLS}/{name}/{SKILL_FILE}", Replace(text, base_version), author)
