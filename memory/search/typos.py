"""Correct the words of a question that memory does not contain to similar words that it does contain."""

import difflib
import re
from collections.abc import Iterable

from memory.models import FileChunk, MemoryChunk
from oneclaw.models import Space

WORD = re.compile(r"[^\W\d_]{4,}")
# The newest chunks whose words are known, those of memory before those of files, and the similarity (difflib) from
# which a word is taken for a misspelled one: two neighbouring letters exchanged in a word of six letters give 0.83.
READ_MAX_CHUNKS, SIMILAR_MIN_RATIO = 5_000, 0.8


def corrected(query: str, spaces: Iterable[Space]) -> str:
    """Return `query` with each word that the memory and the files of `spaces` do not contain replaced by the most
    similar one that they contain; unchanged if there is none. Words of fewer than four letters stay."""
    ids = [space.pk for space in spaces]
    texts: list[str] = []
    for chunks in (MemoryChunk.objects, FileChunk.objects):
        newest = chunks.filter(space__in=ids).order_by("-pk").values_list("text", flat=True)
        texts += newest[: READ_MAX_CHUNKS - len(texts)]
    known = vocabulary(texts)

    def replacement(found: re.Match[str]) -> str:
        word = found[0].lower()
        if any(each.startswith(word[:-1]) for each in known):
            return found[0]
        return next(iter(difflib.get_close_matches(word, known, 1, SIMILAR_MIN_RATIO)), found[0])

    return WORD.sub(replacement, query)


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Return the words of `texts` in lower case, each once, in alphabetical order."""
    return sorted({word for text in texts for word in WORD.findall(text.lower())})
