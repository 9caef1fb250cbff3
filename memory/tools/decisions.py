"""What the person decides about a saved line: one that contradicts another, or from which a secret was left out.

ask_about_secret(revision)
ask_about_contradiction(revision, contradicted)
decide(decision, Choice.NEW, user)              # any number of times
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from memory.documents import undo, write
from memory.documents.write import Author, DocumentError, Replace, Source
from memory.models import Decision, MemoryDocument, MemoryRevision, content_hash
from memory.policy.secrets import masked, secrets_in
from memory.tools.calls import call_of
from memory.tools.contradictions import Contradicted
from oneclaw.models import User
from oneclaw.reasons import Reason

Choice = Decision.Choice
CHOICES = {
    Decision.Kind.CONTRADICTION: (Choice.BOTH, Choice.NEW, Choice.OLD),
    Decision.Kind.SECRET: (Choice.MASKED, Choice.AS_SAID, Choice.REMOVE),
}
# Why the document changed, for its history.
REASONS = {
    Choice.NEW: Reason("change.kept_new"),
    Choice.OLD: Reason("change.kept_old"),
    Choice.AS_SAID: Reason("change.saved_as_said"),
    Choice.REMOVE: Reason("change.line_removed"),
}


# What is said to whoever decides otherwise afterwards.
DECIDED = {
    Choice.BOTH: _("You already decided: keep both. Nothing was changed."),
    Choice.NEW: _("You already decided: keep the new line. Nothing was changed."),
    Choice.OLD: _("You already decided: keep the old line. Nothing was changed."),
    Choice.MASKED: _("You already decided: keep it masked. Nothing was changed."),
    Choice.AS_SAID: _("You already decided: save it with the secret. Nothing was changed."),
    Choice.REMOVE: _("You already decided: remove the line. Nothing was changed."),
}


class CannotDecide(DocumentError):
    """What was to be changed stands there no more."""


@dataclass(frozen=True)
class Question:
    """An undecided decision as it is shown: the two texts as they stand now, and what can be chosen."""

    decision: Decision
    old: str
    new: str
    choices: Sequence[Choice]


def ask_about_secret(revision: MemoryRevision) -> None:
    _ask(Decision(revision=revision, kind=Decision.Kind.SECRET))


def ask_about_contradiction(revision: MemoryRevision, contradicted: Contradicted) -> None:
    """Nothing when the older lines are not where the search found them: then they are being changed right now."""
    content = MemoryDocument.objects.get(pk=revision.document_id).content
    older = content.split("\n")[contradicted.line - 1 : contradicted.last_line]
    text = "\n".join(older)
    if contradicted.text.strip() in text:
        _ask(
            Decision(
                revision=revision,
                kind=Decision.Kind.CONTRADICTION,
                line=contradicted.line - 1,
                lines=len(older),
                lines_hash=content_hash(text),
            )
        )


def questions(decisions: Iterable[Decision]) -> list[Question]:
    """The open ones among these about which there is still something to decide: both lines stand as they stood."""
    asked = []
    for decision in decisions:
        if not decision.is_open:
            continue
        new, content = text_of(decision.revision), decision.revision.document.content
        at = place_of_older(decision, content)
        if not stands(new, content) or (at is None and decision.kind == Decision.Kind.CONTRADICTION):
            continue
        old = "" if at is None else "\n".join(content.split("\n")[at : at + decision.lines])
        asked.append(Question(decision, old, new, choices_of(decision)))
    return asked


def waiting(user: User) -> list[Question]:
    """All that waits for a decision of this person, the oldest first."""
    rows = Decision.objects.visible_to(user).undecided().order_by("created_at")
    return questions(rows.select_related("revision__document", "revision__message"))


def choices_of(decision: Decision) -> list[Choice]:
    """What can be chosen: to save a secret only while it stands in the person's own words."""
    choices = CHOICES[Decision.Kind(decision.kind)]
    return [choice for choice in choices if choice != Choice.AS_SAID or said(decision.revision) is not None]


