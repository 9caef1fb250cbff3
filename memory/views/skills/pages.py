"""Serve the list of a person's skills, and the page of one."""

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from memory.access.rights import may_write
from memory.skills.approval import SkillOfPerson, SkillState, changes_since, owns, with_states
from memory.skills.catalogue import Skill, find_skill, skills_of_person
from memory.skills.parsing import has_invisible
from memory.trust.instructions import marked_lines
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import StrOrPromise

# The state of a skill as the pages call it.
STATES: dict[SkillState, StrOrPromise] = {
    SkillState.USED: _("In use"),
    SkillState.WAITING: _("Waits for your approval"),
    SkillState.CHANGED: _("Changed: waits for your approval"),
    SkillState.OFF: _("Switched off"),
    SkillState.FAULTY: _("Cannot be used"),
}


@dataclass(frozen=True)
class ShownSkill:
    """A skill as a page shows it."""

    found: SkillOfPerson
    state: StrOrPromise
    source: StrOrPromise

    @classmethod
    def of(cls, found: SkillOfPerson) -> "ShownSkill":
        hidden = _("Not used: another skill has this name")
        return cls(found, hidden if found.is_hidden else STATES[found.state], source_of(found.skill.space))

    @property
    def skill(self) -> Skill:
        return self.found.skill

    @property
    def waits(self) -> bool:
        """Return whether the person's yes is all that is missing."""
        return self.found.state in (SkillState.WAITING, SkillState.CHANGED)

    @property
    def may_be_approved(self) -> bool:
        """Return whether a yes lets the model use it."""
        return self.waits or (self.found.state == SkillState.OFF and not self.skill.faults)


@require_GET
def skill_list(request: SignedInRequest) -> HttpResponse:
    """List every skill that the person may read, those that wait for them first."""
    shown = [ShownSkill.of(found) for found in with_states(request.user, skills_of_person(request.user))]
    context = {
        "waiting": [each for each in shown if each.waits],
        "others": [each for each in shown if not each.waits],
    }
    return render(request, "memory/skills.html", context)


@require_GET
def skill_page(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Show one skill: what it says, what is wrong with it, and what changed since it was approved."""
    return render_skill(request, readable_skill(request, source, folder))


def render_skill(request: SignedInRequest, skill: Skill, warning: str = "", status: int = 200) -> HttpResponse:
    """Render the page of `skill`, with `warning` above it."""
    listed = with_states(request.user, skills_of_person(request.user))
    same = [each for each in listed if each.skill.source == skill.source and each.skill.folder == skill.folder]
    found = same[0] if same else with_states(request.user, [skill])[0]
    shown = ShownSkill.of(found)
    # What the form approves is what this page shows.
    skill = found.skill
    contents = skill.contents()
    by_path = {file.path: file for file in skill.files}
    # All of it, and nothing cut: a person approves what is shown.
    context = {
        "shown": shown,
        "skill": skill,
        "warning": warning,
        "is_writable": is_writable(request.user, skill),
        "may_approve_for_all": owns(request.user, skill.space),
        "lines": marked_lines(skill.text) if shown.may_be_approved else None,
        "changes": changes_since(skill, found.approval) if found.state == SkillState.CHANGED else None,
        "files": [(by_path[path], text) for path, text in contents.items()],
        "invisible": [Reason("skill.invisible", {"path": path}) for path in contents if has_invisible(contents[path])],
        "is_used": found.state == SkillState.USED,
    }
    return render(request, "memory/skill.html", context, status=status)


def readable_skill(request: SignedInRequest, source: str, folder: str) -> Skill:
    """Return the skill. Raise Http404 when there is none that the person may read."""
    skill = find_skill(request.user, source, folder)
    if skill is None:
        raise Http404
    return skill


def is_writable(user: User, skill: Skill) -> bool:
    """Return whether `user` may change the skill."""
    return skill.space is not None and may_write(user, skill.space.pk)


def source_of(space: Space | None) -> StrOrPromise:
    """Return whose a skill of `space` is, as a page says it; None: of the server."""
    if space is None:
        return _("From this server")
    return _("Yours") if space.kind == Space.Kind.OWN else space.name
