"""The pages of forgetting, without a line of script; and the command."""

import io
import json
import re

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command

from memory.models import Forgetting, MemoryDocument
from oneclaw.models import Space, SpaceMember

LINE = "- My sister Zorabella lives in Lisbon."


@pytest.fixture
def ada_at(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def document(space, append):
    return append(space, f"# About\n{LINE}\n- tea\n").document


def digest_in(text):
    return re.search(r'name="digest" value="(\w+)"', text)[1]


def forget(client, space, *lines):
    shown = client.post("/memory/forget", {"space": space.pk, "line": lines}).content.decode()
    return client.post("/memory/forget", {"space": space.pk, "line": lines, "digest": digest_in(shown)})


def test_lines_are_chosen_seen_forgotten_and_a_receipt_remains(ada_at, document, space, ada):
    assert f"/memory/forget?document={document.pk}" in ada_at.get(f"/memory/{document.pk}/").content.decode()
    page = ada_at.get("/memory/forget", {"document": document.pk}).content.decode()
    assert f'name="line" value="{LINE}">' in page
    shown = ada_at.post("/memory/forget", {"document": document.pk, "space": space.pk, "line": [LINE]})
    text = shown.content.decode()
    assert f"<del>{LINE}</del>" in text
    assert "1 change of its history contains it" in text
    assert MemoryDocument.objects.get().version == 1
    answer = ada_at.post("/memory/forget", {"space": space.pk, "line": [LINE], "digest": digest_in(text)})
    done = Forgetting.objects.get()
    assert answer["Location"] == f"/memory/forget/{done.pk}"
    assert MemoryDocument.objects.get().content == "# About\n- tea\n"
    page = ada_at.get(answer["Location"]).content.decode()
    assert done.hashes[0] in page
    receipt = ada_at.get(f"/memory/forget/{done.pk}/receipt.json")
    assert receipt["Content-Disposition"].startswith('attachment; filename="forgotten-')
    told = json.loads(receipt.content)
    assert (told["by"], told["hashes"], told["what_went"]["lines"]) == (ada.email, done.hashes, 1)
    assert "Zorabella" not in page + receipt.content.decode()
    assert answer["Location"] in ada_at.get("/memory/forget").content.decode()
    history = ada_at.get(f"/memory/{document.pk}/").content.decode()
    assert "forgetting · Lines were forgotten" in history
    assert history.count("Undo this change") == 1


def test_a_search_chooses_the_lines_with_its_words_also_from_the_history(ada_at, document, space, append):
    append(space, "- Zorabella was here once.\n", "old.md")
    ada_at.post(f"/memory/{MemoryDocument.objects.get(path='old.md').pk}/delete-line", {"base_version": 1, "line": 0})
    page = ada_at.get("/memory/forget", {"q": "zorabella"}).content.decode()
    for line in (LINE, "- Zorabella was here once."):
        assert f'value="{line}" checked>' in page
    assert 'value="- tea"' not in page
    assert (
        "No current or earlier line contains these words"
        in ada_at.get("/memory/forget", {"q": "qqxz"}).content.decode()
    )


def test_a_search_lists_only_lines_with_its_words_and_no_headings(ada_at, ada, write):
    write(
        ada, "MEMORY.md", "# Teas of my sister\n\n- My sister drinks sage tea.\n- The car is red.\n- Teas are warm.\n"
    )
    page = ada_at.get("/memory/forget", {"q": "Which tea does she like?"}).content.decode()
    offered = re.findall(r'name="line" value="([^"]*)"( checked)?>', page)
    assert offered == [("- My sister drinks sage tea.", ""), ("- Teas are warm.", "")]


def test_what_changed_since_it_was_shown_is_shown_again(ada_at, document, space, append):
    shown = ada_at.post("/memory/forget", {"line": [LINE]}).content.decode()
    append(space, f"- And {LINE[2:]}\n")
    answer = ada_at.post("/memory/forget", {"line": [LINE], "digest": digest_in(shown)})
    assert answer.status_code == 409
    assert "Memory was changed in the meantime" in answer.content.decode()
    assert not Forgetting.objects.exists()


def test_nothing_chosen_is_told(ada_at, document, space):
    answer = ada_at.post("/memory/forget", {"document": document.pk})
    assert answer.status_code == 422
    assert "Choose at least one line" in answer.content.decode()
    assert LINE in answer.content.decode()


def test_an_edit_that_began_before_does_not_bring_it_back_and_a_later_one_does(ada_at, document, space):
    old = {"base_version": 1, "content": f"# About\n{LINE}\n- tea\n- milk\n"}
    forget(ada_at, space, LINE)
    answer = ada_at.post(f"/memory/{document.pk}/edit", old)
    assert answer.status_code == 409
    assert "Zorabella" not in answer.content.decode()
    assert "- tea\n- milk\n</textarea>" in answer.content.decode()
    assert "Forgotten lines that you write here yourself" in answer.content.decode()
    ada_at.post(f"/memory/{document.pk}/edit", {"base_version": 2, "content": f"{LINE}\n"})
    assert MemoryDocument.objects.get().content == f"{LINE}\n"


def test_only_an_owner_forgets_and_in_a_shared_space_an_admin_too(client, ada, stranger, admin_person, append, space):
    team = Space.objects.create(kind="team", name="Team", owner=ada)
    SpaceMember.objects.create(space=team, user=ada, role="owner")
    theirs, mine = append(team, LINE).document, append(space, LINE).document
    client.force_login(stranger)

    def statuses(document):
        page = client.get("/memory/forget", {"document": document.pk}).status_code
        return page, client.post("/memory/forget", {"space": document.space_id, "line": [LINE]}).status_code

    assert statuses(theirs) == statuses(mine) == (404, 404)
    for role in ("reader", "editor"):
        SpaceMember.objects.update_or_create(space=team, user=stranger, defaults={"role": role})
        assert statuses(theirs) == (403, 403)
    assert "Forget lines" not in client.get(f"/memory/{theirs.pk}/").content.decode()
    client.force_login(ada)
    assert "Zorabella" not in forget(client, team, LINE).content.decode()
    done = Forgetting.objects.get()
    for person, expected in ((stranger, 404), (ada, 200), (admin_person, 200)):
        client.force_login(person)
        assert client.get(f"/memory/forget/{done.pk}").status_code == expected
        assert client.get(f"/memory/forget/{done.pk}/receipt.json").status_code == expected
    assert statuses(theirs) == (200, 200)
    assert statuses(mine) == (404, 404)
    stranger.is_staff = True
    stranger.save()
    client.force_login(stranger)
    assert statuses(theirs) == (403, 403)
    stranger.user_permissions.add(Permission.objects.get(codename="delete_memorydocument"))
    assert statuses(theirs) == (200, 200)


def test_the_command_lists_first_and_then_forgets(document, ada):
    def memory(*arguments):
        output = io.StringIO()
        call_command("memory", "forget", "--user", ada.email, *arguments, stdout=output)
        return output.getvalue()

    told = memory("--with", "zorabella", "--dry-run")
    assert told.startswith(f"This would go:\nMEMORY.md:2: {LINE}\n")
    assert MemoryDocument.objects.get().version == 1
    told = json.loads(memory(LINE, "--json"))
    assert (told["counts"]["lines"], told["hashes"]) == (1, Forgetting.objects.get().hashes)
    assert MemoryDocument.objects.get().content == "# About\n- tea\n"
    assert memory("--with", "zorabella") == "There is nothing to forget.\n"
    with pytest.raises(CommandError, match="Choose at least one line"):
        memory("--with", " ")
