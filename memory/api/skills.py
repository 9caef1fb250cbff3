"""Serve the skills over the HTTP API: list and read them.

Approving and switching off are not there: only a person does that, on the page that shows what they approve.
"""

from ninja import Router, Schema
from pydantic import Field

from memory.skills.approval import SkillOfPerson, with_states
from memory.skills.catalogue import find_skill, skills_of_person
from oneclaw.web.api import ApiError, KeyedRequest, responses

router = Router(tags=["memory"])


class SkillOut(Schema):
    """A skill that you may read."""

    name: str = Field(examples=["release-notes"])
    source: str = Field(description="own, server, or the id of a shared space.")
    description: str
    state: str = Field(description="used, waiting (for your approval), changed (waits again), off, or faulty.")
    is_used: bool = Field(description="Whether the model may read it: a used one whose name no other used one has.")
    only_named: bool = Field(description="Whether the model reads it only when you write $name.")
    faults: list[str] = Field(description="Why it cannot be used, one sentence each.")
    warnings: list[str]
    digest: str = Field(description="Differs when any of its files differs.")

    @classmethod
    def of(cls, found: SkillOfPerson) -> "SkillOut":
        skill = found.skill
        return cls(
            name=skill.folder,
            source=skill.source,
            description=skill.parsed.description,
            state=found.state.value,
            is_used=found.is_used,
            only_named=skill.parsed.is_only_named,
            faults=[reason.in_english for reason in skill.faults],
            warnings=[reason.in_english for reason in skill.parsed.warnings],
            digest=skill.digest,
        )


class SkillFileOut(Schema):
    path: str = Field(description="In the folder of the skill.", examples=["SKILL.md"])
    text: str


class SkillWithFiles(SkillOut):
    license: str
    compatibility: str
    allowed_tools: list[str] = Field(description="What the skill wishes for. It grants nothing.")
    files: list[SkillFileOut]


class SkillsOut(Schema):
    items: list[SkillOut]


@router.get("/memory/skills", response=responses(SkillsOut))
def skill_list(request: KeyedRequest) -> SkillsOut:
    """Return every skill that you may read: your own, those of shared spaces, then those of the server."""
    found = with_states(request.auth, skills_of_person(request.auth))
    return SkillsOut(items=[SkillOut.of(each) for each in found])


@router.get("/memory/skills/{source}/{name}", response=responses(SkillWithFiles, 404))
def skill(request: KeyedRequest, source: str, name: str) -> SkillWithFiles:
    """Return a skill with the text of its files."""
    found = find_skill(request.auth, source, name)
    if found is None:
        raise ApiError(404, "not_found", "There is no such skill.")
    every = with_states(request.auth, skills_of_person(request.auth))
    shown = next((each for each in every if each.skill.source == source and each.skill.folder == name), None)
    shown = shown or with_states(request.auth, [found])[0]
    parsed = shown.skill.parsed
    return SkillWithFiles(
        **SkillOut.of(shown).model_dump(),
        license=parsed.license,
        compatibility=parsed.compatibility,
        allowed_tools=list(parsed.allowed_tools),
        files=[SkillFileOut(path=path, text=text) for path, text in shown.skill.contents().items()],
    )
