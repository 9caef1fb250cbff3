"""Skills for tests: a SKILL.md, and ways to have one."""

import io
import zipfile

from memory.documents.write import Author, Replace, Source, apply
from memory.skills import approval, writing
from memory.skills.catalogue import find_skill
from oneclaw.models import Space

ABOUT = "Writes release notes from merged changes. Use it when a release is prepared."
BODY = "Group the changes into Added, Changed and Fixed."


def skill_text(name="release-notes", description=ABOUT, body=BODY, **fields):
    lines = [f"{field.replace('_', '-')}: {value}" for field, value in fields.items()]
    return "\n".join(["---", f"name: {name}", f"description: {description}", *lines, "---", "", body, ""])


def own_skill(user, name="release-notes", **fields):
    """A skill that its person wrote on the page."""
    writing.create(user, Space.objects.own_of(user), name, skill_text(name, **fields))
    return find_skill(user, "own", name)


def put(space, path, text, source=Source.FILE, author=None):
    """Write a file of a skill in another way than on the page."""
    document = space.documents.filter(path=f"skills/{path}").first()
    version = document.version if document else 0
    return apply(space, f"skills/{path}", Replace(text, version), Author(source, author or space.owner))


def unapproved_skill(user, name="release-notes", **fields):
    put(Space.objects.own_of(user), f"{name}/SKILL.md", skill_text(name, **fields))
    return find_skill(user, "own", name)


def state_of(user, skill):
    fresh = find_skill(user, skill.source, skill.folder)
    return approval.with_states(user, [fresh])[0].state.value


def approved(user, skill, **how):
    fresh = find_skill(user, skill.source, skill.folder)
    approval.approve(user, fresh, fresh.digest, **how)
    return fresh


# The files of a skill with a script.
FILES = {"release-notes/SKILL.md": skill_text(), "release-notes/scripts/run.py": "print(1)"}


def packed(files):
    """A zip file of {path or entry: content}."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = path if isinstance(path, zipfile.ZipInfo) else zipfile.ZipInfo(path)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
