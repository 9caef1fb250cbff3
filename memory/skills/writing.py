"""Write and delete the skills of a person's own space, on their page."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.policy.paths import SKILL_FILE, SKILLS
from memory.skills.approval import approve_own, may_approve_own_edit
from memory.skills.catalogue import OWN, Skill, find_skill
from memory.skills.parsing import is_name, parse
from oneclaw.locks import hold
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import UserFacingError


class SkillExistsError(UserFacingError):
    """The person already has a skill with this name."""

    wording = _("You already have a skill with the name %(name)s.")


class FaultySkillError(Exception):
    """The text is no SKILL.md that could be used, for these `reasons`."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__(", ".join(reason.code for reason in reasons))
        self.reasons = reasons


@transaction.atomic
def create(user: User, name: str, text: str) -> None:
    """Write a new own skill with this SKILL.md, which is approved with it. Raise FaultySkillError, SkillExistsError,
    or an error of the write path."""
    if not is_name(name):
        raise FaultySkillError(parse(text, name).faults or (Reason("skill.bad_name", {"name": name}),))
    space = Space.objects.own_of(user)
    hold(f"skill {space.pk} {name}")
    if find_skill(user, OWN, name) is not None:
        raise SkillExistsError(name=name)
    _write(user, space, name, text, 0)
    approve_own(user, name)


@transaction.atomic
def change(user: User, skill: Skill, text: str, base_version: int) -> bool:
    """Write the SKILL.md of the own `skill`, and return whether the change is approved with it: not when other files of
    the skill wait for a yes. Raise FaultySkillError, or an error of the write path."""
    if skill.space is None:
        raise ValueError("The skills of the server are read only.")
    hold(f"skill {skill.space.pk} {skill.folder}")
    before = find_skill(user, OWN, skill.folder)
    is_approved = may_approve_own_edit(user, before)
    _write(user, skill.space, skill.folder, text, base_version)
    if is_approved:
        approve_own(user, skill.folder)
    return is_approved


@transaction.atomic
def delete(user: User, skill: Skill) -> None:
    """Delete every file of the own `skill`; their history is kept. Raise an error of the write path."""
    if skill.space is None:
        raise ValueError("The skills of the server are read only.")
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
