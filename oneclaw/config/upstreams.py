"""Further servers that speak the Messages API, and those of the file that ONECLAW_UPSTREAMS names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import environment


@dataclass(frozen=True)
class Upstream:
    """A server that speaks the Messages API in addition to the one of ANTHROPIC_BASE_URL."""

    name: str
    url: str
    key: str = field(default="", repr=False)
    # The models that it has, in the order of the file.
    models: tuple[str, ...] = ()
    # The labels of those that people may choose.
    labels: Mapping[str, str] = field(default_factory=dict)
    # {model: the one of `models` that answers instead}.
    substitutes: Mapping[str, str] = field(default_factory=dict)
    # What tokens cost here, as ONECLAW_PRICES has it.
    prices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    # Whether it is sent nothing of anybody's memory.
    memory_stays_home: bool = False
    # Whether an owner has entered it on a page; else it is of the environment.
    is_entered: bool = False
    # Whether it has a stored key that cannot be read, because the secret key was changed; it is not asked then.
    lacks_key: bool = False


def read_upstreams(path: str) -> tuple[Upstream, ...]:
    """Return the servers of the file at `path`, in its order; none for ""."""
    if not path:
        return ()
    try:
        found = json.loads(Path(path).expanduser().read_bytes())
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"ONECLAW_UPSTREAMS is “{path}”, which cannot be read as JSON: {error}") from None
    return tuple(_upstream(name, said) for name, said in _object(found, "the file").items())


def _upstream(name: str, said: object) -> Upstream:
    known = _object(said, name, "url", "key_variable", "models", "memory_stays_home")
    url = known.get("url")
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise _wrong(f"{name}.url must be an address such as https://models.example.org")
    variable = known.get("key_variable", "")
    key = environment.secret(variable) if isinstance(variable, str) and variable else ""
    if not isinstance(variable, str) or (variable and not key):
        raise _wrong(f"{name}.key_variable must name an environment variable that holds the key")
    stays_home = known.get("memory_stays_home", False)
    if not isinstance(stays_home, bool):
        raise _wrong(f"{name}.memory_stays_home must be true or false")
    upstream = Upstream(name, url.rstrip("/"), key, memory_stays_home=stays_home)
    return with_models(upstream, known.get("models"))


def with_models(upstream: Upstream, said: object) -> Upstream:
    """Return `upstream` with the models of `said`: {model: {"label": …, "price": …, "instead_of": […]}}.

    Raise ImproperlyConfigured for anything else.
    """
    name = upstream.name
    models = _object(said, f"{name}.models")
    labels: dict[str, str] = {}
    substitutes: dict[str, str] = {}
    prices: dict[str, tuple[float, ...]] = {}
    for model, about in models.items():
        path = f"{name}.models.{model}"
        of_model = _object(about, path, "label", "price", "instead_of")
        if "label" in of_model:
            labels[model] = str(of_model["label"]).strip() or model
        if "price" in of_model:
            prices[model] = _price(of_model["price"], path)
        replaced = of_model.get("instead_of", [])
        if not isinstance(replaced, list) or not all(isinstance(each, str) and each for each in replaced):
            raise _wrong(f"{path}.instead_of must be a list of names of models")
        for each in replaced:
            substitutes.setdefault(each, model)
    if not models:
        raise _wrong(f"{name}.models must name at least one model")
    return replace(upstream, models=tuple(models), labels=labels, substitutes=substitutes, prices=prices)


def _price(said: object, path: str) -> tuple[float, ...]:
    try:
        return environment.price(str(said))
    except ValueError:
        raise _wrong(f"{path}.price must be written like 2/10 or 2/10/0.1/2.5") from None


def _object(said: object, path: str, *allowed: str) -> dict[str, Any]:
    """Return `said` if it is a JSON object whose names are not empty, and are among `allowed` if there are any."""
    if not isinstance(said, dict) or not all(said):
        raise _wrong(f"{path} must be an object {{…}} with names")
    if allowed and (unknown := said.keys() - set(allowed)):
        raise _wrong(f"{path} has “{min(unknown)}”; it may have {', '.join(allowed)}")
    return said


def _wrong(sentence: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"ONECLAW_UPSTREAMS: {sentence}.")
