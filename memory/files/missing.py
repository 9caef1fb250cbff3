"""Documents whose file is missing from the folder. A missing file deletes nothing: its owner is asked."""

from memory.files import disk
from memory.files.folders import folder_of
from memory.models import MemoryDocument
from oneclaw.models import Space


def documents_without_file(space: Space) -> list[MemoryDocument]:
    """Return the documents whose file was removed. None of them when the folder is missing or holds no file at all:
    then it is rather the disk that is missing."""
    folder = folder_of(space)
    written = MemoryDocument.objects.present().filter(space=space, mirrored_version__gt=0).order_by("path")
    gone = [document for document in written.defer("content") if not disk.exists(folder, document.path)]
    return gone if gone and disk.has_any(folder) else []


def write_file_again(document: MemoryDocument) -> None:
    """Make the next mirroring write the file again."""
    MemoryDocument.objects.filter(pk=document.pk).update(mirrored_version=0)
