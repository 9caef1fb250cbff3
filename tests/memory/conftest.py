"""Spaces of the cast, and short ways to write into them."""

import datetime as dt

import pytest

from chat.models import ChatSession, Message, default_agent
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
