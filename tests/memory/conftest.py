"""Spaces of the cast, short ways to write into them and to search them, and an embedding server."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.models import ChatSession, Message, default_agent
from memory.documents.write import Append, Author, Source, apply
from memory.index.documents import index_document
from memory.index.embeddings import openai_server
from memory.models import MemoryDocument
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from oneclaw.models import Space, User
from tests import conversations
from tests.embedding_server import Embeddings


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
        return apply(space, path, Append(text), Author(Source.PAGE, space.owner, **author))

    return append


@pytest.fixture
def document_of():
    def document_of(space, path="MEMORY.md"):
        return MemoryDocument.objects.get(space=space, path=path)

    return document_of


@pytest.fixture
def session(ada):
    """A conversation of Ada's, without messages."""
    return ChatSession.objects.create(key="ada's", owner=ada, agent=default_agent(), title="Tea")


@pytest.fixture
def say():
    """say(session, text, at="2026-11-21T14:32+00:00", role="user", …): the next message."""

    def say(session, text, at="2026-11-21T14:32+00:00", role="user", **fields):
        session.last_seq += 1
        session.save(update_fields=["last_seq"])
        fields.setdefault("content", [{"type": "text", "text": text}])
        moment = dt.datetime.fromisoformat(at)
        return Message.objects.create(
            session=session, seq=session.last_seq, role=role, text=text, created_at=moment, **fields
        )

    return say


@pytest.fixture
def summarised():
    """summarised(session, through_seq, summary="…", …): a round that replaces its messages up to this one, in use."""
    return conversations.summarise


@pytest.fixture(scope="session")
def write() -> Callable[..., MemoryDocument]:
    """write(person, path, content): a document with its index."""

    def write(user: User, path: str, content: str, force: bool = False) -> MemoryDocument:
        space = Space.objects.own_of(user)
        document, _ = MemoryDocument.objects.get_or_create(space=space, path=path)
        MemoryDocument.objects.filter(pk=document.pk).update(content=content, version=document.version + 1)
        index_document(document.pk, force)
        document.refresh_from_db()
        return document

    return write


@pytest.fixture
def search() -> Callable[..., list[Passage]]:
    """search(person, query, …): what the person's own spaces say."""

    def search(user: User, query: str, **options: Any) -> list[Passage]:
        return HybridSearchManager(Space.objects.visible_to(user)).search(query, **options)

    return search


@pytest.fixture
def embeddings(settings: Any, db: Any) -> Iterator[Embeddings]:
    """The scripted server, chosen by the settings."""
    with Embeddings() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        settings.EMBEDDINGS, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "openai", server.url, ""
        settings.EMBEDDING_TIMEOUT = 2
        # It may have the port of an earlier one, whose failures are known.
        openai_server.cache_clear()
        yield server
        server.shutdown()
        thread.join()
