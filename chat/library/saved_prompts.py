"""Saved prompts: named texts with variables, offered as commands of the composer."""

import re

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from chat.models import SavedPrompt
from chat.turns.commands import COMMANDS, tool_commands
from oneclaw.audit import holds
from oneclaw.models import User
from oneclaw.text import InvalidTextError, validated_text

NAME = re.compile(r"[\w-]+")
VARIABLE = re.compile(r"\{\{\s*([^{}\s][^{}\n]{0,39}?)\s*\}\}")
TEXT_MAX_CHARS = 10_000
# Reserved for commands that may be added.
RESERVED = ("compact",)


def save(user: User, name: object, text: object, prompt: SavedPrompt | None = None) -> SavedPrompt:
    """Save a new prompt of the person, or change `prompt`. Raise InvalidTextError when name or text is invalid."""
    row = prompt or SavedPrompt(owner=user)
    row.name = checked_name(name)
    row.text = validated_text(text, max_chars=TEXT_MAX_CHARS, name=_("The text"))
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise InvalidTextError("taken", _("You already have a prompt /%(name)s.") % {"name": row.name}) from None
    return row


def delete(prompt: SavedPrompt) -> None:
    """Delete `prompt`. Raise oneclaw.audit.holds.HeldError when a legal hold keeps it."""
    holds.refuse_if_held(people=[prompt.owner])
    prompt.delete()


def checked_name(name: object) -> str:
    """Return `name` without its slash, in lower case. Raise InvalidTextError when it cannot be a command."""
    word = (
        validated_text(name, max_chars=SavedPrompt.NAME_MAX_CHARS + 1, name=_("The name"))
        .strip()
        .removeprefix("/")
        .lower()
    )
    if not NAME.fullmatch(word) or len(word) > SavedPrompt.NAME_MAX_CHARS:
        raise InvalidTextError("bad_name", _("A name is one word of letters, digits, - and _, such as weekly-report."))
    if f"/{word}" in (*COMMANDS, *tool_commands()) or word in RESERVED:
        raise InvalidTextError("taken", _("/%(name)s is already a command.") % {"name": word})
    return word


def split_at_variables(text: str) -> list[str]:
    """Return `text` split at its variables: plain, variable, plain, …, plain. Pure."""
    return VARIABLE.split(text)


def variables(text: str) -> list[str]:
    """Return the names of the variables in `text`, each once, in their order. Pure."""
    return list(dict.fromkeys(split_at_variables(text)[1::2]))
