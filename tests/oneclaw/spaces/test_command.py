"""`manage.py space`: what an administrator does with spaces in the shell."""

import json

import pytest
from django.core.management import CommandError, call_command

from oneclaw.models import Space, SpaceMember


def run(capsys, *arguments: str):
    call_command("space", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_a_space_is_made_filled_listed_and_deleted(capsys, ada, stranger):
    (made,) = run(capsys, "create", "Engine room", "--owner", ada.email, "--kind", "team")
    assert made["members"] == [{"email": ada.email, "role": "owner"}]
    run(capsys, "add", "Engine room", stranger.email, "--role", "editor")
    (held,) = run(capsys, "add", str(made["id"]), stranger.email, "--role", "reader")
    assert held["members"][1] == {"email": stranger.email, "role": "reader"}
    assert [each["name"] for each in run(capsys, "list", "--user", stranger.email)] == ["Engine room"]
    run(capsys, "remove", "engine room", stranger.email)
    assert run(capsys, "list", "--user", stranger.email) == []
    (archived,) = run(capsys, "archive", "Engine room")
    assert archived["archived"]
    assert run(capsys, "delete", "Engine room", "--dry-run")["counts"] == {"members": 1}
    assert Space.objects.shared().exists()
    run(capsys, "delete", "Engine room")
    assert not Space.objects.shared().exists()


def test_a_refusal_is_one_sentence(ada, stranger):
    call_command("space", "create", "Bridge", "--owner", ada.email)
    call_command("space", "create", "Bridge", "--owner", stranger.email)
    for arguments, sentence in (
        (["add", "Galley", ada.email], "There is no space Galley."),
        (["add", "Bridge", ada.email], "Several spaces are called Bridge: give the number, which `space list` shows."),
        (["create", " ", "--owner", ada.email], "The name is empty: write something first."),
    ):
        with pytest.raises(CommandError, match=sentence.replace("?", r"\?")):
            call_command("space", *arguments)
    assert SpaceMember.objects.filter(space__kind="project").count() == 2
