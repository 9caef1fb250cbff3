"""The embedded PostgreSQL runs while somebody uses it, whatever happens to anybody."""

import contextlib
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from oneclaw.postgres import embedded, guardian
from tests import actors
from tests.stage import guardian_of, lives, open_folder, server_of, until

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def folder():
    with open_folder() as folder:
        yield folder


@pytest.fixture
def home(folder):
    """A data folder; tests share it one after the other, so that not each makes a new database."""
    home = folder / "home"
    yield home
    until(lambda: not guardian_of(home))


@pytest.fixture
def users():
    """Start processes that use the server of a data folder: `users(home)` returns one that has joined; `users(home,
    wait=False)`, which has yet to join, says so through its pipe."""
    started = []

    def start(home, wait=True):
        user, said = actors.started(actors.uses_the_server, home)
        started.append((user, said))
        if wait:
            assert said.recv() == "joined"
        return user if wait else (user, said)

    yield start
    for user, said in started:
        user.kill()
        user.join()
        said.close()


def connect(home):
    return psycopg.connect(**embedded.EmbeddedPostgres(home).params())


def test_of_six_that_start_at_once_all_share_one_server(home, users):
    starting = [users(home, wait=False) for _ in range(6)]
    for _, said in starting:
        assert said.recv() == "joined"
    children = Path(f"/proc/{guardian_of(home)}/task/{guardian_of(home)}/children").read_text().split()
    assert children == [str(server_of(home))]


def test_it_stops_when_its_last_user_is_killed(home, users):
    first, second = users(home), users(home)
    server, keeper = server_of(home), guardian_of(home)
    first.kill()
    time.sleep(0.5)
    assert lives(server)
    second.kill()
    until(lambda: not lives(server) and not lives(keeper))
    assert not (guardian.ServerLayout(home).data / "postmaster.pid").exists()


def test_leaving_sees_it_stop_unless_others_use_it(home, users):
    other, own = users(home), embedded.EmbeddedPostgres(home)
    own.join()
    server = server_of(home)
    own.leave()
    assert lives(server)
    own.join()
    other.kill()
    other.join()
    own.leave()
    assert not lives(server)


def test_whoever_comes_while_it_stops_gets_a_new_one(home):
    for _ in range(5):
        server = embedded.EmbeddedPostgres(home)
        server.join()
        connect(home).close()
        server._let_go()


def test_a_killed_server_comes_back_with_what_was_committed(home, users):
    users(home)
    with connect(home) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    os.kill(server_of(home), signal.SIGKILL)

    def back():
        with contextlib.suppress(psycopg.OperationalError), connect(home) as connection:
            return connection.execute("SELECT number FROM kept").fetchone() == (7,)

    until(back)


def test_a_killed_guardian_takes_the_server_along_and_users_start_another(home):
    own = embedded.EmbeddedPostgres(home)
    own.join()
    server = server_of(home)
    os.kill(guardian_of(home), signal.SIGKILL)
    until(lambda: not guardian_of(home))
    own.join()
    assert not lives(server)
    connect(home).close()
    own.leave()


def test_everything_killed_at_once_leaves_nothing_running_and_starts_again(home, users):
    user = users(home)
    server, keeper = server_of(home), guardian_of(home)
    for process in (user.pid, keeper, server):
        os.kill(process, signal.SIGKILL)
    until(lambda: not lives(server) and not lives(keeper))
    users(home)


def test_a_pid_file_with_the_number_of_another_process_does_not_keep_it_from_starting(home, users):
    user = users(home)
    pidfile = guardian.ServerLayout(home).data / "postmaster.pid"
    lines = pidfile.read_text().splitlines(keepends=True)
    for process in (user.pid, guardian_of(home), server_of(home)):
        os.kill(process, signal.SIGKILL)
    until(lambda: not lives(int(lines[0])))
    pidfile.write_text("".join([f"{os.getpid()}\n", *lines[1:]]))
    users(home)


def test_a_child_of_a_user_is_a_user_too(home):
    parent, said = actors.started(actors.uses_the_server, home, True)
    assert said.recv() == "joined"
    child = said.recv()
    parent.join()
    server = server_of(home)
    time.sleep(0.3)
    assert lives(server)
    os.kill(child, signal.SIGKILL)
    said.close()
    until(lambda: not lives(server))


