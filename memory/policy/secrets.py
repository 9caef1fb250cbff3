"""Find and mask keys, tokens, passwords and personal numbers in a text, so that memory stores none unasked.

What happens to each kind is a setting (ONECLAW_SCREEN): `mask` it, mask it and `ask` the person whether it was meant to
be kept, or `allow` it.
"""

import re

from django.conf import settings
from django.utils.translation import gettext_noop

from memory.policy import personal_data
from memory.policy.personal_data import personal_data_in

# The name and the pattern of each kind of secret. Only the group `secret` is masked, or the whole match without one. In
# these, Japanese and Chinese characters are no letters (re.A): words there have no spaces around them. Each takes time
# in proportion to the text, whatever that is (tests/test_patterns.py): what repeats before something else is bounded.
PATTERNS: list[tuple[str, re.Pattern[str]]] = [
    (
        gettext_noop("private key"),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----"
            r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----|\Z)",
            re.S,
        ),
    ),
    (
        gettext_noop("key"),
        re.compile(
            r"""\b(?:
                sk-(?:ant-|proj-|live-|or-)?[\w-]{16,} | [srp]k_(?:live|test)_\w{16,}
              | gh[pousr]_\w{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}
              | xox[abeoprs]-[\w-]{10,} | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[\w-]{30,}
              | oc_[\w-]{43} | npm_\w{30,} | pypi-[\w-]{30,} | hf_\w{20,} | dop_v1_\w{30,} | SG\.[\w-]{16,}\.[\w-]{16,}
            )""",
            re.X | re.A,
        ),
    ),
    (gettext_noop("token"), re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", re.A)),
    (gettext_noop("token"), re.compile(r"\bbearer\s{1,20}(?P<secret>[\w.~+/=-]{16,})", re.I | re.A)),
    (gettext_noop("password"), re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s:/@]+:(?P<secret>[^\s/@]+)@", re.I | re.A)),
    (
        gettext_noop("password"),
        re.compile(
            r"""\b(?:password|passwort|kennwort|passphrase|mot\ de\ passe|contraseña|pwd
                |api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?token|auth[ _-]?token)
                (?:\s{1,9}(?:is|ist|lautet|est|es)\b\s{0,9}:?\s{0,9}|\s{0,9}[:=]\s{0,9}|\s{1,9})["'“„`]?
                (?P<secret>(?!removed\])(?=[^\s"'”“`\d!@#$%^&*?+]{0,60}[\d!@#$%^&*?+])[^\s"'”“`,;]{6,})""",
            re.I | re.X | re.A,
        ),
    ),
]
MASK = "[{} removed]"
# The name of each kind in ONECLAW_SCREEN.
SETTING_NAMES = {
    "private key": "private-key",
    "key": "key",
    "token": "token",
    "password": "password",
    personal_data.CARD: "card",
    personal_data.IBAN: "iban",
    personal_data.NATIONAL: "identity",
    personal_data.PHONE: "phone",
}


def masked(text: str) -> tuple[str, list[str]]:
    """Return `text` with each secret replaced by a mask, and the distinct kinds of secrets that were found."""
    clean, found = _masked(text)
    return clean, list(dict.fromkeys(kind for kind, _ in found))


def are_asked(kinds: list[str]) -> bool:
    """Return whether the person is asked about a text with secrets of these `kinds`."""
    return any(_policy_of(kind) == "ask" for kind in kinds)


def may_be_kept(text: str) -> bool:
    """Return whether the person may have `text` kept with all its secrets."""
    return all(_policy_of(kind) == "ask" for kind, _ in _masked(text)[1])


def secrets_in(text: str) -> list[str]:
    """Return the secrets in `text`, unmasked."""
    return [secret for _, secret in _masked(text)[1]]


def _policy_of(kind: str) -> str:
    return settings.SCREEN[SETTING_NAMES[kind]]


def _masked(text: str) -> tuple[str, list[tuple[str, str]]]:
    secrets: list[tuple[str, str]] = []
    for kind, pattern in PATTERNS:
        if _policy_of(kind) == "allow":
            continue
        name = "secret" if "secret" in pattern.groupindex else 0

        def mask(found: re.Match[str], kind: str = kind, name: str | int = name) -> str:
            secrets.append((kind, found[name]))
            start, end = found.start(name) - found.start(), found.end(name) - found.start()
            return found[0][:start] + MASK.format(kind) + found[0][end:]

        text = pattern.sub(mask, text)
    for each in reversed(personal_data_in(text)):
        if _policy_of(each.kind) != "allow":
            secrets.append((each.kind, text[each.start : each.end]))
            text = text[: each.start] + MASK.format(each.kind) + text[each.end :]
    return text, secrets
