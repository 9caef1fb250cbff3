"""Read typed settings from the environment.

Every function raises ImproperlyConfigured, with a sentence that says how to correct it, when the value is wrong.
"""

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}
# The settings that a file may have instead, whose path is in the variable of this name and _FILE.
SECRETS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "DATABASE_URL",
        "GEMINI_API_KEY",
        "ONECLAW_AUDIT_WEBHOOK_SECRET",
        "ONECLAW_MAIL_URL",
        "ONECLAW_METRICS_TOKEN",
        "ONECLAW_OIDC_CLIENT_SECRET",
        "ONECLAW_SCIM_TOKEN",
        "ONECLAW_SECRET_KEY",
        "ONECLAW_SECRET_KEY_FALLBACKS",
        "OPENAI_API_KEY",
        "REDIS_URL",
    }
)
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


def text(name: str, default: str = "") -> str:
    """Return the variable `name` without surrounding white space; `default` when it is empty or not set."""
    return (secret(name) if name in SECRETS else os.environ.get(name, "").strip()) or default


def secret(name: str) -> str:
    """Return the variable `name`, or what is in the file whose path is the variable `name` with _FILE, without
    surrounding white space; "" when neither is set."""
    value, path = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if not path:
        return value
    if value:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: unset one of them.")
    try:
        return Path(path).expanduser().read_text().strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ImproperlyConfigured(f"{name}_FILE is “{path}”, which cannot be read ({reason}).") from None


def choice(name: str, allowed: Iterable[str], default: str) -> str:
    """Return the variable `name` in lower case, which must be one of `allowed`."""
    value = text(name, default).lower()
    allowed = list(allowed)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be one of {', '.join(allowed)}.")
    return value


def flag(name: str, default: bool) -> bool:
    """Return the variable `name` as a boolean: 1, true, yes or on; 0, false, no or off."""
    value = text(name, "yes" if default else "no").lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be yes or no.")
    return value in TRUE


def number(name: str, default: float, least: float, most: float) -> float:
    """Return the variable `name` as a number from `least` to `most`."""
    value = text(name, str(default))
    try:
        found = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be a number.") from None
    if not least <= found <= most:
        raise ImproperlyConfigured(f"{name} is {value}; it must lie between {least:g} and {most:g}.")
    return found


def whole(name: str, default: int, least: int, most: int) -> int:
    """Return the variable `name` as a whole number from `least` to `most`."""
    found = number(name, default, least, most)
    if found != int(found):
        raise ImproperlyConfigured(f"{name} is {found:g}; it must be a whole number.")
    return int(found)


def hours(name: str, default: str) -> tuple[int, int]:
    """Return the variable `name` as two hours of a day, from `8-22`; `0-24` is the whole day."""
    value = text(name, default)
    first, _, last = value.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) < 24 and 0 < int(last) <= 24 and first != last):
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be two hours of a day, such as 8-22.")
    return int(first), int(last)


def words(name: str, default: Iterable[str] = ()) -> list[str]:
    """Return the words of the variable `name`, separated by commas or white space; `default` when there are none."""
    return text(name).replace(",", " ").split() or list(default)


def folder(name: str, package: str) -> str:
    """Return the variable `name`, the path of a folder that is read with the package `package`; "" when not set."""
    value = existing_folder(name)
    if value and find_spec(package) is None:
        raise ImproperlyConfigured(
            f"{name} needs the package {package}; install it with {sys.executable} -m pip install {package}"
        )
    return value


def existing_folder(name: str) -> str:
    """Return the variable `name`, the path of a folder; "" when not set."""
    value = text(name)
    if value and not Path(value).expanduser().is_dir():
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be the path of a folder.")
    return value


def labelled(name: str) -> dict[str, str]:
    """Return labels by name, from `name=Label, other=Other label`; a name without a label is its own label."""
    found: dict[str, str] = {}
    for part in text(name).replace("\n", ",").split(","):
        word, _, label = (piece.strip() for piece in part.partition("="))
        if word and not (" " in word or len(word) > 100):
            found[word] = label or word
        elif part.strip():
            raise ImproperlyConfigured(f"{name} has “{part.strip()}”; write name=Label, other=Other label.")
    return found