@transaction.atomic
def decide(decision: Decision, choice: str, user: User) -> Decision:
    """Do what the person chose, by at most one revision. The same choice again changes nothing.

    CannotDecide, or another DocumentError, when it cannot be done any more; the decision stays open then. Whether
    `user` may do this is for the caller to know.
    """
    row = Decision.objects.select_for_update(of=("self",)).select_related("revision__space").get(pk=decision.pk)
    if not row.is_open:
        if row.choice != choice:
            raise CannotDecide(DECIDED[Choice(row.choice)])
        return row
    if choice in REASONS:
        author = Author(
            Source.PAGE,
            user,
            message_id=row.revision.message_id,
            reason=REASONS[Choice(choice)],
            operation_key=f"decision:{row.pk}",
        )
        row.outcome = _do(row, Choice(choice), author)
    row.choice, row.decided_at = choice, timezone.now()
    row.save(update_fields=["choice", "decided_at", "outcome"])
    return row


def said(revision: MemoryRevision) -> str | None:
    """What the model was going to save, with its secrets, as long as each of them stands in what the person wrote in
    that conversation; nobody else keeps them for this."""
    call, message = call_of(revision), revision.message
    content = str(call["input"].get("content", "")).strip("\n") if call else ""
    if message is None or not content or masked(content)[0] not in text_of(revision):
        return None
    wrote = Message.objects.filter(session=message.session_id, session__deleted_at=None, role=Message.Role.USER)
    mine = "\n".join(wrote.filter(seq__lt=message.seq).values_list("text", flat=True))
    return content if all(secret in mine for secret in secrets_in(content)) else None


def text_of(revision: MemoryRevision) -> str:
    """The lines that a revision brought, without blank ones around them."""
    return "\n".join(line for hunk in reversed(revision.hunks) for line in hunk["added"]).strip("\n")


def stands(text: str, content: str) -> bool:
    """Whether these lines stand in the content, one after the other, as they are."""
    return bool(text) and f"\n{text}\n" in f"\n{content}\n"


def place_of_older(decision: Decision, content: str) -> int | None:
    """Where the older lines stand now, counted from 0: the place nearest to where they stood. None: nowhere."""
    lines = content.split("\n")
    if not decision.lines:
        return None
    places = [
        at
        for at in range(len(lines) - decision.lines + 1)
        if content_hash("\n".join(lines[at : at + decision.lines])) == decision.lines_hash
    ]
    return min(places, key=lambda at: abs(at - decision.line), default=None)


def _ask(decision: Decision) -> None:
    Decision.objects.bulk_create([decision], ignore_conflicts=True)


def _do(decision: Decision, choice: Choice, author: Author) -> MemoryRevision | None:
    revision = decision.revision
    if choice in (Choice.OLD, Choice.REMOVE):
        return undo.undo(revision, author)
    document = MemoryDocument.objects.select_for_update().get(pk=revision.document_id)
    content = document.content
    if choice == Choice.NEW:
        at = place_of_older(decision, content)
        if at is None:
            words = _(
                "The older line in %(path)s was changed in the meantime, so nothing was removed. You can "
                "edit the document."
            )
            raise CannotDecide(words, path=document.path)
        content = _without(content.split("\n"), at, decision.lines)
    else:
        text, original = text_of(revision), said(revision)
        if original is None:
            raise CannotDecide(_("The original text no longer exists. Write it into the document yourself."))
        if not stands(text, content):
            words = _(
                "The line in %(path)s was changed in the meantime, so it was left as it is. You can edit the document."
            )
            raise CannotDecide(words, path=document.path)
        open_text = text.replace(masked(original)[0], original)
        content = f"\n{content}\n".replace(f"\n{text}\n", f"\n{open_text}\n", 1)[1:-1]
    return write.apply(revision.space, document.path, Replace(content, document.version), author)


def _without(lines: list[str], at: int, count: int) -> str:
    """The text without these lines, and without one of two blank lines that would then follow each other."""
    before, after = lines[:at], lines[at + count :]
    if before and after and not before[-1].strip() and not after[0].strip() and len(after) > 1:
        after = after[1:]
    return "\n".join([*before, *after])
