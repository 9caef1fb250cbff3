"""Questions that every page asks: Django composes their SQL once, which takes it longer than asking does."""

import copy
import functools
import uuid
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connections, models
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=models.Model)
# What stands in the place of the value number n while the SQL is composed, and in no question of ours itself.
STAND_INS: dict[type, Callable[[int], Any]] = {
    int: lambda number: 2**62 + number,
    uuid.UUID: lambda number: uuid.UUID(int=2**127 + number),
}


class Standing(Generic[M]):
    """`compose` makes a queryset of as many values as there are `kinds`; asking gives the same rows as that would.

    The values are only compared with, in filters: which tables and columns are asked must not depend on them.
    """

    def __init__(self, compose: Callable[..., models.QuerySet[M]], *kinds: type) -> None:
        self._compose = compose
        self._stand_ins = [STAND_INS[kind](number) for number, kind in enumerate(kinds)]

    def ask(self, *values: int | uuid.UUID) -> list[M]:
        queryset, composed = self._composed
        asked = queryset.all()
        asked.query = composed.with_values(dict(zip(self._stand_ins, values, strict=True)))  # type: ignore[assignment]
        return list(asked)

    @functools.cached_property
    def _composed(self) -> "tuple[models.QuerySet[M], ComposedQuery]":
        queryset = self._compose(*self._stand_ins)
        compiler = queryset.query.get_compiler(queryset.db)
        composed = ComposedQuery(compiler, *compiler.as_sql())
        # That of the thread that came first; get_compiler() puts in the reader's own.
        compiler.connection = None
        return queryset, composed


class ComposedQuery:
    """As much of a Django query as its querysets need to read rows."""

    values_select = ()

    def __init__(self, compiler: SQLCompiler, sql: str, params: tuple[Any, ...]) -> None:
        self._compiler, self._sql, self._params = compiler, sql, params

    def with_values(self, values: dict[Any, Any]) -> "ComposedQuery":
        params = (values.get(param, param) for param in self._params)
        return ComposedQuery(self._compiler, self._sql, tuple(params))

    def get_compiler(self, using: str) -> SQLCompiler:
        """One that knows how to read the rows, of this thread's connection."""
        compiler = copy.copy(self._compiler)
        compiler.connection = connections[using]
        compiler.as_sql = lambda *_, **__: (self._sql, self._params)  # type: ignore[method-assign]
        return compiler

    def chain(self) -> "ComposedQuery":
        return self
