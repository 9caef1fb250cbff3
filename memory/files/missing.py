"""Find documents whose file is missing from the folder. A missing file deletes nothing: the owner is asked first."""

from memory.files import disk
from memory.files.folders import folder_of
from memory.models import MemoryDocument
from oneclaw.models import Space


def documents_without_file(space: Space) -> list[MemoryDocument]:
    """Return the documents of `space` whose file was removed.

    Return none when the folder is missing or empty: then the whole disk is probably missing.
    """
    folder = folder_of(space)
    written = MemoryDocument.objects.present().filter(space=space, mirrored_version__gt=0).order_by("path")
    missing = [document for document in written.defer("content") if not disk.exists(folder, document.path)]
    return missing if missing and disk.has_any(folder) else []


def write_file_again(document: MemoryDocument) -> None:
    """Mark the file of `document` as missing, so that the mirror writes it again."""
    MemoryDocument.objects.filter(pk=document.pk).update(mirrored_version=0)
