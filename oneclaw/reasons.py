"""Failures, reasons and notices as data: a code with parameters is stored, and becomes a sentence when it is shown.

    reason = Reason("change.restored", {"number": 3})    # kept by a ReasonField, or inside JSON as `reason.as_json`
    str(reason)                                          # the sentence in the active language

Each app has its wordings in `wordings.py`; its Domain registers them. Parameters are plain values: numbers are
formatted only when the sentence is made, and no code parses a sentence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.utils import translation
from django.utils.translation import gettext

from oneclaw.text import StrOrPromise, formatted_params

Param = str | int | float | Sequence[str]
# A template with %(name)s for each parameter, or a function of the parameters for what a template cannot say.
Wording = StrOrPromise | Callable[[Mapping[str, Any]], str]

wordings: dict[str, Wording] = {}


@dataclass(frozen=True)
class Reason:
    """A reason as data: `code` names a registered wording, `params` are put into it."""

    code: str
    params: Mapping[str, Param] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the sentence in the active language; a general one with the code when no wording fits."""
        wording, params = wordings.get(self.code), formatted_params(self.params)
        try:
            if callable(wording):
                return wording(params)
            if wording is not None:
                return str(wording % params)
        except (KeyError, TypeError, ValueError):
            # Another version stored other parameters: the general sentence is returned.
            pass
        return gettext("Reason unknown (%(code)s).") % {"code": self.code}

    @property
    def as_json(self) -> dict[str, Any]:
        """Return the reason as a JSON value, which `of` reads back."""
        return {"code": self.code, "params": dict(self.params)}

    @property
    def in_english(self) -> str:
        """Return the sentence in English, for logs, exported files and programs."""
        with translation.override("en"):
            return str(self)

    @property
    def without_texts(self) -> str:
        """Return the sentence with "…" in place of each text, for those who may not read what people wrote; "" when
        the wording depends on the texts."""
        if callable(wordings.get(self.code)):
            return ""
        return str(
            Reason(self.code, {name: "…" if isinstance(value, str) else value for name, value in self.params.items()})
        )

    @property
    def texts(self) -> list[str]:
        """Return the parameters that are text."""
        return [value for value in self.params.values() if isinstance(value, str)]

    @classmethod
    def of(cls, value: object) -> "Reason | None":
        """Return the reason whose `as_json` is `value`; None for any other value."""
        match value:
            case {"code": str(code), "params": dict(params)}:
                return cls(code, params)
        return None


def register(new_wordings: Mapping[str, Wording]) -> None:
    """Add the wordings of an app. Raise ValueError when another app has registered the same code."""
    for code, wording in new_wordings.items():
        if wordings.setdefault(code, wording) is not wording:
            raise ValueError(f"Two wordings are registered for {code}.")


def verbatim(text: str) -> Reason | None:
    """Return a reason that is shown as `text`, untranslated; None for an empty text."""
    return Reason("other", {"text": text}) if text else None


class ReasonField(models.JSONField):
    """A column that holds a Reason, or NULL. Migrations see a plain JSONField."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs |= {"null": True, "blank": True}
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return Reason.of(super().from_db_value(value, expression, connection))

    def get_prep_value(self, value: Any) -> Any:
        return value.as_json if isinstance(value, Reason) else super().get_prep_value(value)
