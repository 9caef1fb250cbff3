"""The rule of what a legal hold keeps, as conditions of a query: conversations and files of a held person or space, and
conversations of others in which a held person has written."""

from django.apps import apps
from django.db.models import Q

from oneclaw.audit import holds


def sessions() -> Q:
    """Return the condition for conversations of which nothing may be removed."""
    people = holds.held_people()
    written = apps.get_model("chat", "Message").objects.filter(author__in=people)
    return Q(owner__in=people) | Q(space__in=holds.held_spaces()) | Q(pk__in=written.values("session"))


def files() -> Q:
    """Return the condition for files that may not be removed."""
    spaces = holds.held_spaces()
    of_space = Q(session__space__in=spaces) | Q(message__session__space__in=spaces)
    return Q(owner__in=holds.held_people()) | of_space
