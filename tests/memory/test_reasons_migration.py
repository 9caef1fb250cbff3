"""Sentences that earlier versions stored become codes with parameters, and can become sentences again."""

import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from chat.models import ChatSession, Message, default_agent
from memory.models import MemoryDocument
from oneclaw.models import Space
from oneclaw.reasons import Reason, wordings

BEFORE = [("chat", "0014_jobs"), ("memory", "0016_jobs")]
AFTER = [("chat", "0015_reasons"), ("memory", "0017_reasons")]
BUSY = "The model's server takes no more requests for the moment."
ANSWERS = [
    ("The model is overloaded. Wait a little and try again.", "model.overloaded", {}),
    (f"{BUSY} Wait a little and try again.", "model.rate_limited", {}),
    (f"{BUSY} Try again in 1 second.", "model.rate_limited", {"seconds": 1}),
    (f"{BUSY} Try again in 89 seconds.", "model.rate_limited", {"seconds": 89}),
    (f"{BUSY} Try again in 2 minutes.", "model.rate_limited", {"seconds": 120}),
    ("Das Modell ist müde.", "other", {"text": "Das Modell ist müde."}),
]
CHANGES = [
    ("Saved in a conversation", "change.saved", {}),
    ("Restored change 12", "change.restored", {"number": 12}),
    ("Took change 3 back", "change.taken_back", {"number": 3}),
    ("Notes of “Tea”, and “more””", "change.notes", {"title": "Tea”, and “more”"}),
    ("Notes of “" + "x" * 190, "change.notes", {"title": "x" * 190}),
    ("Imported", "change.folder_imported", {}),
    ("Imported from mine.zip", "change.imported", {"name": "mine.zip"}),
    (
        "MEMORY.md was changed here and in the folder, in the same lines",
        "change.both_changed",
        {"path": "MEMORY.md"},
    ),
    ("Corrected", "other", {"text": "Corrected"}),
]
SERVERS = [
    ("The embedding server answered 401: No: “key”", "embedding.refused", {"status": 401, "said": "No: “key”"}),
    ("The embedding server cannot be reached (ConnectError).", "embedding.unreachable", {"error": "ConnectError"}),
    ("Something else.", "other", {"text": "Something else."}),
]
FAILED = [
    ("Interrupted.", "call.interrupted", {}),
    (
        "The arguments have 70,015 bytes; at most 65,536 are taken.",
        "call.arguments_too_large",
        {"size": 70_015, "most": 65_536},
    ),
    ("Parameter 'query' is required and must be non-empty.", "call.parameter_missing", {"name": "query"}),
    ("Parameter 'content' must be 5,000 characters or less.", "memory.too_long", {"most": 5000}),
    ("There is no memory file “a.md”.", "memory.missing", {"path": "a.md"}),
    ("The tool note failed: RuntimeError.", "call.failed", {"name": "note", "error": "RuntimeError"}),
    ("Failed to note: refused", "other", {"text": "Failed to note: refused"}),
]
DONE = [
    ("Found nothing", "memory.found_nothing", {}),
    ("Found 3 passages", "memory.found", {"number": 3}),
    ("1 Stelle gefunden", "memory.found", {"number": 1}),
    ("MEMORY.md gelesen, Zeilen 2–13", "memory.read", {"path": "MEMORY.md", "first": 2, "last": 13}),
    ("Déjà connu\u202f: MEMORY.md", "memory.already_known", {"path": "MEMORY.md"}),
    ("MEMORY.mdは4行です", "memory.length", {"path": "MEMORY.md", "count": 4}),
]
LINES = [
    "Ada's key: Line 1 says otherwise: no",
    "Line 4 says otherwise: - Ada lives in Zurich.",
    "Ausgelassen: privater Schlüssel und Passwort. Soll das gespeichert werden?",
    "Left out: a key, token and password. Is it meant to be kept?",
]
SECTION = (
    '<section class="card card--failed" data-tool="{0}" data-state="failed" data-words="de" aria-label="x">\n'
    "<p>Nicht</p>\n</section>"
)


def migrated(targets):
    """The models as they are at `targets`, once the database is."""
    with connection.cursor() as cursor:
        # Nothing that is still to be looked at may hold a table that is to be altered.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    return MigrationExecutor(connection).migrate(targets).apps


def card(state, summary, lines=()):
    return {"state": state, "summary": summary, "lines": list(lines), "result": "{}", "seconds": 0.1}


