"""What happens to a document of memory, for whatever is derived from it."""

from django.dispatch import Signal

# A document has a new version: `document_id`. Sent after COMMIT; `sender` is the MemoryDocument class.
document_written = Signal()
