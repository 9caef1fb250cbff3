"""Explain why a search does not find a line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from memory.access.sources import Sources
from memory.lab.golden import bare, rank_of
from memory.models import MemoryDocument
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.models import Space

# How far down the ranking is looked.
RANKED_MAX_RESULTS = 300


@dataclass(frozen=True)
class Reasons:
    """The sentence that says why, and the passage that holds the line, if a search ranks it at all."""

    sentence: str
    passage: Passage | None = None


def why_not(spaces: Sequence[Space], sources: Sources, question: str, line: str, **options: Any) -> Reasons:
    """Return why the first results for `question` lack the line that contains the text `line`.

    `options` are those of the search whose results were shown, such as `max_results` and `today`.
    """
    wanted = bare(line)
    if not wanted:
        return Reasons(_("Enter some words of the line."))
    manager = HybridSearchManager(spaces, sources)
    shown = manager.search(question, **options)
    if rank := rank_of(wanted, shown):
        return Reasons(_("It is found, as result %(rank)d.") % {"rank": rank}, shown[rank - 1])
    ranked = manager.search(question, **options | {"max_results": RANKED_MAX_RESULTS, "min_score": 0, "slack": 0})
    rank = rank_of(wanted, ranked)
    if rank is not None:
        passage = ranked[rank - 1]
        return Reasons(_ranked_low(rank, passage, shown), passage)
    document = _document_with(wanted, spaces)
    if document is None:
        return Reasons(_("No document contains these words."))
    if document.indexed_version < document.version:
        return Reasons(_("%(path)s was changed and is not in the search index yet.") % {"path": document.path})
    sentence = _("The line is in %(path)s, but it has no word in common with the question, nor its meaning.")
    return Reasons(sentence % {"path": document.path})


def _ranked_low(rank: int, passage: Passage, shown: Sequence[Passage]) -> str:
    """Return why the `passage` at `rank` is not among `shown`."""
    if not shown:
        sentence = _("It would be result %(rank)d, but memory seems to have no answer: nothing is shown.")
        return sentence % {"rank": rank}
    missing = []
    if passage.text_score < min(each.text_score for each in shown):
        missing.append(_("it has fewer of the question’s words than each result"))
    if passage.vector_score < min(each.vector_score for each in shown):
        missing.append(_("its meaning is further from the question than that of each result"))
    why = "; ".join(missing) or _("others are more likely to answer")
    return _("It is result %(rank)d: %(why)s.") % {"rank": rank, "why": why}


def _document_with(wanted: str, spaces: Iterable[Space]) -> MemoryDocument | None:
    """Return a document of `spaces` that contains the text `wanted`."""
    documents = MemoryDocument.objects.present().filter(space__in=[space.pk for space in spaces])
    return next((each for each in documents.iterator(chunk_size=50) if wanted in bare(each.content)), None)
