"""Check what must hold of libraries: a version has its file on the disk, what is searched is one read version, and of
removed files nothing is left."""

from collections.abc import Iterator

from memory.library import files, storage
from memory.models import FileVersion
from oneclaw.invariants import grace_seconds

INDEXES = """
    SELECT format('file %%s of space %%s has an index of space %%s with %%s units, and %%s chunks',
                  file.id, file.space_id, index.space_id, index.units, counted.chunks)
    FROM memory_fileindex index JOIN memory_libraryfile file ON file.id = index.file_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS chunks, count(*) FILTER (WHERE chunk.space_id <> file.space_id) AS strange
        FROM memory_filechunk chunk WHERE chunk.file_id = file.id
    ) AS counted
    WHERE index.units <> counted.chunks OR index.space_id <> file.space_id OR counted.strange > 0
    UNION ALL
    SELECT format('chunk %%s is of file %%s, which has no index', chunk.id, chunk.file_id)
    FROM memory_filechunk chunk
    WHERE NOT EXISTS (SELECT FROM memory_fileindex index WHERE index.file_id = chunk.file_id)
    UNION ALL
    SELECT format('file %%s is searched in %%s, which is version %%s of file %%s and %%s',
                  index.file_id, version.id, version.number, version.file_id, version.status)
    FROM memory_fileindex index JOIN memory_fileversion version ON version.id = index.version_id
    WHERE version.file_id <> index.file_id OR version.status <> 'done'
"""

# The newest version that was read is searched, and its pages are there.
NEWEST_READ = """
    SELECT format('version %%s of file %%s is read, but version %%s is searched', number, file_id, searched)
    FROM (
        SELECT version.number, version.file_id,
            (SELECT other.number FROM memory_fileindex index
             JOIN memory_fileversion other ON other.id = index.version_id
             WHERE index.file_id = version.file_id) AS searched
        FROM memory_fileversion version WHERE version.status = 'done'
    ) AS read
    WHERE searched IS NULL OR searched < number
    UNION ALL
    SELECT format('version %%s of file %%s is read, but has no text', number, file_id) FROM memory_fileversion version
    WHERE status = 'done' AND NOT EXISTS (SELECT FROM memory_filepage page WHERE page.version_id = version.id)
    UNION ALL
    SELECT format('file %%s has no version', id) FROM memory_libraryfile file
    WHERE NOT EXISTS (SELECT FROM memory_fileversion version WHERE version.file_id = file.id)
"""

# The vectors of a text go in the transaction that removes the last chunk with it.
LEFT_VECTORS = """
    SELECT format('space %%s has %%s vectors of texts that no file has', vector.space_id, count(*))
    FROM memory_filevector vector
    WHERE NOT EXISTS (
        SELECT FROM memory_filechunk chunk
        WHERE chunk.space_id = vector.space_id AND chunk.text_key = vector.text_key)
    GROUP BY vector.space_id
"""


def find_left_files() -> Iterator[str]:
    """Yield a sentence for each stored file that has no row, and that the sweep should have removed."""
    for space_id, name in files.rowless(files.ROWLESS_AGE_SECONDS + grace_seconds("library-sweep")):
        yield f"the file {name} of space {space_id} has no version"


def find_missing_files() -> Iterator[str]:
    """Yield a sentence for each version whose file is missing or has another size than its row says."""
    rows = FileVersion.objects.values_list("pk", "size", "file__space")
    for pk, size, space_id in rows.iterator(chunk_size=1000):
        found = storage.size(space_id, str(pk))
        # A version that was removed since the query has no row any more.
        if found != size and FileVersion.objects.filter(pk=pk).exists():
            yield f"version {pk} has {size} bytes, but its file has {found}"