def several(name: str, allowed: Iterable[str]) -> list[str]:
    """Return those of `allowed` that the variable `name` lists; all when it is not set, and none for `none`."""
    allowed = list(allowed)
    chosen = [word.lower() for word in words(name, allowed)]
    for word in chosen:
        if word not in [*allowed, "none"]:
            raise ImproperlyConfigured(f"{name} has “{word}”; it takes {', '.join(allowed)}, or none.")
    return [word for word in allowed if word in chosen]


def prices(name: str, default: str = "") -> dict[str, tuple[float, ...]]:
    """Return four prices for each model: of tokens read, written, read from the cache, and written to the cache.

    Without the variable they are those of `default`, in the same form.

    The variable has `model=read/written[/cache read/cache written]`, separated by white space or commas. By default,
    reading from the cache costs a tenth of `read`, and writing to the cache a quarter more than `read`. A model's name
    may be followed by `>` and a number: the price of requests with more tokens of input.
    """
    found: dict[str, tuple[float, ...]] = {}
    for word in words(name, default.split()):
        model, _, listed = word.partition("=")
        named, _, above = model.partition(">")
        try:
            found[model] = price(listed if named and (above or "0").isdecimal() else "")
        except ValueError:
            form = "claude-sonnet-5-5=2/10, =2/10/0.1/2.5 or claude-haiku-5-5>100000=0.5/2.5"
            raise ImproperlyConfigured(f"{name} says “{word}”; write it like {form}.") from None
    return found


def price(listed: str) -> tuple[float, ...]:
    """Return the four prices in `listed`, such as 2/10 or 2/10/0.1/2.5. Raise ValueError."""
    numbers = [float(number) for number in listed.split("/")]
    if len(numbers) not in (2, 4) or not all(0 <= number < 1e6 for number in numbers):
        raise ValueError(f"no prices: {listed}")
    return tuple(numbers) if len(numbers) == 4 else (*numbers, numbers[0] * 0.1, numbers[0] * 1.25)


def choices(name: str, allowed: Iterable[str], defaults: dict[str, str]) -> dict[str, str]:
    """Return one of `allowed` for each key of `defaults`, from `key=choice key=choice`, separated by white space or
    commas."""
    allowed, found = list(allowed), dict(defaults)
    for word in words(name):
        key, _, chosen = word.lower().partition("=")
        if key not in defaults or chosen not in allowed:
            raise ImproperlyConfigured(
                f"{name} says “{word}”; write one of {', '.join(defaults)}, =, and one of {', '.join(allowed)}."
            )
        found[key] = chosen
    return found


def sizes(name: str) -> dict[str, int]:
    """Return whole numbers by name, from `name=number other=number`, separated by white space or commas."""
    found: dict[str, int] = {}
    for word in words(name):
        key, _, number = word.partition("=")
        if not key or not number.isdecimal() or not 0 < int(number) <= 100_000_000:
            raise ImproperlyConfigured(f"{name} says “{word}”; write it like my-model=32000.")
        found[key] = int(number)
    return found


def address(name: str, schemes: Iterable[str], default: str = "") -> str:
    """Return the variable `name` as a URL with one of `schemes`, without a trailing slash; "" when not set."""
    value = text(name, default)
    if value:
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError:
            raise ImproperlyConfigured(f"{name} has brackets or a port that no address can have.") from None
        schemes = list(schemes)
        if parts.scheme not in schemes or not (parts.netloc or parts.path):
            expected = " or ".join(f"{scheme}://" for scheme in schemes)
            raise ImproperlyConfigured(f"{name} is not an address that starts with {expected}.")
    return value.rstrip("/")


