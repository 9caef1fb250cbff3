"""The cast and the stage: real PostgreSQL, async tests on the test's own transaction."""

import inspect
import os
import tempfile

# Tests never touch the data folder of a running OneClaw. Read by oneclaw.settings on import.
os.environ.setdefault("ONECLAW_HOME", os.path.join(tempfile.gettempdir(), f"oneclaw-tests-{os.getuid()}"))

import pytest
from asgiref.sync import async_to_sync


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests under asgiref, so that the ORM stays on this thread, inside the test's transaction."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    async_to_sync(pyfuncitem.obj)(**arguments)
    return True


@pytest.fixture(autouse=True)
def own_stage(settings, tmp_path) -> None:
    """Each test has its own folder of files, and passwords that hash in no time."""
    settings.WORKSPACES = tmp_path / "workspaces"
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.STATIC_ROOT.mkdir()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada(db):
    """A person with an account."""
    from oneclaw.models import User

    return User.objects.create_user("ada@example.org", "correct horse battery", timezone="Europe/Zurich")


@pytest.fixture
def stranger(db):
    """Another person with an account, who must see nothing of Ada's."""
    from oneclaw.models import User

    return User.objects.create_user("stranger@example.org", "correct horse battery")


@pytest.fixture
def admin_person(db):
    from oneclaw.models import User

    return User.objects.create_superuser("root@example.org", "correct horse battery")


@pytest.fixture
def scripted(settings):
    """A model that follows the test's script, over real HTTP; oneclaw.llm talks to it."""
    from oneclaw.scripted import ScriptedModel

    with ScriptedModel() as model:
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "test", model.url
        yield model


@pytest.fixture
def live(transactional_db):
    """The product's ASGI application on a free port, for a browser: see tests/browser.py."""
    from tests.browser import LiveServer

    with LiveServer() as server:
        yield server
