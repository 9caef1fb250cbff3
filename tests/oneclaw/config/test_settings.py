"""Settings: every one is documented, and a wrong value is told in a sentence."""

import os
import re
import subprocess
import sys

import pytest
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

import oneclaw.config.limits
import oneclaw.settings
from oneclaw.config import environment
from tests.stage import ROOT

READ = re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', (ROOT / "oneclaw/settings.py").read_text())


def test_the_documentation_names_exactly_the_settings_that_are_read():
    documented = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(READ)


def test_the_settings_of_oneclaw_itself_are_few():
    """Count the names that no library reads. What belongs together is one value (`settings.SEARCH`)."""
    read_by_others = ("ACCOUNT_", "SOCIALACCOUNT_", "MFA_", "IDP_", "CELERY_", "CONTENT_SECURITY_POLICY", "ASGI_")
    own = {name for name in dir(oneclaw.settings) if name.isupper() and not name.startswith(read_by_others)}
    assert 50 < len(own - set(dir(global_settings)) - set(dir(oneclaw.config.limits))) <= 110


BAD_PRICE = "X says “{}”; write it like claude-sonnet-5-5=2/10, =2/10/0.1/2.5 or claude-haiku-5-5>100000=0.5/2.5."
BAD_ADDRESS = "X has brackets or a port that no address can have."


@pytest.mark.parametrize(
    ("read", "value", "sentence"),
    [
        (lambda: environment.choice("X", ["on", "off"], "on"), "maybe", "X is “maybe”; it must be one of on, off."),
        (lambda: environment.flag("X", False), "perhaps", "X is “perhaps”; it must be yes or no."),
        (lambda: environment.number("X", 1, 0, 5), "many", "X is “many”; it must be a number."),
        (lambda: environment.number("X", 1, 0, 5), "6", "X is 6; it must lie between 0 and 5."),
        (lambda: environment.number("X", 1, 0, 5), "nan", "X is nan; it must lie between 0 and 5."),
        (lambda: environment.whole("X", 1, 0, 5), "1.5", "X is 1.5; it must be a whole number."),
        (lambda: environment.several("X", ["pdf", "text"]), "pdf exe", "X has “exe”; it takes pdf, text, or none."),
        (
            lambda: environment.origins("X"),
            "https://a.example, b",
            "X has “b”; write it like https://chat.example.org.",
        ),
        (lambda: environment.origins("X"), "http://[", "X has “http://[”; write it like https://chat.example.org."),
        (
            lambda: environment.networks("X"),
            "127.0.0.1, proxy",
            "X has “proxy”; write addresses like 127.0.0.1 or 172.16.0.0/12.",
        ),
        (lambda: environment.key("X"), "kéy", "X holds a character that no key has: copy the key once more."),
        (lambda: environment.address("X", ["http"]), "ftp://a", "X is not an address that starts with http://."),
        (lambda: environment.postgres("X"), "postgresql://a:b/c", BAD_ADDRESS),
        (lambda: environment.postgres("X"), "postgresql://u:p[x@a/c", BAD_ADDRESS),
        (lambda: environment.address("X", ["http"]), "http://[a", BAD_ADDRESS),
        (lambda: environment.address("X", ["redis"]), "redis://a:99999", BAD_ADDRESS),
        (lambda: environment.sizes("X"), "m=big", "X says “m=big”; write it like my-model=32000."),
        (lambda: environment.sizes("X"), "m=0", "X says “m=0”; write it like my-model=32000."),
        (lambda: environment.prices("X"), "m=3", BAD_PRICE.format("m=3")),
        (lambda: environment.prices("X"), "a=1/2 m=3/x", BAD_PRICE.format("m=3/x")),
        (lambda: environment.postgres("X"), "postgresql://a", "X names no database: add /name after the host."),
        (lambda: environment.folder("X", "json"), "all-MiniLM", "X is “all-MiniLM”; it must be the path of a folder."),
        (
            lambda: environment.folder("X", "absent"),
            "/",
            f"X needs the package absent; install it with {sys.executable} -m pip install absent",
        ),
    ],
)
def test_a_wrong_value_is_told_in_a_sentence(monkeypatch, read, value, sentence):
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read()
    assert str(refused.value) == sentence


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("X", "  ")
    assert environment.text("X", "default") == "default"
    assert environment.words("X", ["one"]) == ["one"]
    assert environment.whole("X", 7, 0, 9) == 7
    assert environment.several("X", ["a", "b"]) == ["a", "b"]
    assert environment.postgres("X") is None
    assert environment.folder("X", "absent") == ""


