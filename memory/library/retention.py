"""Retention of libraries by age: a file goes with all its versions when the newest one is older than a rule says.

Nothing that a legal hold keeps is removed: no file of a space on hold, and none that a person on hold has added to.
"""

import logging

from django.db import Error as DatabaseFailure
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from memory.library import files
from memory.models import FileVersion, LibraryFile
from oneclaw.audit import holds
from oneclaw.locks import hold
from oneclaw.models import RetentionRule, Space

logger = logging.getLogger(__name__)

# Limit of one run for each rule; the next one continues.
SWEEP_MAX_FILES = 500
RULES = RetentionRule.objects.filter(kind=RetentionRule.Kind.LIBRARY_FILES)


def sweep_by_age() -> int:
    """Remove the files that are older than their rules; return how many. The next run continues."""
    count = 0
    for rule in RULES.all():
        for file_id in list(due(rule).values_list("pk", flat=True)[:SWEEP_MAX_FILES]):
            count += purge_or_log(rule.pk, file_id)
    return count


def days_kept(space: Space) -> int | None:
    """Return after how many days without a new version the files of `space` are removed; None: they are kept."""
    days = {rule.space_id: rule.days for rule in RULES.filter(space=space) | RULES.filter(space=None)}
    return days.get(space.pk, days.get(None))


def due(rule: RetentionRule) -> QuerySet[LibraryFile]:
    """Return the files that `rule` removes now, those that were added first at the beginning."""
    versions = FileVersion.objects.filter(file=OuterRef("pk"))
    younger, of_held = versions.filter(created_at__gte=rule.latest()), versions.filter(owner__in=holds.held_people())
    old = LibraryFile.objects.filter(rule.where("space"), Exists(versions), ~Exists(younger), ~Exists(of_held))
    return old.exclude(holds.of_held_spaces("space")).order_by("pk")


def purge_or_log(rule_id: int, file_id: int) -> bool:
    """Remove the file; return whether it is gone. A database error is logged and does not stop the sweep."""
    try:
        return purge(rule_id, file_id)
    except DatabaseFailure:
        logger.exception("File %s of a library could not be removed; the next run tries again.", file_id)
        return False


@transaction.atomic
def purge(rule_id: int, file_id: int) -> bool:
    """Remove the file with its versions; return False when the rule or a hold, or a new version, keeps it meanwhile."""
    rule = RULES.filter(pk=rule_id).first()
    file = LibraryFile.objects.select_related("space").filter(pk=file_id).first()
    if rule is None or file is None:
        return False
    # An upload of the next version has ended, or begins after this and is the first version of a new file.
    hold(files.lock_of(file.space_id))
    if not due(rule).filter(pk=file_id).exists():
        return False
    files.delete(file, by="age")
    return True
