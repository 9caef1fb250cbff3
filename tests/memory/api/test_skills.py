"""Skills over the API: listed and read; no program approves one."""

from memory.skills.catalogue import find_skill
from tests.skills import own_skill, skill_text, state_of, unapproved_skill


def test_skills_are_listed_with_their_states_and_read_with_their_files(adas, strangers, ada):
    own_skill(ada)
    unapproved_skill(ada, "wrong", description="x" * 1025)
    used, wrong = adas.get("/memory/skills").json()["items"]
    assert (used["name"], used["source"], used["state"], used["is_used"]) == ("release-notes", "own", "used", True)
    assert (wrong["state"], wrong["is_used"]) == ("faulty", False)
    assert wrong["faults"] == ["The description has 1,025 characters; at most 1,024 are possible."]
    read = adas.get("/memory/skills/own/release-notes").json()
    assert read["files"] == [{"path": "SKILL.md", "text": skill_text()}]
    assert strangers.get("/memory/skills").json()["items"] == []
    assert strangers.get("/memory/skills/own/release-notes").status_code == 404
    assert adas.get("/memory/skills/server/release-notes").status_code == 404


def test_what_a_program_writes_waits_for_the_person(adas, ada):
    path = "/memory/documents/skills/release-notes/SKILL.md"
    assert adas.put(path, text=skill_text(), base_version=0).status_code == 200
    skill = find_skill(ada, "own", "release-notes")
    assert state_of(ada, skill) == "waiting"
    for method in ("post", "put", "patch", "delete"):
        assert adas.send(method, "/memory/skills/own/release-notes", {"digest": skill.digest}).status_code in (404, 405)
    assert state_of(ada, skill) == "waiting"
    assert adas.put("/memory/documents/skills/release-notes/run.exe", text="x", base_version=0).status_code == 422
