"""The cast and the stage: real PostgreSQL, async tests on the test's own transaction."""

import asyncio
import contextlib
import datetime as dt
import functools
import importlib
import inspect
import os
import re
from collections.abc import Iterator
from unittest import mock

import hypothesis
import pytest
from asgiref.sync import async_to_sync
from django.utils import translation
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import leftovers

# A busy machine makes examples slowly; the limit of a test is enough.
hypothesis.settings.register_profile("tests", suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None)
hypothesis.settings.load_profile("tests")


def pytest_configure() -> None:
    leftovers.follow()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests under asgiref, so that the ORM stays on this thread, inside the test's transaction.

    Those of the browser share a loop, because the browser's driver lives in one.
    """
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if pyfuncitem.get_closest_marker("browser"):
        browser_loop().run(pyfuncitem.obj(**arguments))
    else:
        async_to_sync(leftovers.with_turns_ended)(pyfuncitem.obj(**arguments))
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    leftovers.listen()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Nothing of the test goes on when its database is emptied; a server waits for its own calls when it ends."""
    try:
        if "live" not in item.fixturenames:
            leftovers.await_threads()
    finally:
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each of several processes begins to load the files at another one: in a fresh checkout it compiles its share of
    them, and finds the rest compiled by the others."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1:
        return
    root, own = session.config.rootpath, int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    asked = [root / argument.partition("::")[0] for argument in session.config.args]
    files = sorted(file for path in asked for file in (path.rglob("test_*.py") if path.is_dir() else [path]))
    first = len(files) * own // processes
    for file in [*files[first:], *files[:first]]:
        # What cannot be loaded pytest says itself, when it comes to it.
        with contextlib.suppress(ImportError, SyntaxError):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


