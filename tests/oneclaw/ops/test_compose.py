"""docker-compose.yml and the Dockerfile say what the product reads and runs. No engine is needed to know that."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis
import yaml
from django.core.management import get_commands

from oneclaw.management.commands.serve import ROLES
from tests.isolation import is_read_by_the_product
from tests.stage import ROOT, free_port, until

COMPOSE = (ROOT / "docker-compose.yml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
OWN = {name: service for name, service in SERVICES.items() if "build" in service}
SOURCES = [ROOT / "oneclaw" / "settings.py", *(ROOT / "oneclaw" / "config").glob("*.py")]
READ = {name for each in SOURCES for name in re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', each.read_text())}
REQUIRED = {"DATABASE_URL", "REDIS_URL", "ONECLAW_ORIGINS", "ONECLAW_SECRET_KEY", "ANTHROPIC_API_KEY"}
SAMPLES = {
    "POSTGRES_PASSWORD": "secret",
    "REDIS_PASSWORD": "other-secret",
    "ONECLAW_ORIGINS": "https://chat.example.org",
    "ONECLAW_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP",
    "ANTHROPIC_API_KEY": "key",
}


def interpolated(value):
    """As compose does it: the sample, or the default after `:-`."""
    return re.sub(r"\$\{(\w+)(?::[?-]([^}]*))?\}", lambda m: SAMPLES.get(m[1]) or m[2] or "", str(value))


def test_it_is_the_deployment_that_was_designed():
    assert set(OWN) == {"migrate", "web", "worker", "beat"}
    assert set(SERVICES) == {*OWN, "postgres", "redis"}
    assert SERVICES["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


@pytest.mark.parametrize("name", OWN)
def test_every_variable_is_one_that_the_settings_read(name):
    given = set(OWN[name]["environment"])
    assert given <= READ
    assert given >= REQUIRED


@pytest.mark.parametrize("name", OWN)
def test_every_command_exists(name):
    command, *arguments = OWN[name]["command"]
    assert command in get_commands()
    if command == "serve":
        assert arguments[0] in ROLES


def test_what_is_missing_is_said_in_a_sentence():
    asked = dict(re.findall(r"\$\{(\w+):\?([^}]*)\}", COMPOSE))
    assert set(asked) == set(SAMPLES)
    for name, sentence in asked.items():
        assert sentence.startswith(f"Set {name} to ") or name == "ANTHROPIC_API_KEY"
        assert sentence.endswith(".")
    documented = (ROOT / "docs" / "deploy.md").read_text()
    assert all(f"\n{name}=" in documented for name in asked)


def test_services_reach_each_other_by_their_names():
    environment = {name: interpolated(value) for name, value in OWN["web"]["environment"].items()}
    postgres = {name: interpolated(value) for name, value in SERVICES["postgres"]["environment"].items()}
    person, database = postgres["POSTGRES_USER"], postgres["POSTGRES_DB"]
    password = postgres["POSTGRES_PASSWORD"]
    assert environment["DATABASE_URL"] == f"postgresql://{person}:{password}@postgres/{database}"
    broker = {name: interpolated(value) for name, value in SERVICES["redis"]["environment"].items()}
    assert environment["REDIS_URL"] == f"redis://:{broker['REDISCLI_AUTH']}@redis:6379/0"


def test_no_service_has_a_privilege_that_it_does_not_need():
    for name, service in SERVICES.items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service.get("read_only", False) is (name != "postgres"), name
    assert {name for name, service in SERVICES.items() if "cap_add" in service} == {"postgres"}


def answers(client):
    try:
        return client.ping()
    except redis.ConnectionError:
        return False


def test_redis_asks_for_its_password(tmp_path):
    """The command of the service, run here: without the password nothing is answered."""
    port, word = free_port(), SAMPLES["REDIS_PASSWORD"]
    shell, flag, script = SERVICES["redis"]["command"]
    script = f"{script.replace('$$', '$')} --port {port} --dir {tmp_path}"
    environment = os.environ | {"REDISCLI_AUTH": word}
    server = subprocess.Popen([shell, flag, script], env=environment, stdout=subprocess.DEVNULL)
    try:
        until(lambda: answers(redis.Redis(port=port, password=word)))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
    finally:
        server.terminate()
        server.wait()


def test_django_finds_nothing_to_complain_about_in_that_environment(tmp_path):
    given = {name: interpolated(value) for name, value in OWN["web"]["environment"].items()}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    checked = subprocess.run(
        command, cwd=ROOT, env=os.environ | given | {"ONECLAW_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_the_image_is_built_from_what_is_there_and_runs_without_root():
    lines = [line.split(maxsplit=1) for line in (ROOT / "Dockerfile").read_text().splitlines() if line.strip()]
    variables = {pair.split("=")[0] for word, rest in lines if word == "ENV" for pair in rest.split()}
    assert {name for name in variables if is_read_by_the_product(name)} <= READ
    assert [rest for word, rest in lines if word == "USER"] == ["oneclaw"]
    assert ["ENTRYPOINT", '["python", "manage.py"]'] in lines
    for word, rest in lines:
        if word == "COPY" and rest != ". .":
            assert (ROOT / rest.split()[0]).is_file()
    ignored = Path(ROOT / ".dockerignore").read_text().split()
    assert not {"oneclaw", "chat", "memory", "templates", "static", "manage.py"} & set(ignored)
