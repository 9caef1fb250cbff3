"""Commands in the shell that read out what people have: each is one event without content, and its owner sees it."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import AuditEvent, AuditKind, Space
from oneclaw.spaces import lifecycle

pytestmark = pytest.mark.django_db
WORD = "zyzzyva"
EXPORTED, LOOKED_AT = AuditKind.EXPORTED, AuditKind.MEMORY_LOOKED_AT
COMMANDS = {
    "memory export": (["{folder}/out"], EXPORTED),
    "memory search": ([WORD], LOOKED_AT),
    "memory skills": ([], LOOKED_AT),
    "memory forget --dry-run": (["--with", WORD], LOOKED_AT),
    "library export": (["{folder}/out"], EXPORTED),
    "library list": ([], LOOKED_AT),
}


@pytest.fixture
def own(ada) -> Space:
    space = Space.objects.own_of(ada)
    write.apply(space, "MEMORY.md", Append(f"- {WORD} likes tea.\n"), Author(Source.PAGE, ada))
    return space


def events() -> list[AuditEvent]:
    return list(AuditEvent.objects.exclude(kind__startswith="space").order_by("pk"))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_one_event_which_its_owner_sees(command, own, ada, stranger, client, tmp_path):
    arguments, kind = COMMANDS[command]
    call_command(*command.split(), *(each.format(folder=tmp_path) for each in arguments), "--user", ada.email)
    (event,) = events()
    assert (event.kind, event.actor, event.person, event.space) == (kind, None, ada.pk, own.pk)
    assert event.details["command"] == command
    assert WORD not in json.dumps(event.details)
    for person, sees in ((ada, True), (stranger, False)):
        client.force_login(person)
        assert (f"<strong>{command}</strong>" in client.get(reverse("memory_looks")).content.decode()) == sees


def test_the_archive_of_an_account_is_one_event_which_its_person_sees(own, ada, client, tmp_path):
    call_command("account", "export", ada.email, tmp_path / "ada.zip")
    (event,) = events()
    assert (event.kind, event.actor, event.person) == (EXPORTED, None, ada.pk)
    assert event.details == {"of": "account", "command": "account export"}
    client.force_login(ada)
    assert "<strong>account export</strong>" in client.get(reverse("memory_looks")).content.decode()


def test_owners_of_a_space_see_the_command_and_readers_do_not(ada, stranger, client, tmp_path):
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    space.members.create(user=stranger, role="reader")
    call_command("memory", "export", tmp_path / "out", "--space", "Engine room")
    (event,) = events()
    assert (event.actor, event.person, event.space) == (None, None, space.pk)
    for person, sees in ((ada, True), (stranger, False)):
        client.force_login(person)
        page = client.get(reverse("memory_looks")).content.decode()
        assert ("<strong>memory export</strong> (Engine room)" in page) == sees


def test_many_queries_are_one_event(own, ada, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps({"id": number, "query": WORD}) + "\n" for number in range(3)))
    call_command("memory", "search", "--queries", queries, "--user", ada.email)
    assert len(events()) == 1


def test_an_export_that_ends_early_is_recorded_as_well(own, ada, tmp_path):
    (tmp_path / "out").write_text("No folder.")
    with pytest.raises(CommandError):
        call_command("memory", "export", tmp_path / "out", "--user", ada.email)
    assert len(events()) == 1


def test_an_export_by_a_member_on_a_page_is_no_look(ada, client):
    client.force_login(ada)
    space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
    AuditEvent.objects.create(kind=EXPORTED, actor=ada.pk + 1, space=space.pk, details={"of": "memory"})
    assert "No administrator has opened it." in client.get(reverse("memory_looks")).content.decode()


def test_the_export_of_the_audit_log_is_in_the_next_one(ada, capsys):
    call_command("audit", "export")
    assert capsys.readouterr().out == ""
    call_command("audit", "export")
    event = json.loads(capsys.readouterr().out)
    assert (event["kind"], event["actor"]) == (EXPORTED, None)
    assert event["details"] == {"of": "audit log", "command": "audit export"}
