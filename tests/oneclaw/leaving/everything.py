"""Rows of every model for one person, and a mark in each of their texts: models and fields are those of the code."""

import datetime as dt
import uuid
from collections.abc import Callable, Collection
from typing import Any

from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection, models, transaction
from django.utils import timezone

from chat.models import ChatSession
from oneclaw.models import Space, User
from oneclaw.people.sign_in.attempts import hashed
from tests.access.cast import Cast
from tests.access.rows import converse, keep_files, keep_own, remember

Model = type[models.Model]
# Fields of these kinds hold what people wrote; a choice of a few codes does not.
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
# A value for a field that has no default, by its kind.
VALUES: dict[type[models.Field], Callable[[], Any]] = {
    models.CharField: lambda: uuid.uuid4().hex[:8],
    models.TextField: lambda: "x",
    models.BooleanField: lambda: True,
    models.IntegerField: lambda: 1,
    models.FloatField: lambda: 1.0,
    models.DecimalField: lambda: 1,
    models.DateTimeField: timezone.now,
    models.DateField: dt.date.today,
    models.TimeField: lambda: dt.time(9),
    models.UUIDField: uuid.uuid4,
    models.BinaryField: lambda: b"x",
    models.JSONField: dict,
    models.GenericIPAddressField: lambda: "192.0.2.7",
    ArrayField: list,
}


def models_with_rows() -> list[Model]:
    """Return every model that has a table."""
    return [each for each in apps.get_models(include_auto_created=True) if each._meta.managed]


def keys() -> dict[Model, set[Any]]:
    """Return the primary keys of all rows by model."""
    return {each: set(each._base_manager.values_list("pk", flat=True)) for each in models_with_rows()}


def make_everything(cast: Cast, skipped: set[str]) -> dict[Model, Any]:
    """Let the author of `cast` have a row of every model that is not `skipped`, and return one row of each, newly made.

    The product makes what it can; the rest is made from the fields of the models.
    """
    before = keys()
    for make in (remember, keep_files, converse):
        make(cast, "private", frozenset({"author"}))
    keep_own(cast)
    person = cast.people["author"]
    found: dict[Model, Any] = {User: person, Space: Space.objects.own_of(person), ChatSession: cast.sessions["private"]}
    wanted = [each for each in models_with_rows() if each._meta.label not in skipped and each not in found]
    for model in wanted:
        fresh = model._base_manager.exclude(pk__in=before[model])
        row = theirs(model, person).order_by("pk").first() or fresh.order_by("pk").first()
        if row is not None:
            found[model] = row
    for model in wanted:
        if model not in found:
            found[model] = made(model, found)
    return found


def theirs(model: Model, person: User) -> models.QuerySet[Any]:
    """Return the rows that name `person`."""
    names = [field.name for field in model._meta.local_fields if field.related_model is User]
    where = models.Q(*((name, person) for name in names), _connector=models.Q.OR)
    return model._base_manager.filter(where) if names else model._base_manager.none()


def made(model: Model, found: dict[Model, Any]) -> Any:
    """Return a new row of `model` whose foreign keys are those that were `found`, where there are any."""
    values: dict[str, Any] = {}
    for field in model._meta.local_concrete_fields:
        if field.is_relation:
            if field.related_model in found:
                values[field.name] = found[field.related_model]
            elif not field.null:
                values[field.name] = found.setdefault(field.related_model, made(field.related_model, found))
        elif field.choices and not field.has_default():
            values[field.name] = next(value for value, _ in field.flatchoices if value)
        elif needs_value(field):
            values[field.name] = value_of(field)
    values |= special(model._meta.label, found[User])
    with transaction.atomic(), unchecked():
        return model._base_manager.create(**values)


def special(label: str, person: User) -> dict[str, Any]:
    """Return what a check of the database or the product wants otherwise."""
    known: dict[str, dict[str, Any]] = {
        "memory.Proposal": {"accepted_text": "", "decided_by": None, "decided_at": None, "outcome": None},
        "oneclaw.Budget": {"group": None, "max_tokens": 5},
        "oneclaw.LegalHold": {"space": None, "ended_at": timezone.now()},
        "oneclaw.SignInAttempt": {"account": hashed(person.email)},
        "sessions.Session": {
            "session_data": SessionStore().encode({SESSION_KEY: str(person.pk)}),
            "expire_date": timezone.now() + dt.timedelta(days=1),
        },
    }
    return known.get(label, {})


def needs_value(field: models.Field) -> bool:
    is_made_by_database = field.primary_key and not isinstance(field, models.CharField)
    return not (is_made_by_database or field.has_default() or field.has_db_default() or field.null)


def value_of(field: models.Field) -> Any:
    if type(field).__name__ in ("HalfVectorField", "VectorField"):
        return [0.0] * (field.dimensions or 3)
    return next(make() for kind, make in VALUES.items() if isinstance(field, kind))


class unchecked:
    """Neither triggers nor foreign keys ask anything in this transaction."""

    def __enter__(self) -> None:
        self._set("replica")

    def __exit__(self, *_: object) -> None:
        if not connection.needs_rollback:
            self._set("origin")

    def _set(self, role: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL session_replication_role = {role}")


def mark_texts(found: dict[Model, Any], unmarked: Collection[str]) -> dict[str, str]:
    """Write a mark into every text of the rows that were `found` but those `unmarked`; return {mark: field}."""
    marks: dict[str, str] = {}
    for model, row in found.items():
        for field in model._meta.local_concrete_fields:
            name = f"{model._meta.label}.{field.name}"
            if field.primary_key or field.is_relation or field.choices or not isinstance(field, TEXTS):
                continue
            if name not in unmarked:
                mark = f"zq{len(marks) + 100}"
                write(model, row.pk, field, mark)
                marks[mark] = name
    return marks


def write(model: Model, pk: Any, field: models.Field, mark: str) -> None:
    value: Any = mark
    if isinstance(field, models.JSONField):
        value = {mark: mark} if field.default is dict else [mark]
    elif isinstance(field, models.BinaryField):
        value = mark.encode()
    with transaction.atomic(), unchecked():
        model._base_manager.filter(pk=pk).update(**{field.name: value})
