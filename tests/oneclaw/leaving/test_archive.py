"""Everything of a person as one archive, which another account takes in: files byte for byte, conversations equal."""

import io
import json
import re
import uuid
import zipfile

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.attachments import disk, store
from chat.conversations import agents, lifecycle
from chat.library import organise, ratings, saved_prompts
from chat.models import Agent, Attachment, ChatSession, Message, Schedule
from chat.transfer.export import as_json
from memory.documents import write
from memory.documents.write import Append, Author, Replace, Source
from memory.library import files as library
from memory.models import FileVersion, SwitchChoice
from memory.policy import switches
from oneclaw.leaving import archive, imports
from oneclaw.models import AccountImport, Space, User
from oneclaw.zipping import BadArchiveError
from tests.oneclaw.leaving.test_offboarding import said
from tests.oneclaw.leaving.test_pages import signed_in

pytestmark = pytest.mark.django_db(transaction=True)
BYTES = b"Tea\r\n\xc3\xa4 without a last line end"


@pytest.fixture
def rich(ada) -> User:
    """Ada with something of everything."""
    User.objects.filter(pk=ada.pk).update(first_name="Ada", appearance="dark", language="de")
    ada.refresh_from_db()
    agents.create(ada, agents.checked_draft("Cook", "You cook.", "", [], "own"))
    files = [store.store_file(ada, name, BYTES + name.encode()) for name in ("one.txt", "two.txt")]
    first = said(ada, "Look at both", files)
    answer = first.messages.get(role=Message.Role.ASSISTANT)
    answer.session = first
    ratings.rate(answer, True)
    ratings.give_reason(answer, "Short")
    lifecycle.rename(first, "Both files")
    ChatSession.objects.filter(pk=first.pk).update(pinned_at=timezone.now())
    archived = said(ada, "An archived one", [files[0]])
    ChatSession.objects.filter(pk=archived.pk).update(
        archived_at=timezone.now(),
        agent=Agent.objects.own_of(ada).get(),
        folder=organise.get_or_create_folder(ada, "Tea"),
    )
    own = Space.objects.own_of(ada)
    author = Author(Source.PAGE, ada)
    write.apply(own, "MEMORY.md", Append("- Ada likes tea.\n"), author)
    write.apply(own, "MEMORY.md", Append("- Ada likes ä.\n"), author)
    write.apply(own, "memory/2026-11-23.md", Replace("# A day\r\nwithout a last line end", 0), author)
    write.apply(own, "skills/brew/SKILL.md", Replace("---\nname: brew\ndescription: Brews.\n---\nBoil.\n", 0), author)
    switches.choose(ada, SwitchChoice.Switch.RECENT, False)
    saved_prompts.save(ada, "weekly", "Report {{week}}")
    Schedule.objects.create(
        owner=ada, kind="task", text="Water", repeat="daily", at="08:00", enabled=True, confirmed_at=timezone.now()
    )
    return ada


async def whole(pieces) -> bytes:
    return b"".join([piece async for piece in pieces])


def exported(user: User) -> bytes:
    return b"".join(archive.export(user))


def comparable(session: ChatSession) -> dict:
    """Return the conversation as its export has it, without its ids and where it came from."""
    session = ChatSession.objects.select_related("owner", "agent", "folder").get(pk=session.pk)
    found = json.loads("".join(as_json(session)))
    for name in ("id", "exported_at", "origin"):
        del found[name]
    return found


def test_a_fresh_account_has_the_same_after_the_import(rich, stranger):
    data = exported(rich)
    counts = archive.read(stranger, io.BytesIO(data))
    assert counts == {
        "conversations": 2, "conversations_known": 0, "conversations_refused": 0,
        "documents": 3, "documents_known": 0, "documents_refused": 0,
    }  # fmt: skip
    theirs, ours = (
        [comparable(each) for each in ChatSession.objects.filter(owner=owner).order_by("title")]
        for owner in (rich, stranger)
    )
    assert ours == theirs
    assert [each["rating"] for each in ours[1]["messages"] if "rating" in each] == [{"good": True, "reason": "Short"}]
    # Each file once, although two messages have it.
    files = Attachment.objects.filter(owner=stranger).order_by("name")
    assert [disk.read(stranger.pk, str(each.pk)) for each in files] == [BYTES + b"one.txt", BYTES + b"two.txt"]
    assert all(each.message.session.owner == stranger for each in files)
    documents = [
        dict(Space.objects.own_of(owner).documents.values_list("path", "content")) for owner in (rich, stranger)
    ]
    assert documents[0] == documents[1]
    assert documents[1]["memory/2026-11-23.md"] == "# A day\r\nwithout a last line end"
    stranger.refresh_from_db()
    assert (stranger.first_name, stranger.appearance, stranger.language) == ("Ada", "dark", "de")
    assert not switches.is_on(stranger, SwitchChoice.Switch.RECENT)
    assert list(stranger.saved_prompts.values_list("name", "text")) == [("weekly", "Report {{week}}")]
    agent = Agent.objects.own_of(stranger).get()
    assert (agent.name, agent.instructions, agent.own_memory) == ("Cook", "You cook.", True)
    task = Schedule.objects.get(owner=stranger)
    assert (task.text, task.repeat, task.at.isoformat(), task.enabled) == ("Water", "daily", "08:00:00", False)

    # A second time nothing comes twice, and the archive of the new account has the same files.
    assert archive.read(stranger, io.BytesIO(data))["conversations_known"] == 2
    assert ChatSession.objects.filter(owner=stranger).count() == 2
    assert Attachment.objects.filter(owner=stranger).count() == 2
    assert Schedule.objects.filter(owner=stranger).count() == 1
    before, after = (zipfile.ZipFile(io.BytesIO(each)) for each in (data, exported(stranger)))
    for folder in ("memory/", "chat.json", "memory.json"):
        names = [name for name in before.namelist() if name.startswith(folder)]
        assert names == [name for name in after.namelist() if name.startswith(folder)]
        assert [before.read(name) for name in names] == [after.read(name) for name in names]


