"""docker-compose.yml says what the product reads and runs. No engine is needed to know that."""

import os
import re
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
import redis
import yaml
from django.core.management import get_commands

from oneclaw.config import environment
from oneclaw.management.commands.serve import ROLES
from tests.stage import ROOT, fill, free_port, house, start_postgres, start_redis, until

COMPOSE = (ROOT / "docker-compose.yml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
OWN = {name: service for name, service in SERVICES.items() if "build" in service}
SOURCES = [ROOT / "oneclaw" / "settings.py", *(ROOT / "oneclaw" / "config").glob("*.py")]
READ = {name for each in SOURCES for name in re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', each.read_text())}
DOCUMENTED = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
# What the container itself decides: its folders, and where it listens inside.
OF_THE_CONTAINER = {"ONECLAW_HOME", "ONECLAW_STATIC_ROOT", "HOST", "PORT"}
SAMPLES = {
    "POSTGRES_PASSWORD": "secret",
    "REDIS_PASSWORD": "other-secret",
    "ONECLAW_ORIGINS": "https://chat.example.org",
}


class MissingError(Exception):
    """A variable that compose asks for is not set; the message is compose's own."""


def interpolated(text: str, variables: dict[str, str]) -> str:
    """Replace variables as the specification of compose says: `$X`, `${X}`, and with :- - :? ? :+ + and a word, which
    may have variables itself."""
    found, rest = "", text
    while "$" in rest:
        before, _, rest = rest.partition("$")
        found += before
        if rest.startswith("$"):
            found, rest = found + "$", rest[1:]
        elif rest.startswith("{"):
            depth = end = 0
            for letter in rest:
                end += 1
                depth += {"{": 1, "}": -1}.get(letter, 0)
                if depth == 0:
                    break
            found, rest = found + expanded(rest[1 : end - 1], variables), rest[end:]
        else:
            name = re.match(r"\w+", rest)
            assert name, text
            found, rest = found + variables.get(name[0], ""), rest[name.end() :]
    return found + rest


def expanded(expression: str, variables: dict[str, str]) -> str:
    matched = re.fullmatch(r"(\w+)(?:(:?[-?+])(.*))?", expression, re.DOTALL)
    assert matched, expression
    name, how, word = matched[1], matched[2] or "", matched[3] or ""
    value = variables.get(name)
    is_there = bool(value) if how.startswith(":") else value is not None
    if how.endswith("+"):
        return interpolated(word, variables) if is_there else ""
    if is_there or not how:
        return value or ""
    if how.endswith("?"):
        raise MissingError(interpolated(word, variables))
    return interpolated(word, variables)


def environment_of(service: dict[str, Any], file: dict[str, str]) -> dict[str, str]:
    """What a container is started with when the file .env has `file`, which compose also reads for its variables."""
    read = dict(file) if ".env" in service.get("env_file", []) else {}
    return read | {name: interpolated(str(value), file) for name, value in service.get("environment", {}).items()}


def test_variables_are_replaced_as_compose_does_it():
    assert interpolated("a$$b ${X} $X ${Y:-c ${X}d} ${Z-e} ${X:+f} ${Y:+g}", {"X": "1", "Z": ""}) == "a$b 1 1 c 1d  f "
    with pytest.raises(MissingError, match="Set Y"):
        interpolated("${X-${Y:?Set Y}}", {"Y": ""})


def test_it_is_the_deployment_that_was_designed():
    assert set(OWN) == {"migrate", "web", "worker", "beat"}
    assert set(SERVICES) == {*OWN, "postgres", "redis"}
    assert SERVICES["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


@pytest.mark.parametrize("name", OWN)
def test_every_setting_of_the_file_reaches_the_program(name):
    """Also those whose value the services below would have, and each secret as a file."""
    for setting in set(DOCUMENTED) - OF_THE_CONTAINER:
        assert environment_of(OWN[name], SAMPLES | {setting: "as-it-is"})[setting] == "as-it-is", setting
    for secret in environment.SECRETS:
        found = environment_of(OWN[name], SAMPLES | {secret: "", f"{secret}_FILE": "/run/secrets/file"})
        assert (found.get(secret), found[f"{secret}_FILE"]) == ("", "/run/secrets/file")


@pytest.mark.parametrize("name", OWN)
def test_every_variable_is_one_that_the_settings_read(name):
    assert set(OWN[name]["environment"]) <= set(READ)
    everything = {f"{setting}": "1" for setting in DOCUMENTED}
    found = environment_of(OWN[name], SAMPLES | everything)
    assert {each: found[each] for each in OF_THE_CONTAINER} == {
        "ONECLAW_HOME": "/data",
        "ONECLAW_STATIC_ROOT": "/app/collected",
        "HOST": "0.0.0.0",
        "PORT": "8000",
    }
    # An option of earlier releases, for which ONECLAW_SIGN_UP is the word now.
    assert "ONECLAW_SIGNUP_OPEN" not in COMPOSE


@pytest.mark.parametrize("name", OWN)
def test_every_command_exists(name):
    command, *arguments = OWN[name]["command"]
    assert command in get_commands()
    if command == "serve":
        assert arguments[0] in ROLES


def test_the_port_of_the_file_is_that_of_this_machine():
    (port,) = SERVICES["web"]["ports"]
    assert interpolated(port, {}) == "127.0.0.1:8000:8000"
    assert interpolated(port, {"PORT": "9000"}) == "127.0.0.1:9000:8000"


def test_what_is_missing_is_said_in_a_sentence():
    asked = dict(re.findall(r"\$\{(\w+):\?([^}]*)\}", COMPOSE))
    assert set(asked) == set(SAMPLES)
    documented = (ROOT / "docs" / "deploy.md").read_text()
    for name, sentence in asked.items():
        assert sentence.startswith(f"Set {name} to ")
        assert sentence.endswith(".")
        assert f"\n{name}=" in documented
        with pytest.raises(MissingError, match=f"^Set {name} to "):
            interpolated(COMPOSE, {other: value for other, value in SAMPLES.items() if other != name})


def test_services_reach_each_other_by_their_names():
    found, postgres = environment_of(OWN["web"], SAMPLES), environment_of(SERVICES["postgres"], SAMPLES)
    person, database = postgres["POSTGRES_USER"], postgres["POSTGRES_DB"]
    password = postgres["POSTGRES_PASSWORD"]
    assert found["DATABASE_URL"] == f"postgresql://{person}:{password}@postgres/{database}"
    broker = environment_of(SERVICES["redis"], SAMPLES)
    assert found["REDIS_URL"] == f"redis://:{broker['REDISCLI_AUTH']}@redis:6379/0"


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
    word = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
    found = environment_of(OWN["web"], SAMPLES | {"ONECLAW_SECRET_KEY": word, "ANTHROPIC_API_KEY": "key"})
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    checked = subprocess.run(
        command, cwd=ROOT, env=os.environ | found | {"ONECLAW_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.acceptance
@pytest.mark.soak
@pytest.mark.timeout(400)
def test_its_commands_start_a_team_with_two_web_processes():
    """The commands of the services run here, in their order, with their environment, on other ports and folders."""
    with house() as found:
        database, broker = free_port(), free_port()
        found.environment["DATABASE_URL"] = f"postgresql://oneclaw@127.0.0.1:{database}/oneclaw"
        start_postgres(found, database)
        start_redis(found, broker)
        key = found.folder / "secret_key"
        key.write_text("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP\n")
        file = SAMPLES | {
            "DATABASE_URL": found.environment["DATABASE_URL"],
            "REDIS_URL": f"redis://127.0.0.1:{broker}/0",
            "ONECLAW_SECRET_KEY_FILE": str(key),
            "ANTHROPIC_API_KEY": "key",
            "ONECLAW_AGENT_NAME": "Quince",
            "ONECLAW_ALLOWED_HOSTS": "127.0.0.1",
        }
        here = {
            "ONECLAW_HOME": str(found.home),
            "ONECLAW_STATIC_ROOT": str(found.folder / "static"),
            "HOST": "127.0.0.1",
        }
        found.environment |= environment_of(OWN["web"], file) | here
        # The tables are a copy of those that the first test of a run has made; the command finds them.
        fill(found, found.environment["DATABASE_URL"])
        found.manage(*OWN["migrate"]["command"])
        # As the Dockerfile does it.
        found.manage("collectstatic", "--no-input", "--verbosity", "0")
        for name in ("web", "web", "worker", "beat"):
            port = free_port()
            found.urls += [f"http://127.0.0.1:{port}"] if name == "web" else []
            command = [sys.executable, "manage.py", *OWN[name]["command"]]
            found.start(f"{name} {port}", command, PORT=str(port))
        found.wait_until_ready()
        asked = "from django.conf import settings; print(settings.DEFAULT_AGENT_NAME)"
        assert found.manage("shell", "-v0", "-c", asked).strip() == "Quince"
        assert not (found.home / "secret_key").exists()
        for address in found.urls:
            # As the proxy asks that speaks https.
            page = urllib.request.Request(f"{address}/accounts/login/", headers={"X-Forwarded-Proto": "https"})
            with urllib.request.urlopen(page, timeout=30) as response:
                assert "OneClaw" in response.read().decode()
