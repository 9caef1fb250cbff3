"""Many writers of one document at once share the updates of its index and file, and none is left out."""

import os
import threading
import time

import pytest
from django.db import connection

from memory import projections
from memory.documents.write import Append, Author, Source, apply
from memory.files.folders import folder_of
from memory.models import DocumentIndex, MemoryDocument

pytestmark = pytest.mark.django_db(transaction=True)


def test_writers_at_once_share_updates_and_the_last_change_is_in_index_and_file(space, monkeypatch):
    updates = []
    index = projections.try_to_index

    def slowly(document_id):
        updates.append(document_id)
        time.sleep(0.1)
        return index(document_id)

    monkeypatch.setattr(projections, "try_to_index", slowly)

    def write(number):
        apply(space, "MEMORY.md", Append(f"- fact {number}\n"), Author(Source.PAGE, space.owner))
        connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = MemoryDocument.objects.get()
    assert document.version == 8
    assert (document.indexed_version, document.mirrored_version) == (8, 8)
    assert DocumentIndex.objects.get().units == 8
    assert (folder_of(space) / "MEMORY.md").read_text() == document.content
    assert 2 <= len(updates) < 8
    assert projections._updates == {}


def test_a_write_that_the_mirror_makes_itself_waits_for_nobody(space):
    apply(space, "MEMORY.md", Append("- one\n"), Author(Source.PAGE, space.owner))
    file = folder_of(space) / "MEMORY.md"
    # Changed on both sides: the mirror imports it inside of its own update.
    file.write_text("- one\n- two\n")

    os.utime(file, (time.time() - 5, time.time() - 5))
    apply(space, "MEMORY.md", Append("- three\n"), Author(Source.PAGE, space.owner))
    document = MemoryDocument.objects.get(path="MEMORY.md")
    assert (document.indexed_version, document.mirrored_version) == (document.version, document.version)
