"""Retention of memory by age: daily logs and other documents go with their history where a rule says so.

The curated memory, the workspace files, skills and the recent conversations have no age. Nothing that a legal hold
keeps is removed.
"""

from django.db import transaction

from memory.files import disk
from memory.files.folders import folder_of
from memory.index import vectors
from memory.models import MemoryDocument
from memory.models.documents import MemoryDocumentQuerySet
from memory.policy.paths import CURATED, CURATED_ALTERNATIVE, RECENT_NAME, SKILLS, WORKSPACE_FILES
from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.locks import hold
from oneclaw.models import AuditKind, RetentionRule

# Limit of one run; the next one continues.
SWEEP_MAX_DOCUMENTS = 500
DAILY_LOG = r"^memory/\d{4}-\d{2}-\d{2}\.md$"


def sweep_by_age() -> int:
    """Remove the documents that are older than their rules; return how many. The next run continues."""
    count, spaces = 0, set()
    for rule in RetentionRule.objects.filter(kind__in=[RetentionRule.Kind.DAILY_LOGS, RetentionRule.Kind.DOCUMENTS]):
        for document_id in list(due(rule).values_list("pk", flat=True)[:SWEEP_MAX_DOCUMENTS]):
            space_id = purge(due(rule), document_id)
            if space_id is not None:
                spaces.add(space_id)
                count += 1
    for space_id in spaces:
        vectors.prune(space_id)
    return count


def due(rule: RetentionRule) -> MemoryDocumentQuerySet:
    """Return the documents that `rule` removes now, deleted ones too, the oldest first."""
    old = MemoryDocument.objects.filter(rule.where("space"), updated_at__lt=rule.latest())
    if rule.kind == RetentionRule.Kind.DAILY_LOGS:
        old = old.filter(path__regex=DAILY_LOG)
    else:
        kept = [CURATED, CURATED_ALTERNATIVE, RECENT_NAME, *WORKSPACE_FILES]
        old = old.exclude(path__regex=DAILY_LOG).exclude(path__in=kept).exclude(path__startswith=f"{SKILLS}/")
    return old.exclude(holds.of_held_spaces("space")).order_by("updated_at", "pk")


@transaction.atomic
def purge(old: MemoryDocumentQuerySet, document_id: int) -> int | None:
    """Remove the document with history, index and file; return the id of its space, None when it has been changed."""
    hold(f"mirror {document_id}")
    document = old.select_for_update(of=("self",)).select_related("space").filter(pk=document_id).first()
    if document is None:
        return None
    disk.remove(folder_of(document.space), document.path)
    space, path = document.space, document.path
    document.delete()
    record(AuditKind.DELETED, space=space, of="document", path=path, by="age")
    return space.pk
