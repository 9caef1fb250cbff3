"""Find what an answer cites: the line, moment or page of a passage that was sent for it, as it is now."""

import re

from chat.models import ChatSession, Message
from chat.rendering.citations import MARK, marked_texts
from chat.turns.answer_lines import finished_answer
from memory.library import texts
from memory.library.search import page_address
from memory.models import LibraryFile
from memory.provenance.shown import shown_memories
from memory.provenance.used import UsedMemory, marked_in
from memory.text.terms import terms_of
from oneclaw.models import Space, User

# How much of an answer before a mark says which line of a file it rests on.
STATEMENT_MAX_CHARS = 240


def source_address(user: User, message: Message, mark: str) -> str:
    """Return the URL of the passage with `mark` that `message` cites; "" when `user` may not see it, or when it was not
    sent for this answer or is not there any more."""
    answer = finished_answer(message)
    used = marked_in(answer).get(mark) if answer else None
    if used is None:
        return ""
    if used.file_id:
        return _file_address(user, used, statement_before(message, mark))
    (shown,) = shown_memories([used], message.session, user)
    if used.is_attached:
        return shown.address
    if used.is_of_conversation:
        is_visible = ChatSession.objects.visible_to(user).filter(pk=used.path.removeprefix("/c/")).exists()
    else:
        is_visible = shown.space is None or Space.objects.visible_to(user).filter(pk=shown.space.pk).exists()
    return shown.address if is_visible else ""


def _file_address(user: User, used: UsedMemory, statement: str) -> str:
    file = LibraryFile.objects.visible_to(user).filter(pk=used.file_id).first()
    version = texts.searched_version(file) if file else None
    if file is None or version is None:
        return ""
    first, last = used.lines
    if used.is_whole:
        first = last = best_line_of(used.text, statement)
    page = texts.page_of_line(version, first) if version.pages else 0
    return page_address(file.pk, page, first, last)


def best_line_of(text: str, statement: str) -> int:
    """Return the number of the line of `text`, from 1, with most words of `statement`; the first of equals."""
    said, lines = set(terms_of(statement)), text.split("\n")
    return 1 + max(range(len(lines)), key=lambda index: len(said & set(terms_of(lines[index]))))


def statement_before(message: Message, mark: str) -> str:
    """Return the end of what `message` says before its first `mark`."""
    text = "\n\n".join(block["text"] for block in marked_texts(message.content) if block["type"] == "text")
    before = re.sub(rf"\[{MARK}!?\]", " ", text[: max(0, text.find(mark))])
    return before[-STATEMENT_MAX_CHARS:]
