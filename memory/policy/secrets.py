"""Find and mask keys, tokens and passwords in a text, so that memory never stores one. Pure."""

import re

from django.utils.translation import gettext_noop

# The name and the pattern of each kind of secret. Only the group `secret` is masked, or the whole match without one.
PATTERNS: list[tuple[str, re.Pattern[str]]] = [
    (
        gettext_noop("private key"),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\Z)", re.S
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
            re.X,
        ),
    ),
    (gettext_noop("token"), re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
    (gettext_noop("token"), re.compile(r"\bbearer\s+(?P<secret>[\w.~+/=-]{16,})", re.I)),
    (gettext_noop("password"), re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s:/@]+:(?P<secret>[^\s/@]+)@", re.I)),
    (
        gettext_noop("password"),
        re.compile(
            r"""\b(?:password|passwort|kennwort|passphrase|mot\ de\ passe|contraseña|pwd
                |api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?token|auth[ _-]?token)
                (?:\s+(?:is|ist|lautet|est|es)\b\s*:?\s*|\s*[:=]\s*|\s+)["'“„`]?
                (?P<secret>(?!removed\])(?=[^\s"'”“`]*[\d!@#$%^&*?+])[^\s"'”“`,;]{6,})""",
            re.I | re.X,
        ),
    ),
]
MASK = "[{} removed]"


def masked(text: str) -> tuple[str, list[str]]:
    """Return `text` with each secret replaced by a mask, and the distinct kinds of secrets that were found."""
    clean, found = _masked(text)
    return clean, list(dict.fromkeys(kind for kind, _ in found))


def secrets_in(text: str) -> list[str]:
    """Return the secrets in `text`, unmasked."""
    return [secret for _, secret in _masked(text)[1]]


def _masked(text: str) -> tuple[str, list[tuple[str, str]]]:
    secrets: list[tuple[str, str]] = []
    for kind, pattern in PATTERNS:
        name = "secret" if "secret" in pattern.groupindex else 0

        def mask(found: re.Match[str], kind: str = kind, name: str | int = name) -> str:
            secrets.append((kind, found[name]))
            start, end = found.start(name) - found.start(), found.end(name) - found.start()
            return found[0][:start] + MASK.format(kind) + found[0][end:]

        text = pattern.sub(mask, text)
    return text, secrets
