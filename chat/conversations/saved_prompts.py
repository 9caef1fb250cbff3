"""The prompts that a person keeps: named, with variables, and offered as commands of the composer."""

import re

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from chat.models import SavedPrompt
from chat.turns.commands import COMMANDS, tool_commands
from oneclaw.models import User
from oneclaw.text import BadText, checked

NAME = re.compile(r"[\w-]+")
VARIABLE = re.compile(r"\{\{\s*([^{}\s][^{}\n]{0,39}?)\s*\}\}")
LONGEST_TEXT = 10_000
# Taken by a command that may come.
RESERVED = ("compact",)


def save(user: User, name: object, text: object, prompt: SavedPrompt | None = None) -> SavedPrompt:
    """A new prompt of this person, or `prompt` changed. BadText says what is wrong with the name or the text."""
    row = prompt or SavedPrompt(owner=user)
    row.name = checked_name(name)
    row.text = checked(text, longest=LONGEST_TEXT, name=_("The text"))
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise BadText("taken", _("You already have a prompt /%(name)s.") % {"name": row.name}) from None
    return row


def checked_name(name: object) -> str:
    """The name without its slash, in lower case; BadText when it cannot be a command."""
    word = checked(name, longest=SavedPrompt.LONGEST_NAME + 1, name=_("The name")).strip().removeprefix("/").lower()
    if not NAME.fullmatch(word) or len(word) > SavedPrompt.LONGEST_NAME:
        raise BadText("bad_name", _("A name is one word of letters, digits, - and _, such as weekly-report."))
    if f"/{word}" in (*COMMANDS, *tool_commands) or word in RESERVED:
        raise BadText("taken", _("/%(name)s is already a command.") % {"name": word})
    return word


def pieces(text: str) -> list[str]:
    """The text cut at its variables: plain, variable, plain, …, plain. Pure."""
    return VARIABLE.split(text)


def variables(text: str) -> list[str]:
    """The names of the variables, each once, in the order in which they are asked for. Pure."""
    return list(dict.fromkeys(pieces(text)[1::2]))
