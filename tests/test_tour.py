"""The tour and the glossary name files, folders and functions that exist, and no document names one that does not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(
    r"`((?:oneclaw|chat|memory|templates|static|tests|docs|benchmarks|requirements|\.ci)/(?:[\w./-]+\.\w+|[\w/-]+/))`"
)
# A name in a file: `path/file.py` (`name`).
NAME_IN_FILE = re.compile(r"`((?:oneclaw|chat|memory)/[\w/]+\.py)`\s+\(`(\w+)`\)")
# Files of a person, not of the project.
OF_A_PERSON = re.compile(r"^memory/\d{4}-\d{2}-\d{2}\.md$|^memory/YYYY")


def named_in(document: Path) -> list[str]:
    return [name for name in NAMED.findall(document.read_text()) if not OF_A_PERSON.match(name)]


def test_the_tour_is_short():
    text = (ROOT / "docs" / "tour.md").read_text()
    assert len(re.findall(r"^\d+\. ", text, re.M)) == 12
    assert 30 < len(set(named_in(ROOT / "docs" / "tour.md"))) < 60


DECISIONS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "decisions").glob("*.md"))


@pytest.mark.parametrize(
    "document",
    [
        *(f"docs/{name}.md" for name in ("tour", "glossary", "sign-in", "sharing")),
        *DECISIONS,
        "README.md",
        "CONTRIBUTING.md",
    ],
)
def test_every_file_that_is_named_exists(document):
    missing = [name for name in named_in(ROOT / document) if not (ROOT / name).exists()]
    assert missing == []


@pytest.mark.parametrize("document", ["docs/tour.md", "docs/glossary.md"])
def test_every_name_in_a_file_exists(document):
    named = NAME_IN_FILE.findall((ROOT / document).read_text())
    assert len(named) > 5
    assert [(file, name) for file, name in named if not re.search(rf"\b{name}\b", (ROOT / file).read_text())] == []


@pytest.mark.parametrize(
    "document",
    sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_link_leads_somewhere(document):
    links = re.findall(r"\]\((?!\w+:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []
