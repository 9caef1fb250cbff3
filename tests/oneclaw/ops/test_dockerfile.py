"""The Dockerfile keeps rules of the linter hadolint, written down here, because no engine and no linter is downloaded.

Each rule has the number that hadolint gives it. The steps themselves are not run here.
"""

import ast
import json
import re
from pathlib import Path

import pytest
import yaml

from tests.isolation import is_read_by_the_product
from tests.oneclaw.ops.test_compose import READ
from tests.stage import ROOT

Instruction = tuple[str, str]
KNOWN = {
    *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "SHELL"),
    *("STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, each with its continued lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0].upper(), line.split(maxsplit=1)[1]) for line in joined.splitlines()]


def faults(text: str) -> list[str]:
    """The rules that a Dockerfile breaks."""
    found: list[str] = []
    all_of = instructions(text)
    words = [word for word, _ in all_of]
    values = {word: [rest for other, rest in all_of if other == word] for word in KNOWN}
    found += [f"DL1000: {word} is no instruction" for word in words if word not in KNOWN]
    for image in values["FROM"]:
        tag = re.search(r":([\w.-]+)$", image.split()[0].partition("@")[0])
        if not tag and "@sha256:" not in image:
            found.append("DL3006: the image has no tag")
        if tag and tag[1] == "latest":
            found.append("DL3007: the tag is latest")
    if not values["USER"] or not re.fullmatch(r"[1-9]\d*", values["USER"][-1]):
        found.append("DL3002: the last USER is root, or not a number")
    if "USER" in words and "RUN" in words[words.index("USER") :]:
        found.append("a step runs after USER")
    found += ["DL3000: WORKDIR is not absolute" for each in values["WORKDIR"] if not each.startswith("/")]
    found += ["DL3020: use COPY instead of ADD" for _ in values["ADD"]]
    for word in ("CMD", "ENTRYPOINT"):
        if len(values[word]) != 1:
            found.append(f"DL4003/DL4004: there is not one {word}")
        found += [f"DL3025: {word} is not JSON" for each in values[word] if not is_json(each)]
    if len(values["HEALTHCHECK"]) != 1:
        found.append("DL3012/DL3057: there is not one HEALTHCHECK")
    found += [
        "DL3025: HEALTHCHECK is not JSON" for each in values["HEALTHCHECK"] if not is_json(each.split("CMD", 1)[1])
    ]
    pip = [each for each in values["RUN"] if "pip install" in each]
    found += ["DL3013: pip installs without pins" for each in pip if "--require-hashes" not in each]
    if pip and not any("PIP_NO_CACHE_DIR=1" in each for each in values["ENV"]):
        found.append("DL3042: pip keeps its cache")
    if any(re.search(r"\bsudo\b", each) for each in values["RUN"]):
        found.append("DL3004: sudo")
    if any("apt-get install" in each and "rm -rf /var/lib/apt/lists" not in each for each in values["RUN"]):
        found.append("DL3009: lists of apt are kept")
    before_packages = all_of[: all_of.index(("RUN", pip[0]))] if pip else []
    if any(word == "COPY" and rest.split()[0] == "." for word, rest in before_packages):
        found.append("the whole checkout is copied before the packages are installed")
    labels = " ".join(values["LABEL"])
    for label in ("title", "description", "licenses", "version", "base.name"):
        if f"org.opencontainers.image.{label}=" not in labels:
            found.append(f"DL3048: no label {label}")
    return found


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def test_it_keeps_the_rules():
    assert faults(DOCKERFILE) == []


@pytest.mark.parametrize(
    ("there", "instead", "rule"),
    [
        ("FROM python:3.11-slim-bookworm", "FROM python", "DL3006"),
        ("FROM python:3.11-slim-bookworm", "FROM python:latest", "DL3007"),
        ("USER 10001", "USER root", "DL3002"),
        ("USER 10001", "", "DL3002"),
        ("WORKDIR /app", "WORKDIR app", "DL3000"),
        ("COPY . .", "ADD . .", "DL3020"),
        ('CMD ["serve"]', "CMD serve", "DL3025"),
        ('ENTRYPOINT ["python", "manage.py"]', "", "DL4003"),
        ("HEALTHCHECK", "MAINTAINER", "DL3057"),
        ("pip install --require-hashes", "pip install", "DL3013"),
        (" PIP_NO_CACHE_DIR=1", "", "DL3042"),
        ("COPY requirements/run.txt requirements/", "COPY . .", "whole checkout"),
        ("image.licenses", "image.other", "DL3048"),
    ],
)
def test_what_breaks_a_rule_is_found(there, instead, rule):
    assert there in DOCKERFILE
    assert any(rule in fault for fault in faults(DOCKERFILE.replace(there, instead))), rule


def test_it_is_built_from_what_is_there_and_runs_without_root():
    lines = instructions(DOCKERFILE)
    variables = {pair.split("=")[0] for word, rest in lines if word == "ENV" for pair in rest.split()}
    assert {name for name in variables if is_read_by_the_product(name)} <= READ
    assert ("ENTRYPOINT", '["python", "manage.py"]') in lines
    for word, rest in lines:
        if word == "COPY" and rest != ". .":
            assert (ROOT / rest.split()[0]).is_file()
    # The account is made with that number, and owns the only volume.
    assert any("useradd" in rest and "--uid 10001 --home-dir /data" in rest for word, rest in lines if word == "RUN")
    assert ("VOLUME", "/data") in lines


def test_its_health_check_is_a_program_that_asks_the_web_process():
    (check,) = [rest for word, rest in instructions(DOCKERFILE) if word == "HEALTHCHECK"]
    python, option, program = json.loads(check.split("CMD", 1)[1])
    assert (python, option) == ("python", "-c")
    ast.parse(program)
    assert 'os.environ["PORT"]' in program
    assert "/healthz" in program


def test_nothing_private_gets_into_the_image():
    ignored = Path(ROOT / ".dockerignore").read_text().split()
    assert not {"oneclaw", "chat", "memory", "templates", "static", "locale", "requirements", "manage.py"} & set(
        ignored
    )
    # Passwords, the data folder, and the history.
    assert {".env*", "secrets", "data", ".git"} <= set(ignored)


def test_its_root_can_be_read_only():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert compose["web"]["read_only"] is True
    assert compose["web"]["tmpfs"] == ["/tmp"]
    # Modules are compiled while it is built, and later nothing is written next to them.
    assert any("compileall" in rest for word, rest in instructions(DOCKERFILE) if word == "RUN")
