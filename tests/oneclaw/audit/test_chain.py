"""The chain of hashes: what was changed behind the application's back is found."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from oneclaw.audit import chain
from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def events(ada) -> list[AuditEvent]:
    made = [record(AuditKind.KEY_MADE, actor=ada, number=number) for number in range(3)]
    assert chain.link_all() == 3
    return made


def behind_its_back(statement: str, *values: object) -> None:
    """Execute `statement` as somebody does who may switch triggers off."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement, values)
        cursor.execute("RESET session_replication_role")


def test_a_whole_chain_has_no_faults(events, ada):
    kept = chain.newest()
    record(AuditKind.KEY_REVOKED, actor=ada)
    chain.link_all()

    assert list(chain.faults(kept)) == []
    assert chain.newest().position == 4


def test_a_changed_event_is_found(events):
    behind_its_back("UPDATE oneclaw_auditevent SET actor = 99 WHERE id = %s", events[1].pk)

    assert list(chain.faults()) == [f"Event {events[1].pk}, link 2, was changed, or the link before it."]


def test_a_removed_event_is_found(events):
    behind_its_back("DELETE FROM oneclaw_auditevent WHERE id = %s", events[1].pk)

    assert list(chain.faults()) == [f"Event {events[1].pk}, link 2, is missing."]


def test_a_removed_event_is_found_when_its_link_is_removed_as_well(events):
    behind_its_back("DELETE FROM oneclaw_auditevent WHERE id = %s", events[1].pk)
    behind_its_back("DELETE FROM oneclaw_auditlink WHERE event_id = %s", events[1].pk)

    assert any("missing" in fault for fault in chain.faults())


def test_an_end_that_was_cut_off_is_found_with_a_link_that_was_kept(events):
    kept = chain.newest()
    behind_its_back("DELETE FROM oneclaw_auditevent WHERE id = %s", events[2].pk)
    behind_its_back("DELETE FROM oneclaw_auditlink WHERE event_id = %s", events[2].pk)

    assert list(chain.faults()) == []
    with pytest.raises(CommandError, match="1 faults"):
        call_command("audit", "verify", "--expect", str(kept))


def test_a_link_is_set_once(events):
    with connection.cursor() as cursor, pytest.raises(Exception, match="append-only"):
        cursor.execute("UPDATE oneclaw_auditlink SET position = 9 WHERE position = 3")
