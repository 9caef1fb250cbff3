"""Spaces of the cast, and short ways to write into them."""

import pytest

from memory import documents
from memory.documents import Append, Author, Source
from memory.models import MemoryDocument
from oneclaw.models import Space


@pytest.fixture
def space(ada):
    """Ada's own space."""
    return Space.objects.own_of(ada)


@pytest.fixture
def strangers_space(stranger):
    return Space.objects.own_of(stranger)


@pytest.fixture
def append():
    """append(space, text, path="MEMORY.md"): the revision that it made."""

    def append(space, text, path="MEMORY.md", **author):
        return documents.apply(space, path, Append(text), Author(Source.PAGE, space.owner, **author))

    return append


@pytest.fixture
def document_of():
    def document_of(space, path="MEMORY.md"):
        return MemoryDocument.objects.get(space=space, path=path)

    return document_of
