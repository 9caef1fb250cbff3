"""Every column that names a person, and what becomes of it when they are removed.

The columns come from Django's models, and the ways from the Domain of each app (oneclaw/domains.py). A foreign key to a
person without a way stops the start, so a new model cannot be forgotten.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core import checks
from django.db import models

from oneclaw import domains
from oneclaw.domains import Way
from oneclaw.models import User

# How Django must treat the foreign key for each way; what is handed over has left it before the account goes.
ON_DELETE = {
    Way.DELETED: models.CASCADE,
    Way.ANONYMISED: models.SET_NULL,
    Way.VIEW: models.DO_NOTHING,
}


def references() -> Iterator[tuple[str, Any]]:
    """Yield the name of each foreign key to a person in any installed model, and the key."""
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.local_fields:
            if field.is_relation and field.related_model is User:
                yield f"{model._meta.label}.{field.name}", field


def way_of(name: str) -> Way | None:
    """Return what becomes of the rows whose foreign key has this name; None when nothing has said so."""
    return next((ways[name] for ways in (each.references for each in domains.registered()) if name in ways), None)


@checks.register
def every_reference_has_a_way(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each foreign key to a person without a way, or with one that Django would not go."""
    found: list[checks.CheckMessage] = []
    for name, field in references():
        way = way_of(name)
        if way is None:
            hint = "Add it to REFERENCES, where the others of the app are."
            found.append(
                checks.Error(f"Nothing says what becomes of {name} when the person leaves.", hint, id="oneclaw.E001")
            )
        elif field.remote_field.on_delete is not ON_DELETE.get(way, field.remote_field.on_delete):
            found.append(checks.Error(f"{name} is {way}, and its on_delete does something else.", id="oneclaw.E002"))
    return found


def names_left() -> str:
    """Return a statement that yields a sentence for each row that names a person who has been removed."""
    template = (
        "SELECT format('{sentence}', gone.person) FROM {table} held "
        "JOIN oneclaw_offboarding gone ON gone.status = 'done' AND gone.person = held.{column}"
    )
    parts = [template.format(sentence="person %%s has left and has an account", table="oneclaw_user", column="id")]
    for name, field in references():
        sentence = f"{name} names person %%s, who has left"
        parts.append(template.format(sentence=sentence, table=field.model._meta.db_table, column=field.column))
    return " UNION ALL ".join(parts)
