"""Ask the person about a saved line that contradicts another or whose secret was masked, and do what they decide.

ask_about_secret(revision)
ask_about_contradiction(revision, contradicted)
decide(decision, Choice.NEW, user)              # idempotent
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from memory.documents import undo, write
from memory.documents.calls import call_of
from memory.documents.write import Author, DocumentError, Replace, Source
from memory.models import Decision, MemoryDocument, MemoryRevision, content_hash
from memory.policy.secrets import masked, may_be_kept, secrets_in
from memory.text.list_marks import without_list_marks
from memory.tools.contradictions import SAME, Contradicted
from oneclaw.models import User
from oneclaw.reasons import Reason
from oneclaw.text import StrOrPromise

Choice = Decision.Choice
CHOICES = {
    Decision.Kind.CONTRADICTION: (Choice.BOTH, Choice.NEW, Choice.OLD),
    Decision.Kind.SAME: (Choice.MERGE, Choice.BOTH),
    Decision.Kind.SECRET: (Choice.MASKED, Choice.AS_SAID, Choice.REMOVE),
}
# Why the document changed, for its history.
REASONS = {
    Choice.NEW: Reason("change.kept_new"),
    Choice.OLD: Reason("change.kept_old"),
    Choice.MERGE: Reason("change.merged"),
    Choice.AS_SAID: Reason("change.saved_as_said"),
    Choice.REMOVE: Reason("change.line_removed"),
}
# The names of the choices, and what is said of one that was taken.
LABELS = {
    Choice.BOTH: _("Keep both"),
    Choice.NEW: _("Keep the new line"),
    Choice.OLD: _("Keep the old line"),
    Choice.MERGE: _("Merge"),
    Choice.MASKED: _("Keep it masked"),
    Choice.AS_SAID: _("Save it with the secret"),
    Choice.REMOVE: _("Remove the line"),
}
DECIDED = {
    Choice.BOTH: _("You kept both lines."),
    Choice.NEW: _("You kept the new line; the old one was removed."),
    Choice.OLD: _("You kept the old line; the new one was removed."),
    Choice.MERGE: _("You merged the lines; the new one was kept."),
    Choice.MASKED: _("You kept it masked."),
    Choice.AS_SAID: _("You saved it with the secret."),
    Choice.REMOVE: _("You removed the line."),
}
# The error when the person decides once more, and differently.
ALREADY_DECIDED = {
    Choice.BOTH: _("You already decided: keep both. Nothing was changed."),
    Choice.NEW: _("You already decided: keep the new line. Nothing was changed."),
    Choice.OLD: _("You already decided: keep the old line. Nothing was changed."),
    Choice.MERGE: _("You already decided: merge the lines. Nothing was changed."),
    Choice.MASKED: _("You already decided: keep it masked. Nothing was changed."),
    Choice.AS_SAID: _("You already decided: save it with the secret. Nothing was changed."),
    Choice.REMOVE: _("You already decided: remove the line. Nothing was changed."),
}


class CannotDecideError(DocumentError):
    """The line that the decision is about was changed or removed."""


@dataclass(frozen=True)
class PendingDecision:
    """An open decision as it is shown: the two texts as they are now, and the possible choices.

    `others` are the other contradictions of the same new line, which are asked and decided together with it.
    """

    decision: Decision
    old: str
    new: str
    choices: Sequence[Choice]
    others: list["PendingDecision"] = field(default_factory=list)

    @property
    def labelled(self) -> list[tuple[Choice, StrOrPromise]]:
        """Return the possible choices with their names."""
        return [(choice, LABELS[choice]) for choice in self.choices]

    @property
    def sentence(self) -> str:
        """Return the question."""
        if self.decision.kind == Decision.Kind.SECRET:
            return gettext("A secret was removed before saving. Do you want to keep it?")
        if self.decision.kind == Decision.Kind.SAME:
            return gettext("These lines say the same. Is one of them enough?")
        if self.others:
            return gettext("These lines contradict each other. Which is right?")
        return gettext("These two lines contradict each other. Which is right?")

    @property
    def old_words(self) -> str:
        """Return the older lines without the marks of a list."""
        return without_list_marks(self.old)

    @property
    def new_words(self) -> str:
        """Return the new lines without the marks of a list."""
        return without_list_marks(self.new)


def ask_about_secret(revision: MemoryRevision) -> None:
    """Ask the person about the line that `revision` saved with a masked secret."""
    _create(Decision(revision=revision, kind=Decision.Kind.SECRET))


def ask_about_contradiction(revision: MemoryRevision, contradicted: Contradicted) -> None:
    """Ask the person whether the line of `revision` or the `contradicted` one is right, or one of both is enough.

    Do nothing when the older lines have moved since the search, because of a concurrent change.
    """
    content = MemoryDocument.objects.get(pk=revision.document_id).content
    older = content.split("\n")[contradicted.line - 1 : contradicted.last_line]
    text = "\n".join(older)
    if contradicted.text.strip() in text:
        _create(
            Decision(
                revision=revision,
                kind=Decision.Kind.SAME if contradicted.relation == SAME else Decision.Kind.CONTRADICTION,
                line=contradicted.line - 1,
                lines=len(older),
                lines_hash=content_hash(text),
            )
        )


def questions(decisions: Iterable[Decision]) -> list[PendingDecision]:
    """Return those of `decisions` that are open and whose lines are unchanged in the document, one for all
    contradictions of a line."""
    asked: list[PendingDecision] = []
    first: dict[tuple[int, str], PendingDecision] = {}
    for decision in decisions:
        if not decision.is_open:
            continue
        new, content = text_of(decision.revision), decision.revision.document.content
        at = line_of_older(decision, content)
        if not has_lines(new, content) or (at is None and decision.kind != Decision.Kind.SECRET):
            continue
        old = "" if at is None else "\n".join(content.split("\n")[at : at + decision.lines])
        pending = PendingDecision(decision, old, new, choices_of(decision))
        of_line = (decision.revision_id, decision.kind)
        if of_line in first:
            first[of_line].others.append(pending)
            continue
        if decision.kind != Decision.Kind.SECRET:
            first[of_line] = pending
        asked.append(pending)
    return asked


@dataclass(frozen=True)
class Decided:
    """What is said of a decision that was taken, and the id of the revision that *Undo* takes back; None: nothing."""

    sentence: StrOrPromise
    undo_id: int | None

    @classmethod
    def of(cls, decision: Decision) -> "Decided":
        merged = decision.choice == Choice.MERGE
        return cls(DECIDED[Choice(decision.choice)], decision.outcome_id if merged else None)


def open_questions(user: User) -> list[PendingDecision]:
    """Return all decisions that wait for `user`, the oldest first."""
    rows = Decision.objects.writable_by(user).undecided().order_by("created_at")
    return questions(rows.select_related("revision__document", "revision__message"))


def choices_of(decision: Decision) -> list[Choice]:
    """Return the possible choices; AS_SAID only while the person's own messages hold the secret."""
    choices = CHOICES[Decision.Kind(decision.kind)]
    return [choice for choice in choices if choice != Choice.AS_SAID or original_text(decision.revision) is not None]


