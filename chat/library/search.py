"""Search in the chat: a person's messages by words, newest first, conversations by title, files by name, and the
results of extensions."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString

from chat import extensions
from chat.extensions import SearchResult
from chat.library.excerpts import around, excerpt, marked
from chat.models import ChatSession, Message, MessageFile, MessageQuerySet, MessageWords
from chat.models.sharing import visibility
from oneclaw.models import User
from oneclaw.words import contains, folded, is_one_word, pieces_of

# Limits of the results.
MAX_MESSAGES, MAX_TITLES, MAX_FILES = 30, 8, 8
# What is masked of a message around what was found. The longest secret, a private key, has 3,300 characters.
MASKED_CHARS = 4_000
# Limit of the results of each extension.
EXTENSION_MAX_RESULTS = 5
# How many of the newest messages with the words are read from the index; and how many in a second query, when too few
# of the first can be shown, because most are copies or in deleted conversations.
CANDIDATES, MAX_CANDIDATES = 500, 20_000
# When the index has nothing, so many of the person's newest messages are read for the question itself, which may begin
# in the middle of a word; and its least length for that.
READ_MESSAGES, READ_MIN_CHARS = 5_000, 3
# Fewer results of several pieces may not be what was meant by them: such as the end of one word and the next one.
FEW_MESSAGES = 5
# Each word as the index stores it, as a prefix. No word has characters that are tsquery syntax.
# They are stored with the owner of their conversation: the person, or who has shared one with a space of theirs.
HAS_WORDS = """
    words @@ (SELECT string_agg(of_owner, ' | ')::tsquery FROM (
        SELECT '(' || string_agg(quote_literal(owner.id || ':' || word) || ':*', ' & ') || ')' AS of_owner
        FROM unnest(oneclaw_words(%s)) AS word, (
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


def messages(user: User, question: str, most: int = MAX_MESSAGES) -> list[SearchHit]:
    """Return the newest shown messages of the person that contain every piece of `question`, each at the beginning of a
    word; when there is none, those that contain them anywhere; after few, those that have the question as it is typed.

    Of a message and its copies in forks one is found: the original, or the oldest copy when the original is not shown.
    """
    pieces = pieces_of(question)
    if not pieces:
        return []
    newest = list(without_copies(with_words(user, pieces, CANDIDATES), most))
    if len(newest) < most:
        newest = list(without_copies(with_words(user, pieces, MAX_CANDIDATES), most))
    if not newest and max(map(len, pieces)) >= READ_MIN_CHARS:
        newest = list(without_copies(containing(user, pieces), most))
    elif len(newest) < FEW_MESSAGES and len(pieces) > 1:
        quoted = list(without_copies(containing(user, [folded(" ".join(question.split()))]), most))
        newest = list(dict.fromkeys([*newest, *quoted]))[:most]
    return [SearchHit(each, _excerpt_of(each, pieces)) for each in newest]


def _excerpt_of(message: Message, pieces: list[str]) -> SafeString:
    """Return a piece of `message`: a person's text as it was written, an answer as Markdown, both without secrets."""
    near = around(message.text, pieces, MASKED_CHARS)
    return excerpt(extensions.memory().masked(near), pieces, is_markdown=message.role == Message.Role.ASSISTANT)


def without_copies(found: QuerySet[Message], most: int) -> QuerySet[Message]:
    """Return the newest of `found`, at most `most`, without copies of other ones."""
    # A copy has the text and the time of its original.
    is_copy = Q(seq__lte=F("session__copied_seq"))
    ordered = found.alias(is_copy=ExpressionWrapper(is_copy, BooleanField()))
    ordered = ordered.select_related("session").only("role", "seq", "text", "created_at", "session__title")
    ordered = ordered.order_by("-created_at", "role", "text", "is_copy", "pk")
    return ordered.distinct("created_at", "role", "text")[:most]


def with_words(user: User, pieces: list[str], candidates: int) -> QuerySet[Message]:
    """Return the person's shown messages that contain every piece, among the newest `candidates` of the index."""
    # The index of words first, which is faster than reading all messages of the person.
    asked = [" ".join(pieces), user.pk, user.pk]
    matching = RawSQL(HAS_WORDS, asked, output_field=BooleanField())  # noqa: S611 - ours
    # The sum keeps PostgreSQL from scanning the primary key backwards through the messages of all people.
    newest = MessageWords.objects.filter(matching).order_by((F("message_id") + 0).desc())[:candidates]
    shown = _searched(user).filter(pk__in=newest.values("message_id"))
    # The words of such a piece may stand apart from each other.
    return shown.filter(*(contains("text", piece) for piece in pieces if not is_one_word(piece)))


def containing(user: User, pieces: list[str]) -> QuerySet[Message]:
    """Return those of the person's newest messages that contain every piece anywhere. Reads each of them."""
    indexed = _searched(user).finished().exclude(session__mode=ChatSession.Mode.TEMPORARY)
    newest = indexed.order_by("-pk").values("pk")[:READ_MESSAGES]
    return Message.objects.filter(pk__in=newest).filter(*(contains("text", piece) for piece in pieces))


def _searched(user: User) -> MessageQuerySet:
    """Return the messages that `user` may find."""
    return Message.objects.visible_to(user).said().filter(active=True).exclude(session__kind=ChatSession.Kind.BEAT)


def titles(user: User, question: str) -> list[ChatSession]:
    """Return the newest conversations whose titles contain every piece of `question`; all when it is empty."""
    wanted = [contains("title", piece) for piece in pieces_of(question)]
    return list(ChatSession.objects.visible_to(user).written().filter(*wanted).only("title", "active_at")[:MAX_TITLES])


def files(user: User, question: str) -> list[SearchHit]:
    """Return the newest files of visible conversations whose names contain every piece of `question`."""
    pieces = pieces_of(question)
    if not pieces:
        return []
    shown = visibility.visible(user, "message__session__") & Q(message__session__deleted_at=None, message__active=True)
    named = MessageFile.objects.filter(shown, *(contains("attachment__name", piece) for piece in pieces))
    copied = Q(message__seq__lte=F("message__session__copied_seq"))
    newest = named.alias(is_copy=ExpressionWrapper(copied, BooleanField())).select_related("message__session")
    newest = newest.order_by("-attachment__created_at", "attachment", "is_copy", "message")
    found = newest.distinct("attachment__created_at", "attachment").annotate(name=F("attachment__name"))[:MAX_FILES]
    return [SearchHit(each.message, marked(each.name, pieces)) for each in found]


def related(user: User, question: str, found: Iterable[SearchHit] = ()) -> list[SearchResult]:
    """Return what memory has of conversations that are about `question`, with or without its words, without those that
    were `found` by its words."""
    if not pieces_of(question):
        return []
    shown = {f"/c/{each.message.session_id}" for each in found}
    results = extensions.memory().related(user, question, len(shown) + EXTENSION_MAX_RESULTS)
    others = [each for each in results if each.address.partition("#")[0] not in shown]
    return others[:EXTENSION_MAX_RESULTS]


def extension_results(user: User, question: str) -> dict[str, list[SearchResult]]:
    """Return {extension name: results} for `question`."""
    pieces = pieces_of(question)
    if not pieces:
        return {}
    found = {extension.name: extension.search for extension in extensions.installed() if extension.search}
    return {name: search(user, pieces, EXTENSION_MAX_RESULTS) for name, search in found.items()}
