"""`manage.py check_invariants` says what does not hold, and keeps what it found."""

import datetime as dt
import json
from io import StringIO

from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.models import ChatSession
from oneclaw import invariants, tasks
from oneclaw.models import InvariantRun


def checked(**options):
    out = StringIO()
    try:
        call_command("check_invariants", stdout=out, **options)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), None


def test_nothing_is_wrong_with_what_the_product_writes(world):
    assert list(invariants.check()) == []
    out, error = checked()
    assert (out, error) == (f"{len(invariants.all_invariants())} invariants hold.\n", None)


def test_each_violation_is_a_line_and_the_exit_code_is_not_zero(world):
    ChatSession.objects.filter(pk=world.session.pk).update(last_seq=99)
    out, error = checked()
    assert out.startswith(f"messages are numbered without a gap: session {world.session.pk} counts 99 messages but has")
    assert out.count("\n") == 1
    assert error == "1 violations."


def test_json_is_one_document_and_nothing_else(world):
    ChatSession.objects.filter(pk=world.session.pk).update(last_seq=99)
    out, error = checked(json=True)
    found = json.loads(out)
    assert error
    assert found["count"] == 1
    assert found["violations"][0]["invariant"] == "messages are numbered without a gap"


def test_the_admin_shows_the_last_run_and_what_it_found(world, client, admin_person):
    ChatSession.objects.filter(pk=world.session.pk).update(last_seq=99)
    checked()
    client.force_login(admin_person)
    run = InvariantRun.objects.get()
    assert client.get("/admin/oneclaw/invariantrun/").status_code == 200
    assert "counts 99 messages" in client.get(f"/admin/oneclaw/invariantrun/{run.pk}/change/").content.decode()


def test_a_worker_checks_once_a_day(db):
    tasks.check_invariants()
    tasks.check_invariants()
    assert InvariantRun.objects.count() == 1
    InvariantRun.objects.update(at=timezone.now() - dt.timedelta(hours=25))
    tasks.check_invariants()
    assert InvariantRun.objects.count() == 2


def test_a_run_keeps_the_first_violations_and_counts_all(world, monkeypatch):
    monkeypatch.setattr(invariants, "STORED_VIOLATIONS", 1)
    ChatSession.objects.update(last_seq=99)
    run = invariants.run()
    assert (run.count, len(run.violations)) == (2, 1)


def test_each_invariant_has_a_name_of_its_own():
    names = [invariant.name for invariant in invariants.all_invariants()]
    assert len(names) == len(set(names))