class BySetUp(LoadScopeScheduling):
    """Leave each set-up of the fault cases to one process, which starts it once: what is broken in one does nothing to
    the other. Everything else goes by files."""

    def _split_scope(self, nodeid: str) -> str:
        set_up = re.search(r"^tests/faults/.*\[(embedded|team)", nodeid)
        return set_up[1] if set_up else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return BySetUp(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that no process waits at the end for the one that has it."""

    def place(item: pytest.Item) -> int:
        if (
            item.get_closest_marker("acceptance")
            or "/oneclaw/ops/" in item.nodeid
            or "/oneclaw/postgres/" in item.nodeid
        ):
            return 0
        return 1 if item.get_closest_marker("browser") else 2

    items.sort(key=place)


@functools.cache
def browser_loop() -> asyncio.Runner:
    return asyncio.Runner()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix, django_db_blocker):
    """Tables of a few rows are emptied by DELETE a hundred times as fast as by TRUNCATE; and a thread that has not yet
    let go of its connection does not keep the test's database from being dropped. No commit waits for the disk, and
    the tables are a copy of those that were migrated once.

    What migrating writes about the models stays, so nobody need write it again after each test.
    """
    from django.conf import settings
    from django.core.management.commands import flush
    from django.db import connection

    from tests import template

    def sql_flush(operations, style, tables, *, reset_sequences=False, allow_cascade=False):
        # The cache is a table without a model.
        cache = settings.CACHES["default"]["LOCATION"]
        emptied = sorted({*tables, cache} - {"django_content_type", "auth_permission"})
        # Neither triggers nor foreign keys ask anything meanwhile; and it is one round trip.
        statements = ["SET LOCAL session_replication_role = replica"]
        statements += [f"DELETE FROM {operations.quote_name(table)}" for table in emptied]
        return ["; ".join(statements)] if tables else []

    def _destroy_test_db(creation, name, verbosity):
        with creation._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {creation.connection.ops.quote_name(name)} WITH (FORCE)")

    flush.emit_post_migrate_signal = lambda *arguments: None
    type(connection.ops).sql_flush = sql_flush
    type(connection.creation)._destroy_test_db = _destroy_test_db
    options = connection.settings_dict["OPTIONS"]
    options["options"] = f"{options.get('options', '')} -c synchronous_commit=off"
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = template.migrated()


@pytest.fixture(autouse=True)
def own_stage(settings, tmp_path, monkeypatch) -> None:
    """Each test has its own folder of files, and passwords that hash in no time."""
    settings.WORKSPACES = tmp_path / "workspaces"
    settings.IMPORTS = tmp_path / "imports"
    settings.ATTACHMENTS = tmp_path / "attachments"
    settings.LIBRARY = tmp_path / "library"
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.STATIC_ROOT.mkdir()
    # Nobody has changed a setting, so that no statement reads them at a random moment.
    from oneclaw import runtime_settings
    from oneclaw.llm.upstreams import access, failing, servers
    from oneclaw.spend import budgets

    nothing = {runtime_settings.stored: {}, access.known_rules: access.Rules(), servers.of_rows: ()}
    for known, value in nothing.items():
        monkeypatch.setattr(known, "last", value)
        monkeypatch.setattr(known, "_until", float("inf"))
    budgets.exists.forget()
    # A test says itself what is known about models; tests/oneclaw/llm/test_first_facts.py asks as the start does.
    monkeypatch.setattr("oneclaw.llm.descriptions.begin", lambda: None)
    # What failed in another test has not failed in this one.
    monkeypatch.setattr(failing, "_failing", {})
    # A test does in a second what a person does in minutes.
    settings.MESSAGES_PER_MINUTE = settings.UPLOADS_PER_MINUTE = 0
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # A request of the test before may have left its language here.
    translation.activate("en")


@pytest.fixture
def ada(db):
    """A person with an account."""
    from oneclaw.models import User

    return User.objects.create_user("ada@example.org", "correct horse battery", timezone="Europe/Zurich")


@pytest.fixture
def session_tools(ada):
    """Ada has the tools for other conversations turned on."""
    from tests.sub_sessions import turn_on_session_tools

    turn_on_session_tools(ada)


@pytest.fixture
def stranger(db):
    """Another person with an account, who must see nothing of Ada's."""
    from oneclaw.models import User

    return User.objects.create_user("stranger@example.org", "correct horse battery")


@pytest.fixture
def admin_person(db):
    from oneclaw.models import User

    return User.objects.create_superuser("root@example.org", "correct horse battery")


@pytest.fixture(params=[-5, 5], ids=["five hours behind", "five hours ahead"])
def wrong_clock(request):
    """`with wrong_clock():` what is done here is done by a process whose own clock is wrong by hours."""
    from django.utils import timezone

    right = timezone.now

    def wrong() -> dt.datetime:
        return right() + dt.timedelta(hours=request.param)

    return lambda: mock.patch("django.utils.timezone.now", wrong)


@pytest.fixture
def scripted(settings, db):
    """A model that follows the test's script, over real HTTP; oneclaw.llm talks to it."""
    from oneclaw import llm
    from oneclaw.llm import facts
    from tests.scripted import ScriptedModel

    # The rows of another test's server are gone.
    facts.forget_cache()

    # Once, and not in the seconds that the first test waits for an answer.
    llm.load()
    with ScriptedModel() as model:
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "test", model.url
        yield model


@pytest.fixture
def official(scripted, settings, monkeypatch):
    """`scripted` as the provider's own server, and its fast model one that can be held to a schema."""
    monkeypatch.setattr("oneclaw.llm.server.OFFICIAL_ADDRESS", scripted.url)
    settings.ANTHROPIC_BASE_URL, settings.FAST_MODEL = "", "claude-haiku-5-5"
    return scripted


@pytest.fixture
def live(transactional_db):
    """The product's ASGI application on a free port, for a browser: see tests/browser.py."""
    from tests.browser import LiveServer

    with LiveServer() as server:
        yield server


@pytest.fixture
def adas(ada):
    """A program with a key of Ada's."""
    from tests.programs import Program

    return Program(ada)


@pytest.fixture
def strangers(stranger):
    """A program with a key of the stranger's."""
    from tests.programs import Program

    return Program(stranger)


@pytest.fixture
def hooked():
    """Register hooks as one extension for each call, until the end of the test."""
    from tests.hooks import registered

    with registered() as register:
        yield register


@pytest.fixture
def held():
    """An event that late handlers of hooks wait for; the test ends only after their threads."""
    from tests.hooks import held_until_the_end

    with held_until_the_end() as event:
        yield event