@transaction.atomic
def decide(decision: Decision, choice: str, user: User) -> Decision:
    """Do what the person chose, by at most one revision, and return the decided row. Idempotent for the same choice.

    Raise CannotDecideError or another DocumentError when it is no longer possible or was decided differently; an open
    decision then stays open. The caller has checked that `user` may do this.
    """
    row = Decision.objects.select_for_update(of=("self",)).select_related("revision__space").get(pk=decision.pk)
    if not row.is_open:
        if row.choice != choice:
            raise CannotDecideError(ALREADY_DECIDED[Choice(row.choice)])
        return row
    if choice in REASONS:
        author = Author(
            Source.PAGE,
            user,
            message_id=row.revision.message_id,
            reason=REASONS[Choice(choice)],
            operation_key=f"decision:{row.pk}",
        )
        row.outcome = _carry_out(row, Choice(choice), author)
    row.choice, row.decided_at = choice, timezone.now()
    row.save(update_fields=["choice", "decided_at", "outcome"])
    return row


@transaction.atomic
def decide_together(decision: Decision, others: Iterable[Decision], choice: str, user: User) -> None:
    """Do what the person chose for `decision` and for the `others` of the same new line, all or nothing.

    With OLD the new line goes once, which answers all of them. Raise as decide() does.
    """
    decide(decision, choice, user)
    for other in others:
        if choice == Choice.OLD:
            Decision.objects.filter(pk=other.pk).undecided().update(choice=choice, decided_at=timezone.now())
        else:
            decide(other, choice, user)


