"""The units of deploy/systemd: systemd itself finds no mistake in them, and what they start exists."""

import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from oneclaw.management.commands.serve import ROLES
from tests.stage import ROOT

FOLDER = ROOT / "deploy" / "systemd"
UNITS = sorted(FOLDER.iterdir())
# What the console script does itself.
OF_THE_SCRIPT = {"run"}
PROGRAM = "/opt/oneclaw/bin/oneclaw"


def commands_of(path: Path) -> list[list[str]]:
    lines = [line for line in path.read_text().splitlines() if line.startswith("ExecStart=")]
    return [line.removeprefix("ExecStart=").split() for line in lines]


def test_each_process_has_a_unit():
    started = {tuple(words[1:]) for path in UNITS for words in commands_of(path)}
    # A new role of `serve` needs a unit here.
    assert {words[1] for words in started if words[0] == "serve"} == set(ROLES)
    assert ("run",) in started
    assert ("migrate", "--no-input") in started
    assert all(words[0] in get_commands() or words[0] in OF_THE_SCRIPT for words in started)
    assert {words[0] for path in UNITS for words in commands_of(path)} == {PROGRAM}


@pytest.mark.parametrize("path", [path for path in UNITS if path.suffix == ".service"], ids=lambda path: path.name)
def test_each_process_runs_without_privileges(path: Path):
    lines = path.read_text().splitlines()
    for line in ("User=oneclaw", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=", "UMask=0077"):
        assert line in lines
    # The settings, and a data folder that systemd makes for that account.
    assert "EnvironmentFile=/etc/oneclaw/settings" in lines
    assert {"StateDirectory=oneclaw", "Environment=ONECLAW_HOME=%S/oneclaw"} <= set(lines)


@pytest.mark.soak
def test_systemd_finds_no_mistake(tmp_path: Path):
    analyze = shutil.which("systemd-analyze")
    assert analyze, "systemd-analyze is not installed: .ci/run installs it."
    units = [str(tmp_path / path.name) for path in UNITS]
    for path in UNITS:
        # Every command must be there; the account and its folders need not.
        (tmp_path / path.name).write_text(path.read_text().replace(PROGRAM, "/bin/true"))
    done = subprocess.run([analyze, "verify", "--man=no", *units], capture_output=True, text=True, timeout=60)
    assert (done.stderr.strip(), done.returncode) == ("", 0)
    broken = tmp_path / "broken.service"
    broken.write_text("[Service]\nExecStrat=/bin/true\n")
    wrong = subprocess.run([analyze, "verify", "--man=no", str(broken)], capture_output=True, text=True, timeout=60)
    assert "ExecStrat" in wrong.stderr
