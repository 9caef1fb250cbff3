"""Store in rows which embedding model's vectors are valid now, and why a model fails.

A server can change the model behind a name, and with it the number of dimensions. So each number counts as a separate
model with its own row, and the row of the name without a number says, for every process, which one is current.
"""

import time

from django.db.models import QuerySet

from memory.index.embeddings import Embedder
from memory.models import EmbeddingModel
from memory.text.index_format import text_key
from oneclaw.reasons import Reason

# How often a process writes again the dimensions that it sees.
RECORD_INTERVAL_SECONDS = 60.0
# When this process last recorded the dimensions of a model, by its id (time.monotonic()).
_seen: dict[int, float] = {}


def model_id(model: Embedder, dimensions: int) -> int:
    """Return the id under which vectors of `dimensions` by `model` are stored; of a server, none has 0."""
    return text_key(_name_with_dimensions(model, dimensions))


def current_model_id(model: Embedder) -> int:
    """Return the id under which the vectors of `model` are stored, by the dimensions that were recorded last."""
    return model_id(model, _current_dimensions(model))


def model_name(model: Embedder) -> str:
    """Return the name of `model` with its current dimensions."""
    return _name_with_dimensions(model, _current_dimensions(model) or "")


def record_dimensions(model: Embedder, dimensions: int) -> int:
    """Record for all processes that vectors of `model` now have `dimensions`; return the id to store them under."""
    known = model_id(model, dimensions)
    _ensure_row(_name_with_dimensions(model, dimensions))
    if model.dimensions is not None:
        _ensure_row(model.name)
        _row_of_name(model).exclude(width=dimensions).update(width=dimensions)
        _seen[known] = time.monotonic()
    return known


def record_dimensions_throttled(model: Embedder, dimensions: int) -> None:
    """Record the dimensions of vectors of `model`, but at most every RECORD_INTERVAL_SECONDS in this process."""
    last = _seen.get(model_id(model, dimensions), -RECORD_INTERVAL_SECONDS)
    if model.dimensions is not None and time.monotonic() - last >= RECORD_INTERVAL_SECONDS:
        record_dimensions(model, dimensions)


def record_error(model: Embedder, error: Reason | None) -> None:
    """Store for all processes why `model` makes no vectors; None: it works again."""
    if error is None:
        _row_of_name(model).filter(error__isnull=False).update(error=None)
    else:
        _ensure_row(model.name)
        _row_of_name(model).exclude(error=error).update(error=error)


def error_of(model: Embedder) -> Reason | None:
    """Return why `model` makes no vectors, or None if it works."""
    return _row_of_name(model).values_list("error", flat=True).first()


def _name_with_dimensions(model: Embedder, dimensions: int | str) -> str:
    return model.name if model.dimensions is None else f"{model.name}{dimensions}"


def _current_dimensions(model: Embedder) -> int:
    return 0 if model.dimensions is None else _row_of_name(model).values_list("width", flat=True).first() or 0


def _row_of_name(model: Embedder) -> "QuerySet[EmbeddingModel]":
    return EmbeddingModel.objects.filter(pk=text_key(model.name))


def _ensure_row(name: str) -> None:
    known = text_key(name)
    if not EmbeddingModel.objects.filter(pk=known).exists():
        EmbeddingModel.objects.bulk_create([EmbeddingModel(id=known, name=name)], ignore_conflicts=True)
