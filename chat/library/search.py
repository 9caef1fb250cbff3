"""Search in the chat: a person's messages by words, newest first, conversations by title, files by name, and the
results of extensions."""

import re
from dataclasses import dataclass

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString, mark_safe

from chat import extensions
from chat.extensions import SearchResult
from chat.library.excerpts import UNSPACED, excerpt, marked_parts, pattern_of
from chat.models import ChatSession, Message, MessageFile, MessageWords
from chat.models.sharing import visibility
from oneclaw.models import User

# Limits of a question; what is longer is ignored.
QUESTION_MAX_CHARS, QUESTION_MAX_WORDS = 200, 12
# Limits of the results.
MAX_MESSAGES, MAX_TITLES, MAX_FILES = 30, 8, 8
# Limit of the results of each extension.
EXTENSION_MAX_RESULTS = 5
# How many of the newest messages with the words are read from the index; and how many in a second query, when too few
# of the first can be shown, because most are copies or in deleted conversations.
CANDIDATES, MAX_CANDIDATES = 500, 20_000
WORD = re.compile(r"\w+")
# Each word as the index stores it, as a prefix. \w excludes all characters that are tsquery syntax.
# They are stored with the owner of their conversation: the person, or who has shared one with a space of theirs.
HAS_WORDS = """
    words @@ (SELECT string_agg(of_owner, ' | ')::tsquery FROM (
        SELECT '(' || string_agg(quote_literal(owner.id || ':' || word) || ':*', ' & ') || ')' AS of_owner
        FROM unnest(tsvector_to_array(to_tsvector('simple', %s))) AS word, (
            SELECT %s::bigint AS id
            UNION SELECT owner_id FROM chat_chatsession WHERE shared_at IS NOT NULL AND deleted_at IS NULL
                AND space_id = ANY(ARRAY(SELECT space_id FROM oneclaw_spacerole WHERE user_id = %s))
        ) AS owner
        GROUP BY owner.id
    ) AS owned)
"""


@dataclass(frozen=True)
class SearchHit:
    """What was found: a message, or a file with the first shown message that references it."""

    message: Message
    # A piece of the message's text, or the name of the file, as safe HTML, with the words of the question in <mark>.
    snippet: SafeString

    def get_absolute_url(self) -> str:
        """Return the URL of the message in its conversation."""
        return f"/c/{self.message.session_id}#message-{self.message.pk}@{self.message.seq}"


def words_of(question: str) -> list[str]:
    """Return the words of `question` in lower case, each once, up to the limits of a question."""
    return list(dict.fromkeys(WORD.findall(question[:QUESTION_MAX_CHARS].lower())))[:QUESTION_MAX_WORDS]


def messages(user: User, question: str, most: int = MAX_MESSAGES) -> list[SearchHit]:
    """Return the newest shown messages of the person that contain every word of `question` as a prefix of a word.

    Of a message and its copies in forks one is found: the original, or the oldest copy when the original is not shown.
    """
    words = words_of(question)
    if not words:
        return []
    newest = list(without_copies(with_words(user, words, CANDIDATES), most))
    if len(newest) < most:
        newest = list(without_copies(with_words(user, words, MAX_CANDIDATES), most))
    return [SearchHit(each, _excerpt_of(each, words)) for each in newest]


def _excerpt_of(message: Message, words: list[str]) -> SafeString:
    """Return a piece of `message`: a person's text as it was written, an answer as Markdown, both without secrets."""
    return excerpt(extensions.masked(message.text), words, is_markdown=message.role == Message.Role.ASSISTANT)


def without_copies(found: QuerySet[Message], most: int) -> QuerySet[Message]:
    """Return the newest of `found`, at most `most`, without copies of other ones."""
    # A copy has the text and the time of its original.
    is_copy = Q(seq__lte=F("session__copied_seq"))
    ordered = found.alias(is_copy=ExpressionWrapper(is_copy, BooleanField()))
    ordered = ordered.select_related("session").only("role", "seq", "text", "created_at", "session__title")
    ordered = ordered.order_by("-created_at", "role", "text", "is_copy", "pk")
    return ordered.distinct("created_at", "role", "text")[:most]


def with_words(user: User, words: list[str], candidates: int) -> QuerySet[Message]:
    """Return the person's shown messages that contain every word, among the newest `candidates` of the index."""
    shown = Message.objects.visible_to(user).said().filter(active=True).exclude(session__kind=ChatSession.Kind.BEAT)
    spaced = [word for word in words if not UNSPACED.search(word)]
    if spaced:
        # The index of words first, which is faster than reading all messages of the person.
        matching = RawSQL(HAS_WORDS, [" ".join(spaced), user.pk, user.pk], output_field=BooleanField())  # noqa: S611 - ours
        # The sum keeps PostgreSQL from scanning the primary key backwards through the messages of all people.
        newest = MessageWords.objects.filter(matching).order_by((F("message_id") + 0).desc())[:candidates]
        shown = shown.filter(pk__in=newest.values("message_id"))
    for word in words:
        if word not in spaced:
            shown = shown.filter(text__icontains=word)
    return shown


def titles(user: User, question: str) -> list[ChatSession]:
    """Return the newest conversations whose titles contain every word of `question`; all when it is empty."""
    wanted = Q()
    for word in words_of(question):
        wanted &= Q(title__icontains=word)
    return list(ChatSession.objects.visible_to(user).written().filter(wanted).only("title", "active_at")[:MAX_TITLES])


def files(user: User, question: str) -> list[SearchHit]:
    """Return the newest files in conversations that the person may see whose names contain every word of `question`."""
    words = words_of(question)
    if not words:
        return []
    shown = visibility.visible(user, "message__session__") & Q(message__session__deleted_at=None, message__active=True)
    named = MessageFile.objects.filter(shown)
    for word in words:
        named = named.filter(attachment__name__icontains=word)
    copied = Q(message__seq__lte=F("message__session__copied_seq"))
    newest = named.alias(is_copy=ExpressionWrapper(copied, BooleanField())).select_related("message__session")
    newest = newest.order_by("-attachment__created_at", "attachment", "is_copy", "message")
    found = newest.distinct("attachment__created_at", "attachment").annotate(name=F("attachment__name"))[:MAX_FILES]
    pattern = pattern_of(words, whole=False)
    return [SearchHit(each.message, mark_safe("".join(marked_parts(each.name, pattern)))) for each in found]  # noqa: S308


def extension_results(user: User, question: str) -> dict[str, list[SearchResult]]:
    """Return {extension name: results} for `question`."""
    words = words_of(question)
    if not words:
        return {}
    found = {extension.name: extension.search for extension in extensions.installed() if extension.search}
    return {name: search(user, words, EXTENSION_MAX_RESULTS) for name, search in found.items()}
