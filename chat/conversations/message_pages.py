"""Load the messages of a conversation for a page: the newest, earlier ones, the cards of their tool calls, and the
markers where summaries of them end."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import QuerySet, prefetch_related_objects
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from chat import extensions
from chat.conversations.shown import read_shown
from chat.extensions import CallUpdate
from chat.models import ChatSession, Message
from chat.rendering.answer_lines import quoted_address, without_quote
from chat.rendering.cards import Card
from chat.rendering.messages import card_html, messages_html
from chat.rendering.round_markers import markers_of
from chat.rendering.shown import ShownMessage
from oneclaw import pubsub
from oneclaw.reasons import Reason

# The columns that the HTML of a message is made of.
SHOWN_COLUMNS = (
    *("session", "author", "parent", "turn", "role", "seq", "status", "created_at"),
    *("content", "meta", "text", "html", "html_version", "stop_reason"),
)
# Messages that a page shows at once.
PAGE_SIZE = 50
# Above the sequence number of every message.
LAST_NUMBER = 2**60


def newest_messages(
    session_id: uuid.UUID, csrf_token: str = "", before: int = LAST_NUMBER, *, has_markers: bool = True
) -> SafeString:
    """Return the last PAGE_SIZE shown messages of a session with a sequence number below `before`, in order, as HTML;
    before them a link to earlier ones, if there are any.

    The page begins with a person's message, so that no answer is without its question and no tool call without its
    result. The forms of cards and markers carry `csrf_token`. Without `has_markers` it is known that there are none.
    """
    found = newest(session_id, before)
    as_html = with_markers if has_markers else articles
    if len(found) <= PAGE_SIZE:
        return as_html(found, csrf_token)
    begins = (index for index, each in enumerate(found) if index and each.message.role == Message.Role.USER)
    found = found[next(begins, 1) :]
    return earlier_html(found) + as_html(found, csrf_token)


def messages_from(messages: QuerySet[Message], seq: int, csrf_token: str = "") -> SafeString:
    """Return all messages from sequence number `seq` on as HTML, with the person's message before the first of them.

    A link to earlier ones comes first, if there are any. The forms of cards and markers carry `csrf_token`.
    """
    by_person = messages.filter(role=Message.Role.USER, seq__lte=seq).order_by("-seq").values_list("seq", flat=True)
    found = loaded(messages.filter(seq__gte=by_person.first() or seq))
    shown = with_markers(found, csrf_token)
    return earlier_html(found) + shown if found and found[0].message.seq > 1 else shown


def with_markers(found: Sequence[ShownMessage], csrf_token: str = "") -> SafeString:
    """Return the messages of a page in order as HTML, with the markers of the summaries that end among them."""
    shown, rest = SafeString(), found
    markers = markers_of(found[0].message.session_id, csrf_token) if found else []
    cards = prepared(found, csrf_token)
    for seq, marker in markers:
        if not found[0].message.seq <= seq <= found[-1].message.seq:
            continue
        count = sum(each.message.seq <= seq for each in rest)
        shown += messages_html(rest[:count], cards) + marker
        rest = rest[count:]
    return shown + messages_html(rest, cards)


def earlier_html(listed: Sequence[ShownMessage]) -> SafeString:
    first = listed[0].message
    context = {"session_id": first.session_id, "before": first.seq}
    return render_to_string("chat/_earlier.html", context)


def page_messages(messages: QuerySet[Message], csrf_token: str = "") -> SafeString:
    """Return `messages` in order as HTML. The forms of cards carry `csrf_token`."""
    return articles(loaded(messages), csrf_token)


def loaded(messages: QuerySet[Message]) -> list[ShownMessage]:
    return read_shown(messages.only(*SHOWN_COLUMNS))


def newest(session_id: uuid.UUID, before: int) -> list[ShownMessage]:
    """Return a page of the newest shown messages and one more, in order."""
    shown = Message.objects.shown().filter(session=session_id, seq__lt=before)
    return loaded(shown.order_by("-seq")[: PAGE_SIZE + 1])


def articles(listed: Sequence[ShownMessage], csrf_token: str = "") -> SafeString:
    return messages_html(listed, prepared(listed, csrf_token))


def prepared(listed: Sequence[ShownMessage], csrf_token: str) -> dict[str, Card]:
    """Load the turns of failed messages, which their HTML shows something of; return the cards of the tool calls."""
    messages = [each.message for each in listed]
    prefetch_related_objects([message for message in messages if message.status == Message.Status.FAILED], "turn")
    return cards_of(messages, csrf_token)


def cards_of(messages: Iterable[Message], csrf_token: str = "") -> dict[str, Card]:
    """Return the cards of the tool results among `messages`, by tool_use id, each with its tool's update; take out of
    the answers among them the quotations that may not be read any more. Sync."""
    cards: dict[str, Card] = {}
    names: dict[str, str] = {}
    messages = list(messages)
    for message in messages:
        cards |= message.meta.get("cards", {})
        names |= {use["id"]: use["name"] for use in message.tool_uses()}
    if messages:
        cards |= lost_cards(messages, cards, names)
    made: dict[str, dict[int, str]] = defaultdict(dict)
    for id, card in cards.items():
        if id in names and (number := card.get("made")) is not None:
            made[names[id]][number] = id
    for name, ids in made.items():
        for number, since in extensions.tool_updates(name, list(ids), csrf_token).items():
            cards[ids[number]] = cards[ids[number]] | {"since": since}
    return cards


def lost_cards(messages: Sequence[Message], cards: Mapping[str, Card], names: Mapping[str, str]) -> dict[str, Card]:
    """Return what is shown in place of those of `cards` (by id, with the `names` of their tools) that are of a memory
    which the owner may not read any more, and take quotations of it out of `messages`. A query only when one names what
    is not the owner's own."""
    of_memory = {id: card for id, card in cards.items() if extensions.tool_named(names.get(id, "")).about_memory}
    named = {id: extensions.memory().addresses_in(card.get("result", "")) for id, card in of_memory.items()}
    quoting = [(message, path) for message in messages if (path := quoted_address(message))]
    addresses = {path for _message, path in quoting}.union(*named.values())
    if not addresses:
        return {}
    session = ChatSession.objects.select_related("owner").get(pk=messages[0].session_id)
    lost = extensions.memory().lost_addresses(session, addresses)
    for message, path in quoting:
        if path in lost:
            # Of the row as it is shown; what is stored stays, as the pieces that were sent do.
            message.meta = without_quote(message.meta)
    shown: Card = {"state": "done", "summary": Reason("call.lost").as_json, "lines": [], "lost": True}
    return {id: shown for id, found in named.items() if found & lost}


def updated_card_html(answer: Message, tool_use_id: str, since: CallUpdate) -> str:
    """Return the card of one call of `answer` as it is now; "" while its result is not stored. Sync."""
    use = next(use for use in answer.tool_uses() if use["id"] == tool_use_id)
    for meta in Message.objects.filter(parent=answer, role=Message.Role.TOOL).values_list("meta", flat=True):
        if card := meta.get("cards", {}).get(tool_use_id):
            return card_html(use, card | {"since": since})
    return ""


def notify_updated(message: Message) -> None:
    """Notify every process, on commit, that a card of the finished `message` shows something else now."""
    pubsub.notify(f"session:{message.session_id}", {"kind": "updated", "message": str(message.pk)})
