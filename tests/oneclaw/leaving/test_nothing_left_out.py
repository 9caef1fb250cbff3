"""The archive of an account has every text of its person, whatever the models are, or this file says why it has not."""

import io
import zipfile
from typing import Any

import pytest
from django.db import models

from oneclaw.leaving import archive
from oneclaw.models import User
from tests.access.cast import with_people
from tests.oneclaw.leaving.everything import make_everything, mark_texts
from tests.oneclaw.leaving.test_nothing_left import OF_NOBODY, UNMARKED

pytestmark = pytest.mark.django_db(transaction=True)
DERIVED = "is made from what is in the archive"
CODE = "is a code, a key or a hash of the server"
ACCESS = "opens an account or a door, here and nowhere else"
RUNNING = "is work of the server that is under way"
# Models and fields of which nothing is in the archive, and why.
LEFT_OUT = {
    "account.EmailAddress": ACCESS,
    "account.EmailConfirmation": ACCESS,
    "chat.Agent.slug": CODE,
    "chat.Attachment.sha256": DERIVED,
    "chat.Attachment.small_type": DERIVED,
    "chat.Attachment.text": DERIVED,
    "chat.Beat": "is the record of a scheduled turn, whose messages are in their conversations",
    "chat.ChatSession.key": CODE,
    "chat.ChatSession.model": "is the choice for the next message; each answer says who wrote it",
    "chat.ContextRound": DERIVED,
    "chat.Folder": "is named by the conversations in it: test_archive.py",
    "chat.Head": "is what a server sent to a model",
    "chat.IdentityCode": ACCESS,
    "chat.IdentityLink": ACCESS,
    "chat.ImportJob": RUNNING,
    "chat.Message.html": DERIVED,
    "chat.Message.text": DERIVED,
    "chat.QueuedMessage": RUNNING,
    "chat.Rating.model": "is said by the message",
    "chat.RelayedMessage": "is a message of the conversation that got it",
    "chat.Schedule.proposal_key": CODE,
    "chat.Schedule.quiet_hash": CODE,
    "chat.Schedule.zone": "follows the person's timezone",
    "oneclaw.Budget.timezone": "that of the admin who made it",
    "chat.SessionRoute": "is a channel of this server",
    "chat.SharedLink": ACCESS,
    "chat.SubTask": RUNNING,
    "chat.Turn": RUNNING,
    "memory.Comparison": RUNNING,
    "memory.Decision": RUNNING,
    "memory.DocumentJob": RUNNING,
    "memory.FileChunk": DERIVED,
    "memory.FilePage": DERIVED,
    "memory.FileVersion": DERIVED,
    "memory.Flush": RUNNING,
    "memory.ForgottenLine": CODE,
    "memory.GoldenQuestion": "measures the search of this server",
    "memory.LabRun": DERIVED,
    "memory.MemoryChunk": DERIVED,
    "memory.MemoryDocument.content_hash": DERIVED,
    "memory.MemoryRevision.content_hash": DERIVED,
    "memory.MemoryRevision.operation_key": CODE,
    "memory.ProgramRead": ACCESS,
    "memory.ProgramSave": ACCESS,
    "memory.Proposal": "is of a shared space",
    "memory.Review": RUNNING,
    "memory.SkillApproval": "counts for what this server has",
    "memory.Suggestion": "is no memory before the person's yes, and its source is in the archive",
    "memory.TranscriptChunk": DERIVED,
    "memory.Upload": RUNNING,
    "oneclaw.AccountImport": RUNNING,
    "allauth_idp_oidc.Client": ACCESS,
    "allauth_idp_oidc.Token": ACCESS,
    "oneclaw.ApiKey": ACCESS,
    "oneclaw.SpentRefreshToken": ACCESS,
    "oneclaw.AuditEvent": "is the server's record",
    "oneclaw.Invitation": ACCESS,
    "oneclaw.LegalHold": "is the administration's",
    "oneclaw.SignInAttempt": ACCESS,
    "oneclaw.Space": "is named by the server",
    "oneclaw.SpaceInvitation": ACCESS,
    "oneclaw.Spend": "is accounting, which the person's page has as CSV",
    "oneclaw.User.directory_id": ACCESS,
    "oneclaw.User.dismissed_announcement": CODE,
    "oneclaw.User.password": ACCESS,
    "socialaccount.SocialAccount": ACCESS,
    "socialaccount.SocialToken": ACCESS,
    "usersessions.UserSession": ACCESS,
}
# Texts that the export reads as something else.
READ = {"oneclaw.User.timezone", "oneclaw.User.language", "chat.Attachment.media_type"}


def test_every_text_is_in_the_archive_or_has_a_reason(transactional_db, scripted: Any, settings: Any):
    settings.RECALL = "every"
    cast = with_people()
    found = make_everything(cast, set(OF_NOBODY))
    found = {model: row for model, row in found.items() if model._meta.label not in OF_NOBODY}
    # Values that are no text have their shapes; what they say is compared in test_archive.py.
    shaped = {
        f"{model._meta.label}.{field.name}"
        for model in found
        for field in model._meta.local_concrete_fields
        if isinstance(field, (models.JSONField, models.BinaryField))
    }
    marks = mark_texts(found, UNMARKED | READ | shaped)
    data = b"".join(archive.export(User.objects.get(pk=cast.people["author"].pk)))
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        texts = "\n".join(f"{name}\n{opened.read(name).decode(errors='replace')}" for name in opened.namelist())
    missing = {name for mark, name in marks.items() if mark not in texts}
    known = {name for name in marks.values() if name in LEFT_OUT or name.rpartition(".")[0] in LEFT_OUT}
    assert missing - known == set()
    # A reason for what is in the archive would hide that it is not some day.
    assert known - missing == set()
    models_left_out = {name for name in LEFT_OUT if name.count(".") == 1}
    assert models_left_out <= {model._meta.label for model in found}
