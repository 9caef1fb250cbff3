"""Write Recent Conversations.md: a title and a summary of each of the newest conversations, newest first."""

import datetime as dt
import itertools
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q
from django.template.loader import get_template

from chat.models import Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.transcripts import said_while_on
from memory.documents import write as documents
from memory.documents.write import Author, Delete, Replace, Source
from memory.models import DocumentJob, MemoryDocument
from memory.notes.claims import MODEL_MAX_ATTEMPTS
from memory.notes.payers import payer_of_notes
from memory.policy import tombstones
from memory.policy.imported import imported_through, title_for_memory
from memory.policy.paths import RECENT_NAME
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from memory.text.recent_sections import SECTION, conversation_spans, parts_of
from memory.trust.sources import sent_until
from oneclaw import llm
from oneclaw.llm.failures import BudgetUsedUpError, ModelRequestError
from oneclaw.llm.quoting import quoted, shortened
from oneclaw.llm.structured import STRING, object_schema
from oneclaw.models import Space, Spend
from oneclaw.reasons import Reason
from oneclaw.spend.calls import Payer
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

HEADING = "# Recent Conversations\n\n"
# Text of the conversation that the model reads, and of the title and the summary of a section.
READ_MAX_CHARS = 60_000
TITLE_MAX_CHARS = 80
SUMMARY_MAX_CHARS = 800
TITLE_MAX_WORDS = 8
ANSWER_MAX_TOKENS = 2_000
SCHEMA = object_schema(title=STRING, summary=STRING)


@dataclass(frozen=True)
class ConversationSummary:
    """The title and the summary of a conversation, the local time of its last message, and whether they were made from
    foreign text."""

    title: str
    text: str
    at: dt.datetime
    is_foreign: bool = False


def is_wanted(access: MemoryAccess) -> bool:
    """Return whether the owner of a conversation wants it in the document."""
    return Switch.RECENT in access.on


def compose(job: DocumentJob) -> ConversationSummary | None:
    """Return title and summary by the fast model; None when the person said nothing.

    The first line of the conversation is the title when the answer cannot be parsed, or when the model failed
    MODEL_MAX_ATTEMPTS times. Raise ModelRequestError before that.
    """
    session, access = job.session, access_of(job.session)
    fresh = session.messages.filter(active=True, seq__gt=imported_through(session), seq__lte=job.through_seq)
    words = said_while_on(access, fresh.said().without_relayed(), Switch.RECENT)
    said = list(words.exclude(text="").order_by("seq").only("role", "text", "meta", "created_at", "session_id"))
    known = tombstones.of_space(job.space_id)
    first = next((message for message in said if message.role == Message.Role.USER), None)
    if first is None:
        return None
    typed = known.without_forgotten_words(first.typed_text)
    for message in said:
        message.text = known.without_forgotten_words(message.text)
    try:
        title, text = read(_asked(said, payer_of_notes(job, Spend.Purpose.RECENT))) or ("", "")
    except ModelRequestError as failure:
        if job.attempts < MODEL_MAX_ATTEMPTS or isinstance(failure, BudgetUsedUpError):
            raise
        logger.warning("Document job %s has no summary after %s attempts: %s", job.pk, job.attempts, failure)
        title, text = "", ""
    title = title or _title(typed) or title_for_memory(session)
    title, text = tombstones.title_without_forgotten(job.space_id, title), known.without_forgotten_words(text)
    is_foreign = bool(sent_until(access, job.through_seq).foreign)
    return ConversationSummary(title, text, session.owner.local(said[-1].created_at), is_foreign)


def write(job: DocumentJob, summary: ConversationSummary | None) -> None:
    """Put the section of the job's conversation first and remove its older one. The rest of the document stays."""
    if summary is None:
        return
    # Read under the row lock, so that no other write happens before the replacement.
    path = RECENT_NAME
    document = MemoryDocument.objects.select_for_update().filter(space=job.space, path=path).first()
    before, version = (document.content, document.version) if document else ("", 0)
    reason = Reason("change.summary", {"title": summary.title})
    author = Author(Source.FLUSH, job.session.owner, reason=reason, is_foreign=summary.is_foreign)
    is_missing = document is None or document.is_deleted
    if is_missing and (earlier := _in_another_folder(job.space)):
        documents.apply(job.space, earlier.path, Delete(earlier.version), author)
        before = earlier.content
    content = updated(before, str(job.session_id), summary, settings.RECENT_CONVERSATIONS)
    content = tombstones.of_space(job.space_id).without(content)
    documents.apply(job.space, path, Replace(content, version), author)


