"""The stage of the benchmarks: an upstream that stamps what it sends, web processes, people who are signed in.

Everything runs on loopback, in a data folder of its own, and ends with the `with` block.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw.models import User

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Stage:
    """A running deployment: its processes in the order of the roles, and the cookies of people who are signed in."""

    home: str
    urls: list[str]
    upstream: str
    processes: list[subprocess.Popen[bytes]]
    cookies: list[str]

    @property
    def url(self) -> str:
        return self.urls[0]


@contextlib.contextmanager
def stage(
    *, people: int, pace: float = 0.02, deltas: int = 500, roles: Sequence[str] = ("web",), **settings: str
) -> Iterator[Stage]:
    """Yield a deployment on a stamping upstream; `pace` seconds between deltas, `deltas` an answer.

    `roles` are those of `manage.py serve`, each in a process of its own; "" is all of them under its supervisor.
    """
    with contextlib.ExitStack() as stack:
        upstream_port = free_port()
        upstream = f"http://127.0.0.1:{upstream_port}"
        started(stack, "benchmarks/stamping_upstream.py", str(upstream_port), str(pace), str(deltas), env=os.environ)
        environment = prepared(stack, ANTHROPIC_BASE_URL=upstream, **settings)
        running = Stage(environment["ONECLAW_HOME"], [], upstream, [], [sign_in(number) for number in range(people)])
        for role in roles:
            port = free_port()
            serve = ["manage.py", "serve", role] if role else ["manage.py", "serve"]
            running.processes.append(started(stack, *serve, env=environment | {"PORT": str(port)}))
            if role in ("", "web"):
                running.urls.append(f"http://127.0.0.1:{port}")
        for url in running.urls:
            wait_for(f"{url}/accounts/login/")
        yield running


def prepared(stack: contextlib.ExitStack, **settings: str) -> dict[str, str]:
    """Django in this process on a database and a data folder of their own, migrated, with its static files collected;
    the environment for processes beside this one."""
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="oneclaw-bench-", ignore_cleanup_errors=True))
    os.chmod(home, 0o755)
    ours = {"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "PYTHONPATH": str(ROOT), "ONECLAW_HOME": home}
    os.environ.update(ours | {"ANTHROPIC_API_KEY": "bench", "ONECLAW_DEBUG": "no"} | settings)
    os.environ.pop("DATABASE_URL", None)
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.core.management import call_command

    from oneclaw.ops import static_files

    call_command("migrate", verbosity=0)
    static_files.collect()
    return dict(os.environ)


def sign_in(number: int) -> str:
    """A new person's session cookie."""
    from oneclaw.models import User

    return cookie_of(User.objects.create_user(f"person{number}@example.org"))


def cookie_of(user: "User") -> str:
    """A cookie with which this person is signed in."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "allauth.account.auth_backends.AuthenticationBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    return f"sessionid={store.session_key}"


def started(
    stack: contextlib.ExitStack, *command: str, env: Mapping[str, str], root: Path = ROOT
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, *command], cwd=root, env=env)

    def end() -> None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(end)
    return process


def wait_for(url: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def wait_until_ready(url: str, seconds: float = 120) -> None:
    """Wait until the worker has answered, too."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/readyz", timeout=5):
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} is not ready after {seconds:g} seconds.")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process so far, to the nanosecond: /proc counts in steps of 10 ms."""
    # As clock_getcpuclockid(3) computes it, which Python does not offer. Linux only.
    return time.clock_gettime((~pid << 3) | 2)


def memory_kb(pid: int) -> int:
    """Proportional set size of a process in kB."""
    return int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M).group(1))


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0–1) of the values lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def machine() -> str:
    import platform

    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