@pytest.fixture
def legacy(ada):
    """Rows as the version before has written them; the function that reads a model's rows at a state."""
    session = ChatSession.objects.create(pk=uuid.uuid4(), key="a", owner=ada, agent=default_agent())
    document = MemoryDocument.objects.create(space=Space.objects.own_of(ada), path="MEMORY.md")
    prompt = Message.objects.create(session=session, seq=1, role="user")
    cards = {f"f{n}": card("failed", text) for n, (text, *_) in enumerate(FAILED)}
    cards |= {f"d{n}": card("done", text) for n, (text, *_) in enumerate(DONE)}
    cards["path"] = card("done", "MEMORY.md", LINES)
    html = f"<p>a</p>{SECTION.format('f0')}<p>b</p>{SECTION.format('f1')}"
    answer = Message.objects.create(session=session, seq=2, role="assistant", html=html, html_version=7)
    Message.objects.create(session=session, seq=3, role="tool", parent=answer, meta={"cards": cards, "more": 1})
    apps = migrated(BEFORE)
    Turn, Revision = apps.get_model("chat", "Turn"), apps.get_model("memory", "MemoryRevision")
    common = {"session_id": session.pk, "prompt_id": prompt.pk, "status": "failed", "lease_until": timezone.now()}
    for number, (text, *_) in enumerate([*ANSWERS, ("",)], 1):
        Turn.objects.create(attempt=number, error_code="x", error_text=text, **common)
    common = {"space_id": document.space_id, "document_id": document.pk, "kind": "append", "source": "tool"}
    for number, (text, *_) in enumerate([*CHANGES, ("",)], 1):
        Revision.objects.create(number=number, reason=text, content_hash="", **common)
    for number, (text, *_) in enumerate([*SERVERS, ("",)], 1):
        apps.get_model("memory", "EmbeddingModel").objects.create(id=number, name=str(number), error=text)
    return apps


def column(apps, model, name):
    return list(apps.get_model(model).objects.order_by("pk").values_list(name, flat=True))


def codes(expected):
    return [{"code": code, "params": params} for _, code, params in expected]


@pytest.mark.soak
def test_what_is_stored_is_converted_and_back(legacy):
    apps = migrated(AFTER)
    turns, revisions = column(apps, "chat.Turn", "error"), column(apps, "memory.MemoryRevision", "reason")
    assert turns == [*codes(ANSWERS), None]
    assert revisions == [*codes(CHANGES), None]
    assert column(apps, "memory.EmbeddingModel", "error") == [*codes(SERVERS), None]
    meta = Message.objects.values_list("meta", flat=True).get(seq=3)
    assert meta["more"] == 1
    cards = meta["cards"]
    summaries = {id: card["summary"] for id, card in cards.items()}
    assert [summaries[f"f{n}"] for n in range(len(FAILED))] == codes(FAILED)
    assert [summaries[f"d{n}"] for n in range(len(DONE))] == codes(DONE)
    assert summaries["path"] == "MEMORY.md"
    assert cards["path"]["lines"] == [
        LINES[0],
        {"code": "memory.contradicted", "params": {"line": 4, "text": "- Ada lives in Zurich."}},
        {"code": "memory.secret_left_out", "params": {"kinds": ["private key", "password"]}},
        {"code": "memory.secret_left_out", "params": {"kinds": ["key", "token", "password"]}},
    ]
    slot = '<section class="card card--failed" data-tool="{}"></section>'
    assert (
        Message.objects.values_list("html", flat=True).get(seq=2)
        == f"<p>a</p>{slot.format('f0')}<p>b</p>{slot.format('f1')}"
    )
    for stored in [*turns[:-1], *revisions[:-1], *cards["path"]["lines"][1:], *codes(FAILED), *codes(DONE)]:
        reason = Reason.of(stored)
        assert reason.code in wordings
        assert reason.code not in str(reason)
    assert is_final(apps)

    apps = migrated(BEFORE)
    assert column(apps, "chat.Turn", "error_text") == [*(text for text, *_ in ANSWERS), ""]
    # Of a title that was cut only the beginning is known.
    reasons = column(apps, "memory.MemoryRevision", "reason")
    assert [text[:199] for text in reasons] == [*(text[:199] for text, *_ in CHANGES), ""]
    assert column(apps, "memory.EmbeddingModel", "error") == [*(text for text, *_ in SERVERS), ""]
    cards = Message.objects.values_list("meta", flat=True).get(seq=3)["cards"]
    assert all(isinstance(text, str) for card in cards.values() for text in (card["summary"], *card["lines"]))
    assert (cards["f0"]["summary"], cards["d1"]["summary"]) == ("Interrupted.", "Found 3 passages")
    assert Message.objects.values_list("html_version", flat=True).get(seq=2) == 0
    assert is_final(apps)


def is_final(apps):
    """Whether the database refuses to change a revision."""
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        apps.get_model("memory", "MemoryRevision").objects.update(reason="another")
    return True
