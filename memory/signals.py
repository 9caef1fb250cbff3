"""Define the signal of a changed document, for its projections."""

from django.dispatch import Signal

# A document, `document_id`, has a new version. Sent after COMMIT; `sender` is the MemoryDocument class.
document_written = Signal()