def test_a_start_that_was_killed_halfway_is_begun_anew(folder, users):
    home = folder / "torso"
    home.mkdir()
    (home / "init-torn" / "base").mkdir(parents=True)
    (home / "init-torn" / "PG_VERSION").write_text("18")
    killed, _ = users(home, wait=False)
    until(lambda: len(list(home.glob("init-*/PG_VERSION"))) and not (home / "init-torn").exists())
    os.kill(int((home / guardian.GUARDIAN).read_text()), signal.SIGKILL)
    killed.kill()
    users(home)
    assert not list(home.glob("init-*"))


@pytest.mark.parametrize("name", ['it\'s a "folder", with\\all', "long" * 30])
def test_a_folder_may_have_any_name(folder, name, users):
    user = users(folder / name)
    user.kill()
    until(lambda: not guardian_of(folder / name))
    remove_copies(folder / name)


@root_only
def test_folders_that_are_closed_to_others_stay_closed(folder, users):
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    users(closed / "home")
    assert closed.stat().st_mode & 0o777 == 0o700
    assert (closed / "home" / "pg18").is_symlink()
    place = guardian.ServerLayout(closed / "home").data.parent
    assert place.parent == guardian.OPEN_FOLDER
    os.kill(guardian_of(closed / "home"), signal.SIGTERM)
    until(lambda: not guardian_of(closed / "home"))
    shutil.rmtree(place)


@pytest.fixture
def closed_programs(folder, monkeypatch):
    """PostgreSQL's programs lie where its account cannot read them, as below /root."""
    install = embedded.programs().parent
    closed = folder / "wheel"
    if not closed.exists():
        closed.mkdir(mode=0o700)
        # By this name the programs find their libraries.
        package = closed / install.parent.name
        shutil.copytree(install, package / install.name, ignore=shutil.ignore_patterns("include"))
        shutil.copytree(install.parent.with_suffix(".libs"), package.with_suffix(".libs"))
    monkeypatch.setattr(embedded, "programs", lambda: closed / install.parent.name / install.name / "bin")


def program_of(home):
    """The file that the server of `home` runs."""
    return Path(os.readlink(f"/proc/{server_of(home)}/exe"))


def remove_copies(home):
    """Remove copied programs that are not in the folder of the test."""
    copies = guardian.ServerLayout(home).copies
    if copies.is_relative_to(guardian.OPEN_FOLDER) and copies.exists():
        shutil.rmtree(copies)


@root_only
def test_programs_that_the_server_cannot_read_are_copied(home, closed_programs):
    own = embedded.EmbeddedPostgres(home)
    own.join()
    assert program_of(home).is_relative_to(home)
    own.leave()
    own.join()
    assert len(list(home.glob("programs-*/*/pg*/bin/postgres"))) == 1
    own.leave()


@root_only
def test_a_new_folder_can_be_made_with_copied_programs(folder, closed_programs):
    home = folder / "first start"
    own = embedded.EmbeddedPostgres(home)
    own.join()
    assert program_of(home).is_relative_to(home)
    own.leave()


@root_only
def test_copied_programs_work_for_a_folder_of_any_name(folder, closed_programs):
    home = folder / 'a "folder" of $HOME, `it` and \\'
    own = embedded.EmbeddedPostgres(home)
    own.join()
    assert program_of(home).is_relative_to(guardian.OPEN_FOLDER)
    connect(home).close()
    own.leave()
    remove_copies(home)


def test_what_keeps_it_from_starting_is_said_in_a_sentence(folder):
    home = folder / "broken"
    (home / "pg18").mkdir(parents=True)
    with pytest.raises(embedded.ServerUnavailableError, match=r"did not start: .*postgres\.log"):
        embedded.EmbeddedPostgres(home).join()


def test_threads_of_a_process_join_once(home):
    found = []
    threads = [threading.Thread(target=lambda: found.append(embedded.ensure(home))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(server) for server in found}) == 1
    found[0].leave()
