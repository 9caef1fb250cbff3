"""The decisions have complete contents, and each dependency has its reason."""

import json
import re

from tests.decisions import CONTENTS, DECISIONS, with_contents

ROOT = DECISIONS.parent.parent


def requirements(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return {re.split(r"[\[<>=]", line)[0].strip() for line in lines if line.strip() and not line.startswith("#")}


def test_the_contents_list_each_decision():
    assert CONTENTS.read_text() == with_contents(), "Run python -m tests.decisions."


def test_each_dependency_has_a_reason_and_no_other_has():
    rows = re.findall(r"^\| ([\w@/-]+) \| (.+) \|$", (DECISIONS / "dependencies.md").read_text(), re.MULTILINE)
    explained = {package for package, reason in rows if package != "package"}
    npm = json.loads((DECISIONS.parents[1] / "package.json").read_text())["devDependencies"]
    files = ("base.in", "saml.in", "dev.in", "chart.in")
    assert explained == set(npm).union(*(requirements(name) for name in files))
