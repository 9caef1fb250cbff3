"""Define the schemas of memory in the API: spaces, documents, changes, passages."""

import datetime as dt
import uuid

from ninja import Schema
from pydantic import Field

from memory.models import MemoryDocument, MemoryRevision
from memory.search.passage import Passage
from oneclaw.web.api import RequestBody


class SpaceOut(Schema):
    """A space whose memory you may read."""

    id: int
    name: str
    kind: str = Field(description="own, project, team, or agent (what an agent with its own memory knows of you).")
    may_write: bool


class DocumentOut(Schema):
    """A Markdown file of a space, without its text."""

    space: int
    path: str = Field(examples=["MEMORY.md"])
    version: int = Field(description="Counted up by each change.")
    updated_at: dt.datetime

    @classmethod
    def of(cls, document: MemoryDocument) -> "DocumentOut":
        return cls(
            space=document.space_id,
            path=document.path,
            version=document.version,
            updated_at=document.updated_at,
        )


class DocumentWithText(DocumentOut):
    text: str = Field(examples=["- Likes green tea.\n"])

    @classmethod
    def whole(cls, document: MemoryDocument) -> "DocumentWithText":
        return cls(**DocumentOut.of(document).model_dump(), text=document.content)


class DocumentsOut(Schema):
    items: list[DocumentOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class Replacement(RequestBody):
    """The whole text of a document, made from the version that you read."""

    text: str
    base_version: int = Field(ge=0, lt=2**31, description="The version that you read; 0: there is none yet.")


class Addition(RequestBody):
    """Text that is added at the end of a document, on lines of its own. It needs no base version."""

    text: str = Field(examples=["- Likes green tea."])
    client_id: uuid.UUID | None = Field(
        default=None, description="Made by you. Sent again with the same one, it is added once."
    )


class WaitingOut(Schema):
    """What became of a text that is not memory yet."""

    state: str = Field(description="waiting for your yes, proposed to the space, or declined before.")
    masked: list[str] = Field(description="Kinds of secrets that were left out.")


class HunkOut(Schema):
    at: int = Field(description="The line, counted from 0, at which `removed` stood.")
    removed: list[str]
    added: list[str]


class RevisionOut(Schema):
    """One change of a document."""

    number: int = Field(description="The document's version after it.")
    kind: str = Field(description="append, replace or delete.")
    source: str = Field(description="tool, flush, page, admin, file, api, undo, import, forget or proposal.")
    author: str | None
    approved_by: str | None = Field(default=None, description="The second person, of a proposal.")
    reason: str
    created_at: dt.datetime
    changes: list[HunkOut]

    @classmethod
    def of(cls, revision: MemoryRevision) -> "RevisionOut":
        return cls(
            number=revision.number,
            kind=revision.kind,
            source=revision.source,
            author=str(revision.author) if revision.author else None,
            approved_by=str(revision.approved_by) if revision.approved_by else None,
            reason=revision.reason.in_english if revision.reason else "",
            created_at=revision.created_at,
            changes=[HunkOut(**hunk) for hunk in revision.hunks],
        )


class RevisionsOut(Schema):
    items: list[RevisionOut]
    next: str | None = Field(default=None, description="The cursor of the next page; null on the last one.")


class SaidOut(Schema):
    """The conversation, time and role of a passage of a transcript."""

    title: str
    at: dt.datetime
    role: str


class PassageOut(Schema):
    """A passage that a search found."""

    path: str = Field(description="Of a document, or /c/<session> of a conversation.")
    space: int | None = Field(description="Null of a conversation.")
    start_line: int
    end_line: int
    heading: str
    text: str
    score: float = Field(description="From 0 to 1, how sure the search is of it.")
    said: SaidOut | None = None

    @classmethod
    def of(cls, passage: Passage, found_in: dict[int, int]) -> "PassageOut":
        """Return `passage` as a schema. `found_in` maps ids of documents to ids of spaces."""
        origin = passage.origin
        return cls(
            path=passage.path,
            space=found_in.get(passage.document_id) if passage.document_id else None,
            start_line=passage.start_line,
            end_line=passage.end_line,
            heading=passage.heading,
            text=passage.snippet,
            score=passage.score,
            said=SaidOut(title=origin.title, at=origin.at, role=origin.role) if origin else None,
        )
