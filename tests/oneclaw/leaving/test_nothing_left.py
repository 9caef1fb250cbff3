"""Nothing of a person is left after their removal, whatever the models are: each has a row with a mark in each text."""

from pathlib import Path
from typing import Any

import pytest

from oneclaw import invariants
from oneclaw.leaving import offboard
from oneclaw.models import User
from tests.access.cast import with_people
from tests.oneclaw.leaving.everything import make_everything, mark_texts, models_with_rows
from tests.oneclaw.leaving.test_offboarding import dump, on_disk

pytestmark = pytest.mark.django_db(transaction=True)
# Models of which no row is a person's, and why.
OF_NOBODY = {
    "admin.LogEntry": "goes where it names an address: test_offboarding.py",
    "auth.Group": "is not used: rights come from roles",
    "auth.Group_permissions": "is not used",
    "auth.Permission": "is of the code",
    "chat.SwitchedOffHook": "is of the code",
    "contenttypes.ContentType": "is of the code",
    "memory.EmbeddingModel": "is of the server",
    "oneclaw.AuditDelivery": "is of the server",
    "oneclaw.Group": "is of the team",
    "oneclaw.Heartbeat": "is of the server",
    "oneclaw.InvariantRun": "names people by number",
    "oneclaw.ModelFacts": "is of a model's server",
    "oneclaw.ModelRule": "is of the server",
    "oneclaw.ModelRule_groups": "is of the server",
    "oneclaw.ModelServer": "is of the server",
    "oneclaw.Offboarding": "is the receipt, with counts and hashes",
    "oneclaw.RetentionRule": "is of the server",
    "oneclaw.RuntimeSetting": "is of the server",
    "oneclaw.SpaceGroup": "is of a group",
    "socialaccount.SocialApp": "is of the server",
}
# Texts that a mark would break: rows are found by them, or the database checks them.
UNMARKED = {
    "memory.Proposal.accepted_text",
    "memory.Review.newer_hash",
    "oneclaw.SignInAttempt.account",
    "oneclaw.User.email",
    "sessions.Session.session_data",
}
# Rows that stay and name nobody, and why.
KEPT = {
    "oneclaw.AuditEvent": "must be explained later: it names people by number, and holds nothing that they wrote",
    "oneclaw.AuditLink": "is the chain of these events",
    "oneclaw.Spend": "is accounting",
}


def test_no_row_and_no_text_of_any_model_is_left(transactional_db, scripted: Any, settings: Any, tmp_path: Path):
    settings.RECALL = "every"
    cast = with_people()
    author = cast.people["author"]
    found = make_everything(cast, set(OF_NOBODY))
    assert {each._meta.label for each in models_with_rows()} == {each._meta.label for each in found} | set(OF_NOBODY)
    found = {model: row for model, row in found.items() if model._meta.label not in OF_NOBODY}
    marks = mark_texts(found, UNMARKED)
    before = dump()
    assert [name for mark, name in marks.items() if not is_in(mark, before)] == []
    folders = [tmp_path / name for name in ("workspaces", "attachments", "library")]
    assert all("zqprivate" in on_disk(folder) for folder in folders)

    job = offboard.begin(User.objects.get(pk=author.pk), receiver=cast.people["owner"], by=cast.people["staff"])
    assert offboard.run(job.pk)
    after = dump()
    left = {name.rpartition(".")[0] for mark, name in marks.items() if is_in(mark, after)}
    rows = {model._meta.label for model, row in found.items() if model._base_manager.filter(pk=row.pk).exists()}
    assert (left, rows) == (set(KEPT), set(KEPT))
    for word in ("zqprivate", "author@example.org"):
        assert word not in after
        assert word not in on_disk(tmp_path)
    assert [str(each) for each in invariants.check()] == []


def is_in(mark: str, text: str) -> bool:
    """Return whether the mark is in a dump, as text or as bytes."""
    return mark in text or mark.encode().hex() in text
