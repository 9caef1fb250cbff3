"""Finding what was said: a person's own messages by their words, newest first, and conversations by their titles."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from chat.models import ChatSession, Message, MessageWords
from oneclaw.models import User

# Characters of a question that are read, and its words.
LONGEST, MOST_WORDS = 200, 12
# What is found at most: messages and titles.
MESSAGES, TITLES = 30, 8
# Characters of a snippet before and after the first word that was found.
BEFORE, AFTER = 60, 160
# Newest messages with the words of which those are chosen that are shown.
LOOKED_AT = 2000
WORD = re.compile(r"\w+")
# Each word as the index knows it, and whatever begins like it. \w leaves nothing in a word that means something here.
HOLDING = """
    words @@ (SELECT string_agg(quote_literal(%s || ':' || word) || ':*', ' & ')::tsquery
              FROM unnest(tsvector_to_array(to_tsvector('simple', %s))) AS word)
"""
# Scripts that are written without spaces: PostgreSQL takes a run of them for one word.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class Found:
    """One message that was found, and where in it."""

    message: Message
    # A piece of its text as safe HTML, with the words that were asked for in <mark>.
    snippet: SafeString

    def get_absolute_url(self) -> str:
        return f"/c/{self.message.session_id}#message-{self.message.pk}@{self.message.seq}"


def words_of(question: str) -> list[str]:
    return list(dict.fromkeys(WORD.findall(question[:LONGEST].lower())))[:MOST_WORDS]


def messages(user: User, question: str) -> list[Found]:
    """The newest of the person's shown messages that hold every word of the question, each as a word's beginning."""
    words = words_of(question)
    if not words:
        return []
    found = holding(user, words).select_related("session").only("role", "seq", "text", "created_at", "session__title")
    return [Found(message, snippet(message.text, words)) for message in found.order_by("-created_at", "-pk")[:MESSAGES]]


def holding(user: User, words: list[str]) -> QuerySet[Message]:
    shown = Message.objects.visible_to(user).filter(active=True, role__in=[Message.Role.USER, Message.Role.ASSISTANT])
    spaced = [word for word in words if not UNSPACED.search(word)]
    if spaced:
        # By the index of words first, which is quicker than reading all that the person ever said.
        matching = RawSQL(HOLDING, [str(user.pk), " ".join(spaced)], output_field=BooleanField())  # noqa: S611 - ours
        newest = MessageWords.objects.filter(matching).order_by("-message_id")[:LOOKED_AT]
        shown = shown.filter(pk__in=newest.values("message_id"))
    for word in words:
        if word not in spaced:
            shown = shown.filter(text__icontains=word)
    return shown


def titles(user: User, question: str) -> list[ChatSession]:
    """The newest conversations whose titles hold every word of the question; the newest of all for no question."""
    wanted = Q()
    for word in words_of(question):
        wanted &= Q(title__icontains=word)
    return list(ChatSession.objects.visible_to(user).written().filter(wanted).only("title", "active_at")[:TITLES])


def snippet(text: str, words: list[str]) -> SafeString:
    """The piece of `text` around the first of `words`, as safe HTML. Pure."""
    pattern = re.compile(
        "|".join(rf"(?<!\w){re.escape(w)}" if not UNSPACED.search(w) else re.escape(w) for w in words), re.I
    )
    first = pattern.search(text)
    start = max(0, first.start() - BEFORE) if first else 0
    if start:
        start = text.find(" ", start, start + BEFORE // 2) + 1 or start
    piece = " ".join(text[start : start + BEFORE + AFTER].split())
    parts = "".join(_marked(piece, pattern))
    more = "…" if start + BEFORE + AFTER < len(text) else ""
    return mark_safe(("…" if start else "") + parts + more)  # noqa: S308 - escaped below


def _marked(piece: str, pattern: re.Pattern[str]) -> Iterator[str]:
    end = 0
    for found in pattern.finditer(piece):
        yield escape(piece[end : found.start()])
        yield f"<mark>{escape(found[0])}</mark>"
        end = found.end()
    yield escape(piece[end:])
