"""What the environment of whoever runs the tests says does not reach them."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.isolation import is_read_by_the_product
from tests.oneclaw.config.test_settings import READ
from tests.stage import ROOT

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
# Each of them would stop the settings from being read, or a database or model from being reached.
HOSTILE = dict.fromkeys([*READ, *PROXIES, "PGHOST", "PGPORT", "CELERY_BROKER_URL", "ANTHROPIC_AUTH_TOKEN"], "hostile")
# Set by the tests themselves.
OWN = {"ONECLAW_HOME", "DJANGO_SETTINGS_MODULE"}


def test_no_variable_of_the_product_comes_from_outside():
    assert all(map(is_read_by_the_product, HOSTILE))
    assert set(filter(is_read_by_the_product, os.environ)) == OWN
    assert Path(os.environ["ONECLAW_HOME"]) == settings.HOME
    assert not settings.ADDRESS_FILE.exists()
    assert not settings.DEMO_ADDRESS_FILE.exists()


def test_tests_see_neither_a_hostile_environment_nor_the_product_beside_them(tmp_path):
    """Start another run while this one holds its data folder; it reads its settings and looks at what they are."""
    used = tmp_path / "used"
    used.mkdir()
    for address in (settings.ADDRESS_FILE, settings.DEMO_ADDRESS_FILE):
        (used / address.name).write_text("http://127.0.0.1:9\n")
    before = sorted(used.iterdir())
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = outside | HOSTILE | {"ONECLAW_HOME": str(used), "DJANGO_SETTINGS_MODULE": "hostile.settings"}
    test = f"{Path(__file__).relative_to(ROOT)}::{test_no_variable_of_the_product_comes_from_outside.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sorted(used.iterdir()) == before
