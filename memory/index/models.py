"""The rows of the embedding models: which one's vectors count now, and whether it answers.

What a server has under one name can change, and with it the width of its vectors. So each width is a model of its own,
and the row of the name alone knows, for every process, which width it is now.
"""

import time

from django.db.models import QuerySet

from memory.index.embeddings import Embedder
from memory.models import EmbeddingModel
from memory.text.index_format import text_key
from oneclaw.reasons import Reason

# Seconds after which a process looks again whether all know of the width that it sees.
LOOK = 60.0
_seen: dict[int, float] = {}


def model_id(model: Embedder, width: int) -> int:
    """The number that stands beside every vector of this width that the model made; with 0, beside none."""
    return text_key(_name(model, width))


def current(model: Embedder) -> int:
    """The same of the width that its vectors had when somebody last asked it."""
    return model_id(model, _width(model))


def name(model: Embedder) -> str:
    """What that model is called, its width included."""
    return _name(model, _width(model) or "")


def see(model: Embedder, width: int) -> int:
    """Its vectors have this width now, and all shall know; the number that stands beside them."""
    known = model_id(model, width)
    _make(_name(model, width))
    if model.width is not None:
        _make(model.name)
        _bare(model).exclude(width=width).update(width=width)
        _seen[known] = time.monotonic()
    return known


def glance(model: Embedder, width: int) -> None:
    """The same for whoever is in a hurry: mostly it is known, and costs nothing."""
    if model.width is not None and time.monotonic() - _seen.get(model_id(model, width), -LOOK) >= LOOK:
        see(model, width)


def note(model: Embedder, error: Reason | None) -> None:
    """Keep with the model why it makes no vectors, where every process sees it; None when all is well."""
    if error is None:
        _bare(model).filter(error__isnull=False).update(error=None)
    else:
        _make(model.name)
        _bare(model).exclude(error=error).update(error=error)


def error_of(model: Embedder) -> Reason | None:
    return _bare(model).values_list("error", flat=True).first()


def _name(model: Embedder, width: int | str) -> str:
    return model.name if model.width is None else f"{model.name}{width}"


def _width(model: Embedder) -> int:
    return 0 if model.width is None else _bare(model).values_list("width", flat=True).first() or 0


def _bare(model: Embedder) -> "QuerySet[EmbeddingModel]":
    return EmbeddingModel.objects.filter(pk=text_key(model.name))


def _make(name: str) -> None:
    known = text_key(name)
    if not EmbeddingModel.objects.filter(pk=known).exists():
        EmbeddingModel.objects.bulk_create([EmbeddingModel(id=known, name=name)], ignore_conflicts=True)