def _in_another_folder(space: Space) -> MemoryDocument | None:
    """Return the document that a server with another folder in its settings wrote in `space`, locked."""
    named = Q(path=RECENT_NAME) | Q(path__endswith=f"/{RECENT_NAME}")
    found = space.documents.present().select_for_update().filter(named).order_by("-updated_at")
    return next((document for document in found if conversation_spans(document.content)), None)


def updated(before: str, session_id: str, summary: ConversationSummary, max_sections: int) -> str:
    """Return the document with the section of `session_id` first and at most `max_sections` sections. Pure.

    Text before the first section, and sections that people wrote, stay as they are and are not counted.
    """
    heading, *sections = parts_of(before)
    kept, count = [], 1
    for section in sections:
        ours = SECTION.match(section)
        if ours:
            if ours["id"] == session_id or count == max_sections:
                continue
            count += 1
        kept.append(section if section.endswith("\n") else section + "\n")
    # Square brackets would end the text of the Markdown link.
    title = summary.title.replace("[", "(").replace("]", ")")
    own = f"## {summary.at:%Y-%m-%d %H:%M} [{title}](/c/{session_id})\n\n"
    own += f"{summary.text}\n\n" if summary.text else ""
    heading = heading or HEADING
    return (heading if heading.endswith("\n") else heading + "\n\n") + own + "".join(kept)


def sections(content: str) -> list[tuple[str, str]]:
    """Return (title, section) for each section; the title is "" for a section that a person wrote. Pure."""
    found = ((SECTION.match(section), section) for section in parts_of(content)[1:])
    return [(ours[0].partition("[")[2].partition("](")[0] if ours else "", section) for ours, section in found]


def without(content: str, is_forgotten: Callable[[str], bool]) -> str:
    """Return `content` without the conversations' sections for which `is_forgotten` is true. Pure."""
    kept = (section for title, section in sections(content) if not (title and is_forgotten(section)))
    return parts_of(content)[0] + "".join(kept)


def read(answer: str) -> tuple[str, str] | None:
    """Return (title, summary) parsed from the answer of a model, with secrets masked; None when there is no title.

    The answer is JSON, alone, in a code fence or between other words; or plain text with the title in its first line.
    """
    answer = replace_unstorable(answer).strip()
    # Some models leave out the end of the object.
    ends = ("", "}", '"}')
    for found, end in itertools.product(re.finditer(r"\{", answer[:READ_MAX_CHARS]), ends):
        begun = answer[found.start() :].rstrip("`, \n") if end else answer[found.start() :]
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(begun + end)
        except (ValueError, RecursionError):
            continue
        # A title that was cut is none.
        is_whole = isinstance(value, dict) and (end != '"}' or "summary" in value)
        if is_whole and (title := _title(value.get("title"))):
            return title, _text(value.get("summary"))
    if "{" in answer or "```" in answer:
        return None
    # A private key has several lines.
    first, _, rest = masked(answer)[0].partition("\n")
    title = _title(re.sub(r"^\W*title\W*", "", first, flags=re.IGNORECASE))
    return (title, _text(re.sub(r"^\W*summary\W*", "", rest.strip(), flags=re.IGNORECASE))) if title else None


def _title(value: object) -> str:
    """Return at most TITLE_MAX_WORDS words of the first line of `value`; "" when it is no text.

    Secrets are masked before it is cut, because half of a number is not recognised.
    """
    line = masked(value)[0].strip().split("\n", 1)[0] if isinstance(value, str) else ""
    words = " ".join(line.strip(" \t#*_`\"“”'").split()[:TITLE_MAX_WORDS])
    return words if len(words) <= TITLE_MAX_CHARS else words[: TITLE_MAX_CHARS - 1].rstrip() + "…"


def _text(value: object) -> str:
    """Return `value` as one paragraph of at most SUMMARY_MAX_CHARS characters, with secrets masked; "" when it is no
    text."""
    if not isinstance(value, str):
        return ""
    return shortened(" ".join(masked(value)[0].split()), SUMMARY_MAX_CHARS, "see the conversation")


def _asked(said: list[Message], payer: Payer) -> str:
    names = {Message.Role.USER: "Person"}
    lines = "\n\n".join(f"{names.get(Message.Role(line.role), 'Assistant')}: {line.text}" for line in said)
    read = quoted(
        "conversation",
        shortened(lines, llm.prompt_chars(settings.FAST_MODEL, READ_MAX_CHARS), "the conversation goes on"),
    )
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("recent_system.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": f"{read}\n\nAnswer with the JSON object."}],
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
        schema=SCHEMA,
    )
    return llm.complete_sync(request, payer)
