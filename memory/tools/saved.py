"""Show the present state of a saved entry on its card in the chat: still there, removed, or waiting for a decision."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chat.extensions import CallUpdate
from memory.models import Decision, MemoryDocument, MemoryRevision
from memory.tools import decisions


def outcomes(revision_ids: Sequence[int], csrf_token: str = "", refusal: str = "") -> Mapping[int, CallUpdate]:
    """Return the present state of the entry of each revision, by its id.

    `refusal` says why the person's last choice was not possible.
    """
    revisions = MemoryRevision.objects.filter(pk__in=revision_ids).select_related("message")
    contents = MemoryDocument.objects.in_bulk({revision.document_id for revision in revisions})
    asked: dict[int, list[Decision]] = defaultdict(list)
    for decision in Decision.objects.filter(revision__in=revision_ids).select_related("outcome").order_by("pk"):
        asked[decision.revision_id].append(decision)
    found: dict[int, CallUpdate] = {}
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
            "decided": decided,
            "refusal": refusal,
            "csrf_token": csrf_token,
        }
        html = render_to_string("memory/_since.html", context).strip()
        heading = "" if is_present else _("No longer in memory")
        found[revision.pk] = CallUpdate(heading=heading, html=html, can_undo=as_saved)
    return found


def first_line(text: str, max_chars: int = 120) -> str:
    """Return the first line of `text`, at most `max_chars` characters of it."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
