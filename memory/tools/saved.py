"""Show the present state of a saved entry on its card in the chat: still there, removed, or waiting for a decision; and
of a text that did not come from the person: waiting for a yes, accepted or declined."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chat.conversations.message_pages import updated_card_html
from chat.extensions import CallUpdate
from memory.access.rights import space_to_propose_to
from memory.documents.calls import Made, call_of, use_that_made
from memory.models import Decision, MemoryDocument, MemoryRevision, Proposal, Suggestion
from memory.tools import decisions
from oneclaw.models import Space, User


def since(numbers: Sequence[int], csrf_token: str = "") -> Mapping[int, CallUpdate]:
    """Return the present state of what each call made, by the number on its card (`Made.on_card`)."""
    found = states([Made.of_card(number) for number in numbers], csrf_token)
    return {made.on_card: update for made, update in found.items()}


def states(made: Sequence[Made], csrf_token: str = "", refusal: str = "") -> dict[Made, CallUpdate]:
    """Return the present state of all that calls have made. `refusal` says why the person's last choice was not
    possible."""
    saved = outcomes([each.pk for each in made if each.kind == "revision"], csrf_token, refusal)
    waiting = suggested([each.pk for each in made if each.kind == "suggestion"], csrf_token, refusal)
    of_revisions = {Made("revision", pk): update for pk, update in saved.items()}
    return of_revisions | {Made("suggestion", pk): update for pk, update in waiting.items()}


def card_html(revision: MemoryRevision, owner: User, csrf_token: str, refusal: str = "") -> str:
    """Return the card of the call that wrote `revision`, or whose suggestion was accepted by it, as it is now; "" when
    the revision comes from no call of a conversation of `owner`.

    `refusal` says why the person's last choice was not possible.
    """
    message = revision.message
    if message is None or message.session.owner_id != owner.pk:
        return ""
    made, call = Made("revision", revision.pk), call_of(revision)
    use_id = call["id"] if call else None
    if call is None and (suggestion := Suggestion.objects.filter(revision=revision).first()):
        made = Made("suggestion", suggestion.pk)
        use_id = use_that_made(message, made)
    if use_id is None:
        return ""
    return updated_card_html(message, use_id, states([made], csrf_token, refusal)[made])


def suggested(suggestion_ids: Sequence[int], csrf_token: str, refusal: str) -> dict[int, CallUpdate]:
    """Return the present state of each suggestion, by its id."""
    found: dict[int, CallUpdate] = {}
    headings = {Suggestion.Status.ACCEPTED: _("Saved to memory"), Suggestion.Status.DECLINED: _("Not saved")}
    for row in Suggestion.objects.filter(pk__in=suggestion_ids).select_related("revision__document"):
        saved = row.revision
        is_present = saved is None or decisions.has_lines(decisions.text_of(saved), saved.document.content)
        context = {"suggestion": row, "refusal": refusal, "csrf_token": csrf_token, "in_chat": True}
        html = render_to_string("memory/_suggestion_since.html", context | {"is_present": is_present}).strip()
        heading = headings.get(Suggestion.Status(row.status), "") if is_present else _("No longer in memory")
        found[row.pk] = CallUpdate(heading=heading, html=html, can_undo=False)
    return found


def outcomes(revision_ids: Sequence[int], csrf_token: str = "", refusal: str = "") -> dict[int, CallUpdate]:
    """Return the present state of the entry of each revision, by its id, with `refusal` as in states()."""
    revisions = MemoryRevision.objects.filter(pk__in=revision_ids).select_related("message__session__space", "space")
    contents = MemoryDocument.objects.in_bulk({revision.document_id for revision in revisions})
    asked: dict[int, list[Decision]] = defaultdict(list)
    for decision in Decision.objects.filter(revision__in=revision_ids).select_related("outcome").order_by("pk"):
        asked[decision.revision_id].append(decision)
    found: dict[int, CallUpdate] = {}
    proposed = proposed_from(revisions)
    for revision in revisions:
        revision.document = contents[revision.document_id]
        for decision in asked[revision.pk]:
            decision.revision = revision
        decided = [decision for decision in asked[revision.pk] if not decision.is_open]
        content = revision.document.content
        as_saved = decisions.has_lines(decisions.text_of(revision), content)
        as_said = [decision.outcome for decision in decided if decision.choice == "as_said" and decision.outcome]
        is_present = as_saved or any(decisions.has_lines(decisions.text_of(outcome), content) for outcome in as_said)
        context = {
            "document": revision.document,
            "is_present": is_present,
            "questions": decisions.questions(asked[revision.pk]),
            "decided": [decisions.Decided.of(decision) for decision in decided],
            "refusal": refusal,
            "csrf_token": csrf_token,
            "space": proposed.get(revision.pk, (None, None))[0],
            "proposal": proposed.get(revision.pk, (None, None))[1],
            "revision": revision,
        }
        html = render_to_string("memory/_since.html", context).strip()
        heading = "" if is_present else _("No longer in memory")
        found[revision.pk] = CallUpdate(heading=heading, html=html, can_undo=as_saved)
    return found


def proposed_from(revisions: Iterable[MemoryRevision]) -> dict[int, tuple[Space, Proposal | None]]:
    """Return, for each of `revisions` of a private memory from a conversation in a shared space, the space to which its
    line may be proposed, and the newest proposal of it."""
    found: dict[int, tuple[Space, Proposal | None]] = {}
    for revision in revisions:
        session = revision.message.session if revision.message else None
        space = space_to_propose_to(session) if session and revision.space.is_private else None
        if space is not None:
            found[revision.pk] = space, None
    if not found:
        return found
    owners = {revision.space.owner_id for revision in revisions}
    mine = set(Space.objects.filter(roles__user__in=owners).values_list("pk", flat=True))
    rows = Proposal.objects.filter(source__in=found).select_related("decided_by").order_by("pk")
    newest = {row.source_id: row for row in rows}
    return {
        pk: (space, row if (row := newest.get(pk)) and row.space_id == space.pk else None)
        for pk, (space, _none) in found.items()
        if space.pk in mine
    }


def first_line(text: str, max_chars: int = 120) -> str:
    """Return the first line of `text`, at most `max_chars` characters of it."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