def original_text(revision: MemoryRevision) -> str | None:
    """Return the text that the model asked to save, with its secrets.

    Return None unless each secret is of a kind that may be kept, and in the person's own messages of that conversation;
    it is stored nowhere else.
    """
    call, message = call_of(revision), revision.message
    content = str(call["input"].get("content", "")).strip("\n") if call else ""
    if message is None or not content or masked(content)[0] not in text_of(revision):
        return None
    wrote = Message.objects.filter(session=message.session_id, session__deleted_at=None, role=Message.Role.USER)
    person_wrote = "\n".join(wrote.without_relayed().filter(seq__lt=message.seq).values_list("text", flat=True))
    secrets = secrets_in(content)
    return content if secrets and may_be_kept(content) and all(secret in person_wrote for secret in secrets) else None


def text_of(revision: MemoryRevision) -> str:
    """Return the lines that `revision` added, without blank lines around them."""
    return "\n".join(line for hunk in reversed(revision.hunks) for line in hunk["added"]).strip("\n")


def has_lines(text: str, content: str) -> bool:
    """Return whether the lines of `text` are in `content` unchanged, one after the other."""
    return bool(text) and f"\n{text}\n" in f"\n{content}\n"


def line_of_older(decision: Decision, content: str) -> int | None:
    """Return the index, from 0, of the line of `content` at which the older lines begin; None when they are not there.

    Of several such places, it is the one nearest to where they were.
    """
    lines = content.split("\n")
    if not decision.lines:
        return None
    starts = [
        at
        for at in range(len(lines) - decision.lines + 1)
        if content_hash("\n".join(lines[at : at + decision.lines])) == decision.lines_hash
    ]
    return min(starts, key=lambda at: abs(at - decision.line), default=None)


def _create(decision: Decision) -> None:
    Decision.objects.bulk_create([decision], ignore_conflicts=True)


def _carry_out(decision: Decision, choice: Choice, author: Author) -> MemoryRevision | None:
    revision = decision.revision
    if choice in (Choice.OLD, Choice.REMOVE):
        return undo.undo(revision, author)
    document = MemoryDocument.objects.select_for_update().get(pk=revision.document_id)
    content = document.content
    if choice in (Choice.NEW, Choice.MERGE):
        at = line_of_older(decision, content)
        if at is None:
            words = _(
                "The older line in %(path)s was changed in the meantime, so nothing was removed. You can "
                "edit the document."
            )
            raise CannotDecideError(words, path=document.path)
        content = _without(content.split("\n"), at, decision.lines)
    else:
        text, original = text_of(revision), original_text(revision)
        if original is None:
            raise CannotDecideError(_("The original text no longer exists. Write it into the document yourself."))
        if not has_lines(text, content):
            words = _(
                "The line in %(path)s was changed in the meantime, so it was left as it is. You can edit the document."
            )
            raise CannotDecideError(words, path=document.path)
        open_text = text.replace(masked(original)[0], original)
        content = f"\n{content}\n".replace(f"\n{text}\n", f"\n{open_text}\n", 1)[1:-1]
    return write.apply(revision.space, document.path, Replace(content, document.version), author)


def _without(lines: list[str], at: int, count: int) -> str:
    """Return the text without `count` lines from the index `at`, and without a blank line that would be doubled."""
    before, after = lines[:at], lines[at + count :]
    if before and after and not before[-1].strip() and not after[0].strip() and len(after) > 1:
        after = after[1:]
    return "\n".join([*before, *after])
