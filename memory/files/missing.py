"""Files that are gone from the folder although nobody deleted their document: asked about, never assumed."""

from memory.files import disk
from memory.files.folders import folder_of
from memory.models import MemoryDocument
from oneclaw.models import Space


def gone_files(space: Space) -> list[MemoryDocument]:
    """The documents whose file somebody has taken away. None when the folder is missing or holds no file at all: then
    it is rather the disk that is gone."""
    folder = folder_of(space)
    written = MemoryDocument.objects.present().filter(space=space, mirrored_version__gt=0).order_by("path")
    gone = [document for document in written.defer("content") if not disk.exists(folder, document.path)]
    return gone if gone and disk.has_any(folder) else []


def put_back(document: MemoryDocument) -> None:
    """The file is to be written again."""
    MemoryDocument.objects.filter(pk=document.pk).update(mirrored_version=0)
