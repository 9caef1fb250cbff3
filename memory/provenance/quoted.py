"""The quiet line under an answer: the one line of memory that it rests on, who said it and when, and what was saved."""

import datetime as dt
from collections.abc import Collection

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from chat.extensions import AnswerLine, FinishedAnswer, Quote, WordedLine
from chat.models import ChatSession
from memory.access.load import access_of
from memory.policy.addresses import located
from memory.policy.tombstones import BLANK
from memory.provenance.shown import placed_memories, readable
from memory.provenance.used import UsedMemory, best_used, count
from memory.text.terms import terms_of

# What is kept of a quoted line; the page shows one row of it.
QUOTE_MAX_CHARS = 300


def line_of_answer(answer: FinishedAnswer, session: ChatSession) -> AnswerLine:
    """Return what is stored for the line under `answer` of `session`; {} for no line."""
    line, best = count(answer), best_used(answer)
    if best is not None:
        line["quote"] = quote_of(best, answer, session)
    return line


def quote_of(best: UsedMemory, answer: FinishedAnswer, session: ChatSession) -> Quote:
    """Return the line of `best` that says most of what `answer` and its question say, with who said it and when."""
    access = access_of(session)
    (shown,) = placed_memories([best], access, session.owner)
    text = best_line(readable(best.text), f"{answer.question} {answer.answer}")
    return Quote(
        text=text if len(text) <= QUOTE_MAX_CHARS else text[: QUOTE_MAX_CHARS - 1].rstrip() + "…",
        path=best.path if located(best.path)[0] is not None or best.path.startswith("/") else "",
        # Each member of a space reads the same line.
        is_own=shown.is_own and not access.is_of_space,
        day=shown.day.isoformat() if shown.day else "",
        title=shown.source if best.file_id or best.is_attached else "",
    )


def best_line(text: str, said: str) -> str:
    """Return the line of `text` that has most words of `said`; the first of equals. Pure."""
    words = set(terms_of(said))
    return max(text.split("\n"), key=lambda line: len(words & set(terms_of(line)))).strip()


def worded_line(line: AnswerLine, message_id: int, undone: Collection[int] | None) -> WordedLine | None:
    """Return the line under the answer that ends with the message `message_id`; None when it says nothing.

    `undone` has what of its saves is not there any more; None: they are said near the line already.
    """
    quote = line.get("quote")
    has_text = quote is not None and BLANK not in quote["text"]
    shown = gettext("“%(text)s”") % {"text": quote["text"]} if quote and has_text else ""
    words = after_quote(line, quote) if quote and has_text else counted(line)
    saved = sum(made not in undone for made in line.get("made", ())) if undone is not None else 0
    if not shown and not words and not saved:
        return None
    return WordedLine(
        quote=shown,
        words=words,
        address=reverse("message_memories", args=[message_id]),
        saved=ngettext("+%(number)d saved", "+%(number)d saved", saved) % {"number": saved} if saved else "",
        undo=reverse("memory_undo_saves", args=[message_id]),
    )


def after_quote(line: AnswerLine, quote: Quote) -> str:
    """Return what follows the quotation: who said it and when, or which file it is of, and how many more were used."""
    parts = [quote["title"] or said_on(quote)]
    if more := line.get("used", 0) + line.get("files", 0) - 1:
        parts.append(ngettext("and %(number)s more", "and %(number)s more", more) % {"number": more})
    return " · ".join(filter(None, parts))


def said_on(quote: Quote) -> str:
    """Return who said it and on which day, without the year if it is this one."""
    if not quote["day"]:
        return ""
    day = dt.date.fromisoformat(quote["day"])
    is_this_year = day.year == timezone.localdate().year
    when = date_format(day, "MONTH_DAY_FORMAT" if is_this_year else "DATE_FORMAT")
    return gettext("you, %(day)s") % {"day": when} if quote["is_own"] else when


def counted(line: AnswerLine) -> str:
    """Return how many memories and passages were used, or only looked at: the line of an answer without a quotation."""
    used, files, looked = line.get("used", 0), line.get("files", 0), line.get("looked", 0)
    if not used and not files:
        words = ngettext("Looked at %(number)d memory", "Looked at %(number)d memories", looked)
        return words % {"number": looked} if looked else ""
    of_used = ngettext("Used %(number)d memory", "Used %(number)d memories", used) % {"number": used}
    if not files:
        return of_used
    of_files = ngettext("%(number)d passage of documents", "%(number)d passages of documents", files)
    of_files %= {"number": files}
    return f"{of_used} · {of_files}" if used else gettext("Used %(passages)s") % {"passages": of_files}
