"""The requirement files: every package with its hashes, no address, and all that is asked for."""

import re

import pytest

from tests.stage import ROOT

FOLDER = ROOT / "requirements"


def asked(name):
    lines = (FOLDER / name).read_text().split()
    return {re.split(r"[\[=<>]", line)[0].lower().replace("_", "-") for line in lines}


def pinned(name):
    """(package, version); some packages have another version for another Python."""
    return set(re.findall(r"^([a-z0-9.-]+)==(\S+)", (FOLDER / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_no_file_names_an_address(path):
    assert "://" not in path.read_text()


@pytest.mark.parametrize("name", ["run.txt", "saml.txt", "test.txt", "installer.txt", "chart.txt"])
def test_every_package_has_its_hashes(name):
    entries = re.split(r"\n(?=[a-z0-9])", (FOLDER / name).read_text())[1:]
    assert len(entries) == len(pinned(name))
    assert all("--hash=sha256:" in entry for entry in entries)


def test_what_is_asked_for_is_pinned_and_tests_run_on_what_people_run():
    assert asked("base.in") <= {name for name, _ in pinned("run.txt")}
    assert asked("saml.in") <= {name for name, _ in pinned("saml.txt")}
    assert asked("dev.in") <= {name for name, _ in pinned("test.txt")}
    assert asked("chart.in") <= {name for name, _ in pinned("chart.txt")}
    assert pinned("run.txt") | pinned("saml.txt") <= pinned("test.txt")
