"""What the search of the chat shows of conversations that are about a question, with or without its words: found by the
search of memory, over the same index that the model searches."""

from dataclasses import replace

from chat import extensions
from chat.extensions import SearchResult
from chat.library.excerpts import excerpt
from memory.access.sources import sources_of_person
from memory.index.transcripts import without_labels
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.models import Space, User
from oneclaw.words import pieces_of

# More passages are searched than are shown, because several may be of one conversation.
SEARCHED_FACTOR = 3


def related(user: User, question: str, most: int) -> list[SearchResult]:
    """Return the best passage of each of at most `most` conversations that `user` may read and that are about
    `question`, best first; none if they have turned the search in conversations off."""
    sources = replace(sources_of_person(user), notes=False, recent=False)
    if not sources:
        return []
    spaces = list(Space.objects.visible_to(user))
    passages = HybridSearchManager(spaces, sources).search(question, most * SEARCHED_FACTOR, today=user.day())
    best: dict[str, Passage] = {}
    # What fills up the list has nothing of the question.
    for passage in (each for each in passages if each.found_by):
        best.setdefault(passage.conversation, passage)
    pieces = pieces_of(question)
    return [
        SearchResult(
            passage.origin.title if passage.origin else passage.heading,
            excerpt(extensions.memory().masked(without_labels(passage.snippet)), pieces),
            passage.address,
        )
        for passage in list(best.values())[:most]
    ]
