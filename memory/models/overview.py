"""Define what the overview of a memory stores for a document: the revision that wrote each line, and its topic."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from memory.models.documents import MemoryDocument


class Topic(models.IntegerChoices):
    """What an entry of curated memory is about."""

    PEOPLE = 1, _("People")
    WORK = 2, _("Work")
    HOME = 3, _("Home")
    HEALTH = 4, _("Health")
    PREFERENCES = 5, _("Preferences")
    PLANS = 6, _("Plans")
    DATES = 7, _("Dates")
    OTHER = 8, _("Everything else")


class DocumentOverview(models.Model):
    """Derived from the content and the history of a document, when a page shows it: it may be deleted at any time.

    It holds numbers only, no text. `revisions` and `topics` have one item for each line of the content at `version`.
    """

    document = models.OneToOneField(MemoryDocument, on_delete=models.CASCADE, primary_key=True, related_name="overview")
    version = models.PositiveIntegerField()
    # The number of the revision that wrote the line last.
    revisions = ArrayField(models.PositiveIntegerField())
    # The Topic of the entry that begins in the line, plus BY_MODEL when the fast model chose it; 0: none yet.
    topics = ArrayField(models.PositiveSmallIntegerField())
    # The first and last lines of the entries, from 1, one pair after another.
    spans = ArrayField(models.PositiveIntegerField())
    # What the home page shows of it, so that a page need not read the lists above: for each topic with entries, in the
    # order of Topic, [topic, number of entries, its newest ones (each as [first line, last line, revision])]. None: not
    # compiled yet.
    newest = models.JSONField(null=True, blank=True)
    # Whether the fast model has chosen the topic of every entry.
    is_grouped = models.BooleanField(default=False)
    # When the fast model was asked last.
    asked_at = models.DateTimeField(null=True, blank=True)

    # Added to the number of a Topic that the fast model chose.
    BY_MODEL = 16

    def __str__(self) -> str:
        return f"overview of document {self.document_id}"
