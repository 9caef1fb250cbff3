"""Find the files of a library that contain certain lines, in any of their versions."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from django.db.models import Q

from memory.models import FilePage, LibraryFile
from memory.policy.tombstones import LineMatcher
from oneclaw.models import Space
from oneclaw.words import contains, folded


def files_containing(space: Space, known: LineMatcher, phrases: Sequence[Sequence[str]]) -> list[LibraryFile]:
    """Return the files of `space` with a line of `known`, which matches `phrases` (the words of each line)."""
    rare = {max(words, key=len) for words in phrases if words}
    pages = FilePage.objects.filter(version__file__space=space)
    # The database leaves out most pages by the longest word of each line.
    pages = pages.filter(reduce(or_, (Q(contains("text", folded(word))) for word in rare), Q(pk=None)))
    found: set[int] = set()
    for file_id, text in pages.values_list("version__file", "text").iterator(chunk_size=50):
        if file_id not in found and known.is_in_text(text):
            found.add(file_id)
    return list(LibraryFile.objects.filter(pk__in=found).order_by("name"))
