"""What the search of the chat shows of conversations that are about a question, with or without its words: found by the
search of memory, over the same index that the model searches."""

from chat import extensions
from chat.extensions import SearchResult
from chat.library.excerpts import excerpt
from memory.index.transcripts import without_labels
from memory.policy import switches
from memory.policy.access import Sources
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.models import Space, User
from oneclaw.words import pieces_of

# More passages are searched than are shown, because several may be of one conversation.
SEARCHED_FACTOR = 3


def related(user: User, question: str, most: int) -> list[SearchResult]:
    """Return the best passage of each of at most `most` conversations that `user` may read and that are about
    `question`, best first; none if they have turned the search in conversations off."""
    if not switches.is_on(user, switches.Switch.TRANSCRIPTS):
        return []
    sources = Sources(notes=False, recent=False, transcripts_of=user, shared_transcripts=True, asked_by=user)
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
            excerpt(extensions.masked(without_labels(passage.snippet)), pieces),
            passage.address,
        )
        for passage in list(best.values())[:most]
    ]