def test_a_database_address_becomes_djangos_entry(monkeypatch):
    monkeypatch.setenv("X", "postgresql://ada:p%40ss@db.example.org:6000/team?sslmode=require&connect_timeout=3")
    found = environment.postgres("X")
    assert found == {
        "ENGINE": "oneclaw.postgres.backend",
        "NAME": "team",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "HOST": "db.example.org",
        "PORT": 6000,
        "OPTIONS": {"sslmode": "require", "connect_timeout": "3"},
    }


def test_a_price_has_four_numbers_also_when_two_are_given(monkeypatch):
    monkeypatch.setenv("X", "a=3/15, b=1/5/0.5/2")
    assert environment.prices("X") == {"a": (3, 15, pytest.approx(0.3), 3.75), "b": (1, 5, 0.5, 2)}


def test_a_price_may_be_that_of_long_prompts(monkeypatch):
    monkeypatch.setenv("X", "a=3/15 a>100000=6/30")
    assert environment.prices("X")["a>100000"][:2] == (6, 30)
    for wrong in ("a>lots=6/30", ">5=6/30"):
        monkeypatch.setenv("X", wrong)
        with pytest.raises(ImproperlyConfigured):
            environment.prices("X")


def test_a_secret_may_be_in_a_file(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text("sk-quince\n")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY_FILE", str(file))
    assert environment.text("ANTHROPIC_API_KEY") == "sk-quince"
    # What is no secret has no file.
    monkeypatch.setenv("X_FILE", str(file))
    assert environment.text("X") == ""
    # Whatever a secret is read as.
    file.write_text("postgresql://ada:word@db.example.org/team\n")
    monkeypatch.setenv("DATABASE_URL_FILE", str(file))
    database = environment.postgres("DATABASE_URL")
    assert database is not None
    assert database["PASSWORD"] == "word"


def test_a_secret_with_two_values_or_without_its_file_stops_the_start(monkeypatch, tmp_path):
    monkeypatch.setenv("ONECLAW_SCIM_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(ImproperlyConfigured) as missing:
        environment.key("ONECLAW_SCIM_TOKEN")
    sentence = f"ONECLAW_SCIM_TOKEN_FILE is “{tmp_path}/token”, which cannot be read (No such file or directory)."
    assert str(missing.value) == sentence
    (tmp_path / "token").write_text("from the file")
    monkeypatch.setenv("ONECLAW_SCIM_TOKEN", "from the variable")
    with pytest.raises(ImproperlyConfigured) as doubled:
        environment.key("ONECLAW_SCIM_TOKEN")
    assert str(doubled.value) == "ONECLAW_SCIM_TOKEN and ONECLAW_SCIM_TOKEN_FILE are both set: unset one of them."


def test_the_documentation_marks_each_secret():
    page = (ROOT / "docs" / "settings.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)` \| [^|]* \| ⚿ ", page, re.MULTILINE)) == environment.SECRETS
    # A setting whose name says that it is a secret, or that has a password in its address.
    named = {name for name in READ if name.endswith(("_KEY", "_KEY_FALLBACKS", "_TOKEN", "_SECRET"))}
    assert named <= environment.SECRETS
    assert {"DATABASE_URL", "REDIS_URL", "ONECLAW_MAIL_URL"} <= environment.SECRETS


@pytest.mark.parametrize(
    ("variables", "priced"),
    [
        ({"ANTHROPIC_API_KEY": "test"}, True),
        ({"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, False),
        ({}, False),
        ({"ANTHROPIC_API_KEY": "test", "ONECLAW_PRICES": "claude=1/2"}, "own"),
    ],
)
def test_the_prices_of_anthropics_own_server_are_known(variables, priced, tmp_path):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ONECLAW_", "ANTHROPIC_"))}
    environ |= {"ONECLAW_HOME": str(tmp_path), **variables}
    program = "from oneclaw import settings; print(sorted(settings.PRICES), settings.PRICES.get(settings.MODEL))"
    ran = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    names, price = ran.stdout.strip().rsplit("] ", 1)
    if priced == "own":
        assert names == "['claude'"
    else:
        assert (price == "(2.0, 10.0, 0.1, 2.5)") == priced
        assert ("claude-haiku-5-5>100000" in names) == priced