def secure_address(name: str) -> str:
    """Return the variable `name`, an address of https, or of http on this machine, as it is; "" when not set."""
    if not is_secure(address(name, ["https", "http"])):
        raise ImproperlyConfigured(f"{name} must start with https://: what it says decides who signs in.")
    return text(name)


def is_secure(value: str) -> bool:
    """Return whether the address `value` is one of https, or of this machine; "" counts as one. Pure."""
    parts = urlsplit(value)
    return parts.scheme in ("", "https") or (parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS)


def secure_address_or_file(name: str) -> str:
    """Return the variable `name`, which is a `secure_address` or the absolute path of a file; "" when not set."""
    value = text(name)
    if "://" in value:
        return secure_address(name)
    path = Path(value).expanduser()
    if value and not path.is_file():
        raise ImproperlyConfigured(f"{name} is “{value}”; it must be an address or the path of a file.")
    return str(path.resolve()) if value else ""


def certificate(name: str) -> str:
    """Return the variable `name`, an X.509 certificate in PEM form or the path of such a file, as bare Base64; "" when
    not set."""
    value = text(name)
    if value and "-----BEGIN" not in value:
        try:
            value = Path(value).expanduser().read_text()
        except (OSError, ValueError):
            value = ""
    found = re.search(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----", value)
    if text(name) and not found:
        raise ImproperlyConfigured(f"{name} has no certificate: set it to one, or to the path of a file in PEM form.")
    return "".join(found[1].split()) if found else ""


def origins(name: str) -> list[str]:
    """Return the origins of the variable `name`, separated by commas or white space, without trailing slashes."""
    found = [word.rstrip("/") for word in words(name)]
    for origin in found:
        try:
            parts = urlsplit(origin)
            is_well_formed = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_well_formed = False
        if not is_well_formed:
            raise ImproperlyConfigured(f"{name} has “{origin}”; write it like https://chat.example.org.")
    return found


def networks(name: str) -> list[str]:
    """Return the addresses and networks of the variable `name`, separated by commas or white space."""
    found = words(name)
    for word in found:
        try:
            ip_network(word, strict=False)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} has “{word}”; write addresses like 127.0.0.1 or 172.16.0.0/12."
            ) from error
    return found


def key(name: str) -> str:
    """Return the variable `name` as a key that can be sent in an HTTP header: printable ASCII."""
    value = text(name)
    if not (value.isascii() and value.isprintable()):
        raise ImproperlyConfigured(f"{name} holds a character that no key has: copy the key once more.")
    return value


def postgres(name: str) -> dict | None:
    """Return the variable `name` as an entry of Django's DATABASES; None when not set.

    It has the form `postgresql://user:password@host:port/name`, with libpq options such as `sslmode` as a query string.
    """
    value = address(name, ["postgresql", "postgres"])
    if not value:
        return None
    parts = urlsplit(value)
    options = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    if not parts.path.strip("/"):
        raise ImproperlyConfigured(f"{name} names no database: add /name after the host.")
    return {
        "ENGINE": "oneclaw.postgres.backend",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": parts.port or 5432,
        "OPTIONS": options,
    }


@dataclass(frozen=True)
class MailServer:
    """Where and how mail is handed over."""

    host: str
    port: int
    user: str
    password: str
    starttls: bool
    ssl: bool


def mail_server(name: str) -> MailServer | None:
    """Return the variable `name` as a mail server; None when not set.

    It has the form `smtp://user:password@host:587`, which begins TLS after connecting, or `smtps://…:465`, which
    connects by TLS. `?tls=no` turns TLS off.
    """
    value = address(name, ["smtp", "smtps"])
    if not value:
        return None
    parts = urlsplit(value)
    if not parts.hostname:
        raise ImproperlyConfigured(f"{name} names no host: write it like smtp://user:password@mail.example.org:587.")
    ssl = parts.scheme == "smtps"
    return MailServer(
        host=parts.hostname,
        port=parts.port or (465 if ssl else 587),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=not ssl and parts.query != "tls=no",
        ssl=ssl,
    )
