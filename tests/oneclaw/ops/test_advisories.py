"""What is pinned, and the server inside, are none of the versions that an advisory names."""

import re
import subprocess
import tomllib

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from oneclaw.postgres import embedded
from tests.oneclaw.ops.test_requirements import FOLDER, pinned
from tests.stage import ROOT

ADVISORIES = tomllib.loads((FOLDER / "advisories.toml").read_text())["advisory"]
DOCUMENT = ROOT / "docs" / "deploy.md"


def embedded_versions():
    """The versions that the programs of the wheel state, not those in its name."""
    programs = embedded.programs()
    said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    control = (programs.parent / "share" / "extension" / "vector.control").read_text()
    return {
        "postgresql": re.search(r"PostgreSQL\) (\S+)", said)[1],
        "pgvector": re.search(r"default_version = '(.+)'", control)[1],
    }


def affected(advisories, versions):
    """The ids of the advisories that name one of the versions, which are pairs of package and version."""
    return [
        advisory["id"]
        for advisory in advisories
        for package, version in versions
        if package == advisory["package"] and Version(version) in SpecifierSet(advisory["affected"])
    ]


def test_nothing_inside_has_a_known_defect():
    inside = pinned("run.txt") | pinned("saml.txt") | pinned("test.txt") | set(embedded_versions().items())
    # The client library of the same name is another program.
    inside -= {(name, version) for name, version in pinned("test.txt") if name == "pgvector"}
    assert affected(ADVISORIES, inside) == []


@pytest.mark.parametrize("advisory", ADVISORIES, ids=lambda advisory: advisory["id"])
def test_an_advisory_names_a_package_that_is_inside_and_would_be_noticed(advisory):
    names = {name for name, _ in pinned("run.txt") | pinned("test.txt")} | set(embedded_versions())
    assert advisory["package"] in names
    lowest = [clause.version for clause in SpecifierSet(advisory["affected"]) if clause.operator == ">="] or ["0"]
    assert affected([advisory], {(advisory["package"], lowest[0])}) == [advisory["id"]]


def test_the_documents_say_which_versions_are_inside():
    text = DOCUMENT.read_text()
    versions = embedded_versions()
    assert f"PostgreSQL {versions['postgresql']} with pgvector {versions['pgvector']}" in text