def test_every_version_of_the_own_library_comes_along_once(rich, stranger):
    own = Space.objects.own_of(rich)
    versions = [b"Tea", b"\xff\xfe\x00 no text", b"Tea", BYTES]
    for data in versions:
        library.add(own, rich, "plan.md", data)
    library.add(own, rich, "other.md", b"Oolong")
    team = Space.objects.create(kind="team", name="Team Tea", owner=rich)
    library.add(team, rich, "secret.md", b"Of the team")
    data = exported(rich)
    names = [name for name in zipfile.ZipFile(io.BytesIO(data)).namelist() if name.startswith("library")]
    assert names == ["library/other.md", "library/plan.md", *(f"library-versions/{n}/plan.md" for n in (1, 2, 3))]

    def held() -> list[bytes | None]:
        rows = FileVersion.objects.filter(file__space__owner=stranger, file__name="plan.md").order_by("number")
        return [library.content_of(version) for version in rows]

    # An import that ended in the middle is begun again.
    theirs = Space.objects.own_of(stranger)
    library.add(theirs, stranger, "plan.md", versions[0])
    counts = archive.read(stranger, io.BytesIO(data))
    assert (counts["library_files"], held()) == (2, versions)
    assert archive.read(stranger, io.BytesIO(data))["library_files_known"] == 2
    library.add(theirs, stranger, "plan.md", b"Newer")
    archive.read(stranger, io.BytesIO(data))
    assert held() == [*versions, b"Newer"]


def test_the_history_is_there_to_read(rich):
    history = zipfile.ZipFile(io.BytesIO(exported(rich))).read("history/MEMORY.md.md").decode()
    assert "## 1. " in history
    assert "+- Ada likes tea." in history
    assert "## 2. " in history


def test_it_has_nothing_of_others(rich, stranger):
    said(stranger, "Secret of somebody else")
    write.apply(Space.objects.own_of(stranger), "MEMORY.md", Append("- Secret.\n"), Author(Source.PAGE, stranger))
    found = zipfile.ZipFile(io.BytesIO(exported(rich)))
    assert not any(b"Secret" in found.read(name) for name in found.namelist())


def test_the_pages_send_it_and_take_it_in(rich, stranger):
    sent = signed_in(rich).get("/settings/archive.zip")
    data = async_to_sync(whole)(sent.streaming_content)
    client = signed_in(stranger)
    assert client.post("/settings/import/").status_code == 422
    upload = SimpleUploadedFile("account.zip", data, "application/zip")
    assert client.post("/settings/import/", {"file": upload}).status_code == 302
    upload.seek(0)
    # One at a time.
    assert client.post("/settings/import/", {"file": upload}).status_code == 422
    job = AccountImport.objects.get()
    assert imports.path_of(job.pk).exists()
    imports.run(job.pk)
    # In the language that the archive has brought.
    assert re.search("2 (Gespräche|Unterhaltungen)", client.get("/settings/import/").content.decode())
    assert not imports.path_of(job.pk).exists()
    assert "2 conversations" not in signed_in(rich).get("/settings/import/").content.decode()


@pytest.mark.parametrize(
    "data",
    [b"", b"no zip", pytest.param("other", id="another zip"), pytest.param("newer", id="of a newer release")],
)
def test_what_is_no_archive_is_refused(stranger, data):
    if isinstance(data, str):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as made:
            about = {"format": archive.FORMAT, "version": 2} if data == "newer" else {}
            made.writestr("account.json", json.dumps(about))
        data = buffer.getvalue()
    with pytest.raises(BadArchiveError):
        archive.read(stranger, io.BytesIO(data))


def test_a_bomb_is_refused(stranger, settings):
    settings.IMPORT_UNPACKED_MEGABYTES = 1
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("account.json", json.dumps({"format": archive.FORMAT, "version": 1}))
        made.writestr(f"conversations/0001 {uuid.uuid4()}.json", b" " * 2_000_000)
    with pytest.raises(BadArchiveError):
        archive.read(stranger, io.BytesIO(buffer.getvalue()))


def test_the_command_writes_and_imports_it(rich, stranger, tmp_path, capsys):
    file = tmp_path / "ada.zip"
    call_command("account", "export", rich.email, str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(CommandError, match="File exists"):
        call_command("account", "export", rich.email, str(file))
    capsys.readouterr()
    call_command("account", "import", stranger.email, str(file), "--json")
    assert json.loads(capsys.readouterr().out)["conversations"] == 2
