"""The chain of hashes: what was changed behind the application's back is found."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from oneclaw.audit import chain
from oneclaw.audit.record import record
from oneclaw.models import AuditDelivery, AuditEvent, AuditKind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def events(ada) -> list[AuditEvent]:
    # What a thread of an earlier test may have written late.
    chain.link_all()
    made = [record(AuditKind.KEY_MADE, actor=ada, number=number) for number in range(3)]
    assert chain.link_all() == 3
    return made


def behind_its_back(statement: str, *values: object) -> None:
    """Execute `statement` as somebody does who may switch triggers off."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement, values)
        cursor.execute("RESET session_replication_role")


def test_a_whole_chain_has_no_faults(events, ada, capsys):
    kept = chain.newest()
    record(AuditKind.KEY_REVOKED, actor=ada)
    chain.link_all()

    assert list(chain.faults(kept)) == []
    assert chain.newest().position == 4
    call_command("audit", "verify", "--expect", str(kept))
    assert capsys.readouterr().out == f"The audit log is whole. Its newest link: {chain.newest()}\n"


CHANGED = "Event {1}, link 2, was changed, or the link before it."
# What somebody does to the second of three events, and what is found; {n} stands for the id of an event.
BROKEN = {
    "the event is changed": (["UPDATE oneclaw_auditevent SET actor = 99 WHERE id = {1}"], [CHANGED]),
    "what it says is changed": (["UPDATE oneclaw_auditevent SET details = '{{}}' WHERE id = {1}"], [CHANGED]),
    "its time is changed": (["UPDATE oneclaw_auditevent SET at = at - interval '1 us' WHERE id = {1}"], [CHANGED]),
    "the event is removed": (["DELETE FROM oneclaw_auditevent WHERE id = {1}"], ["Event {1}, link 2, is missing."]),
    "the event is removed with its link": (
        ["DELETE FROM oneclaw_auditevent WHERE id = {1}", "DELETE FROM oneclaw_auditlink WHERE event_id = {1}"],
        ["The links 2 to 2 are missing.", "Event {2}, link 3, was changed, or the link before it."],
    ),
    "the event is removed, and the rest moves up": (
        [
            "DELETE FROM oneclaw_auditevent WHERE id = {1}",
            "DELETE FROM oneclaw_auditlink WHERE event_id = {1}",
            "UPDATE oneclaw_auditlink SET position = 2 WHERE event_id = {2}",
        ],
        ["Event {2}, link 2, was changed, or the link before it."],
    ),
    "its link is removed": (
        ["DELETE FROM oneclaw_auditlink WHERE event_id = {1}"],
        [
            "The links 2 to 2 are missing.",
            "Event {2}, link 3, was changed, or the link before it.",
            "Event {1} has lost its link.",
        ],
    ),
    "an event is added without a link": (
        ["INSERT INTO oneclaw_auditevent (id, kind, details) VALUES (1000000, 'key.made', '{{}}')"],
        ["Event 1000000 has lost its link."],
    ),
    "an event is added in the middle": (
        [
            "INSERT INTO oneclaw_auditevent (id, kind, details) VALUES (1000000, 'key.made', '{{}}')",
            "UPDATE oneclaw_auditlink SET position = 4 WHERE event_id = {2}",
            "UPDATE oneclaw_auditlink SET position = 3 WHERE event_id = {1}",
            "INSERT INTO oneclaw_auditlink (event_id, position, hash) VALUES (1000000, 2, sha256('x'))",
        ],
        [
            "Event 1000000, link 2, was changed, or the link before it.",
            "Event {1}, link 3, was changed, or the link before it.",
        ],
    ),
    "two events change their places": (
        [
            "UPDATE oneclaw_auditlink SET position = 9 WHERE event_id = {1}",
            "UPDATE oneclaw_auditlink SET position = 2 WHERE event_id = {2}",
            "UPDATE oneclaw_auditlink SET position = 3 WHERE event_id = {1}",
        ],
        [
            "Event {2}, link 2, was changed, or the link before it.",
            "Event {1}, link 3, was changed, or the link before it.",
        ],
    ),
    "two events change what they say": (
        [
            "UPDATE oneclaw_auditevent one SET details = other.details FROM oneclaw_auditevent other"
            " WHERE one.id IN ({1}, {2}) AND other.id = {1} + {2} - one.id"
        ],
        [CHANGED, "Event {2}, link 3, was changed, or the link before it."],
    ),
    "a hash is changed": (
        ["UPDATE oneclaw_auditlink SET hash = sha256('x') WHERE event_id = {1}"],
        [CHANGED, "Event {2}, link 3, was changed, or the link before it."],
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_was_done_behind_its_back_is_found(events, broken, capsys):
    statements, found = ([each.format(*(event.pk for event in events)) for each in part] for part in BROKEN[broken])
    for statement in statements:
        behind_its_back(statement)

    assert list(chain.faults()) == found
    with pytest.raises(CommandError, match=f"^{len(found)} faults.$") as refusal:
        call_command("audit", "verify")
    assert refusal.value.returncode == 1
    assert capsys.readouterr().out.splitlines() == found


def test_an_event_that_was_removed_before_it_was_linked_is_found(events, ada):
    waiting = record(AuditKind.KEY_MADE, actor=ada)
    behind_its_back("DELETE FROM oneclaw_auditevent WHERE id = %s", waiting.pk)

    assert list(chain.faults()) == [f"Event {waiting.pk} was removed before it was linked."]


def test_an_end_that_was_cut_off_is_found_when_the_collector_has_it(events):
    AuditDelivery.objects.create(pk=AuditDelivery.ONLY, position=3)
    assert list(chain.faults()) == []
    behind_its_back("DELETE FROM oneclaw_auditevent WHERE id = %s", events[2].pk)
    behind_its_back("DELETE FROM oneclaw_auditlink WHERE event_id = %s", events[2].pk)

    assert list(chain.faults()) == ["The collector has 3 links, and the chain ends with link 2."]


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
