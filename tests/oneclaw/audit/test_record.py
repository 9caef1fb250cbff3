"""What is recorded, by whom, and that nobody can change it."""

import json

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind, User
from oneclaw.people import keys
from oneclaw.spaces import lifecycle

pytestmark = pytest.mark.django_db


def kinds(**of: object) -> list[str]:
    return list(AuditEvent.objects.filter(**of).order_by("pk").values_list("kind", flat=True))


def test_sign_ins_and_failures_are_recorded_with_their_address(client, ada):
    sign_in = {"login": ada.email, "password": "correct horse battery"}
    client.post(reverse("account_login"), sign_in | {"password": "wrong horse"}, REMOTE_ADDR="192.0.2.7")
    client.post(reverse("account_login"), sign_in, REMOTE_ADDR="192.0.2.7")
    client.post(reverse("account_logout"))

    assert kinds() == [AuditKind.SIGN_IN_FAILED, AuditKind.SIGNED_IN, AuditKind.SIGNED_OUT]
    failed, signed_in = AuditEvent.objects.order_by("pk")[:2]
    assert (failed.person, failed.actor, failed.address) == (ada.pk, None, "192.0.2.7")
    assert (signed_in.actor, signed_in.address) == (ada.pk, "192.0.2.7")


def test_what_was_typed_at_a_failed_sign_in_is_not_kept(client, ada):
    client.post(reverse("account_login"), {"login": "my password is tulip", "password": "tulip"})

    assert "tulip" not in json.dumps(list(AuditEvent.objects.values()), default=str)


def test_keys_are_recorded_when_they_are_made_and_revoked(ada):
    key, token = keys.make(ada, "Backup", "year")
    keys.revoke(ada, key.pk)

    assert kinds(actor=ada.pk) == [AuditKind.KEY_MADE, AuditKind.KEY_REVOKED]
    assert token not in json.dumps(list(AuditEvent.objects.values("details")))


def test_what_was_rolled_back_is_not_recorded(ada):
    with transaction.atomic():
        record(AuditKind.KEY_MADE, actor=ada)
        transaction.set_rollback(True)

    assert kinds() == []


@pytest.mark.parametrize(
    "act",
    [
        "UPDATE oneclaw_auditevent SET actor = 0",
        "DELETE FROM oneclaw_auditevent",
        "TRUNCATE oneclaw_auditevent CASCADE",
        "DELETE FROM oneclaw_auditlink",
        "TRUNCATE oneclaw_auditlink",
    ],
)
def test_an_event_cannot_be_changed_or_deleted(ada, act):
    record(AuditKind.KEY_MADE, actor=ada)

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(act)

    assert kinds() == [AuditKind.KEY_MADE]


def test_an_event_outlives_its_person(ada):
    record(AuditKind.KEY_MADE, actor=ada)
    pk = ada.pk
    User.objects.filter(pk=pk).delete()

    assert kinds(actor=pk) == [AuditKind.KEY_MADE]


def test_the_log_is_exported_as_json_lines(ada, capsys):
    record(AuditKind.KEY_MADE, actor=ada, period="year")
    call_command("audit", "export")

    event = json.loads(capsys.readouterr().out)
    assert (event["kind"], event["actor"], event["details"]) == ("key.made", ada.pk, {"period": "year"})


def test_only_who_may_read_the_log_sees_its_page(client, ada, admin_person):
    client.force_login(ada)
    assert client.get(reverse("team_audit")).status_code == 403
    assert client.get(reverse("team_audit_export")).status_code == 403

    client.force_login(admin_person)
    page = client.get(reverse("team_audit"), {"person": "ada", "kind": "sign_in"}).content.decode()
    assert page.count("ada@example.org signed in.") == 1
    assert ada.email in page


@pytest.mark.django_db(transaction=True)
async def test_the_page_exports_what_its_filter_shows(async_client, admin_person, ada):
    await AuditEvent.objects.acreate(kind="key.made", actor=ada.pk)
    await async_client.aforce_login(admin_person)
    response = await async_client.get(reverse("team_audit_export"), {"kind": "key.made"})

    lines = b"".join([part async for part in response.streaming_content]).decode().splitlines()
    assert [json.loads(line)["actor"] for line in lines] == [ada.pk]


def test_who_gives_a_role_in_a_space_is_recorded(client, ada, stranger):
    space = lifecycle.create(ada, lifecycle.SpaceDraft("Engine room"))
    client.force_login(ada)
    client.post(reverse("add_space_member", args=[space.pk]), {"email": stranger.email, "role": "reader"})

    # Whom the invitation is for, it does not say: no record tells who has an account.
    event = AuditEvent.objects.filter(kind=AuditKind.MEMBERS_CHANGED).latest("pk")
    invitation = space.invitations.get().pk
    assert (event.actor, event.person, event.space) == (ada.pk, None, space.pk)
    assert event.details == {"role": "reader", "invitation": invitation}
    # Who accepts it is the actor, whom no record names twice.
    client.force_login(stranger)
    client.post(reverse("answer_space_invitation", args=[invitation]), {"do": "accept"})
    event = AuditEvent.objects.filter(kind=AuditKind.MEMBERS_CHANGED).latest("pk")
    assert (event.actor, event.person, event.space) == (stranger.pk, None, space.pk)
    assert event.details == {"role": "reader"}
