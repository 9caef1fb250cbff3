"""The data folder is closed to other accounts."""

import os

import pytest

from oneclaw.config import home as homes
from oneclaw.management.commands import serve


@pytest.fixture(params=["new", "open"])
def home(request, tmp_path):
    home = tmp_path / "data"
    if request.param == "open":
        (home / "queue").mkdir(parents=True, mode=0o755)
        (home / "pg17").mkdir(mode=0o700)
        home.chmod(0o755)
    return home


def test_other_accounts_cannot_read_it(home):
    homes.make_home(home)
    # The account of root's embedded server must get through.
    assert home.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    if (home / "queue").exists():
        assert (home / "queue").stat().st_mode & 0o777 == 0o700


def test_a_mode_that_is_closed_already_and_a_folder_of_another_account_stay(tmp_path, monkeypatch):
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    homes.make_home(home)
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o750)
    monkeypatch.setattr(homes.os, "geteuid", lambda: 12345)
    homes.make_home(home)
    assert home.stat().st_mode & 0o777 == 0o750


def test_what_serve_writes_is_private(monkeypatch, tmp_path):
    monkeypatch.setitem(serve.ROLES, "beat", lambda: (tmp_path / "written").write_text("x"))
    before = os.umask(0o022)
    try:
        serve.Command().handle(role="beat")
    finally:
        os.umask(before)
    assert (tmp_path / "written").stat().st_mode & 0o777 == 0o600
