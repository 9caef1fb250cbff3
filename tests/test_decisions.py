"""The decisions have complete contents, and each dependency has its reason."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"


def requirements(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return {re.split(r"[\[<>=]", line)[0].strip() for line in lines if line.strip() and not line.startswith("#")}


def test_the_contents_list_each_decision():
    expected = []
    contents = (DECISIONS / "README.md").read_text()
    for area in re.findall(r"^## \[.+\]\((.+)\)$", contents, re.MULTILINE):
        text = (DECISIONS / area).read_text()
        expected += [area, *re.findall(r"^## (.+)$", text, re.MULTILINE)]
    listed = [area or title for area, title in re.findall(r"^(?:## \[.+\]\((.+)\)|- (.+))$", contents, re.MULTILINE)]
    assert listed == expected
    assert {path.name for path in DECISIONS.glob("*.md")} - {"README.md"} == {
        line for line in listed if line.endswith(".md")
    }


def test_each_dependency_has_a_reason_and_no_other_has():
    rows = re.findall(r"^\| ([\w@/-]+) \| (.+) \|$", (DECISIONS / "dependencies.md").read_text(), re.MULTILINE)
    explained = {package for package, reason in rows if package != "package"}
    npm = json.loads((DECISIONS.parents[1] / "package.json").read_text())["devDependencies"]
    assert explained == requirements("base.in") | requirements("saml.in") | requirements("dev.in") | set(npm)
