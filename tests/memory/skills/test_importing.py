"""Skills are imported from a zip file or a folder: all is checked before anything is written, and waits for a yes."""

import stat
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.models import MemoryDocument
from memory.skills import importing
from memory.skills.catalogue import find_skill, source_in
from memory.skills.importing import SkillImportError, import_folder, import_uploaded, import_zip
from oneclaw.models import Space, SpaceMember
from tests.skills import FILES, own_skill, packed, skill_text, state_of

ROLES = ("owner", "editor", "reader")


def link(path):
    entry = zipfile.ZipInfo(path)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def damaged():
    """A zip file in whose middle one byte is wrong."""
    data = bytearray(packed(FILES))
    data[80] ^= 0xFF
    return bytes(data)


def paths():
    return sorted(MemoryDocument.objects.present().values_list("path", flat=True))


def test_a_skill_of_a_zip_file_is_written_and_waits(ada):
    done = import_zip(ada, "skills.zip", packed(FILES | {"release-notes/logo.png": b"\x89PNG", "README": "x"}))
    assert done.names == ["release-notes"]
    assert done.skipped == ["README", "release-notes/logo.png"]
    assert paths() == ["skills/release-notes/SKILL.md", "skills/release-notes/scripts/run.py"]
    assert state_of(ada, find_skill(ada, "own", "release-notes")) == "waiting"


def test_a_skill_without_a_folder_has_that_of_its_name(ada):
    assert import_zip(ada, "x.zip", packed({"SKILL.md": skill_text(), "a/b.md": "x"})).names == ["release-notes"]
    assert paths() == ["skills/release-notes/SKILL.md", "skills/release-notes/a/b.md"]


def test_several_skills_are_found_in_any_folder_and_hidden_files_left_alone(ada):
    files = {f"repo/skills/{name}/SKILL.md": skill_text(name) for name in ("one", "two")}
    files |= {"repo/.git/config": "x", "__MACOSX/repo/._x": "x", "repo/skills/one/.env": "x"}
    assert import_zip(ada, "x.zip", packed(files)).names == ["one", "two"]
    assert paths() == ["skills/one/SKILL.md", "skills/two/SKILL.md"]


def test_a_byte_order_mark_and_windows_line_ends_are_taken(ada):
    import_zip(ada, "x.zip", packed({"SKILL.md": b"\xef\xbb\xbf" + skill_text().replace("\n", "\r\n").encode()}))
    assert find_skill(ada, "own", "release-notes").faults == ()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "There is no SKILL.md"),
        ({"a/README.md": "x"}, "There is no SKILL.md"),
        (FILES | {"../evil.md": "x"}, "outside of the folder"),
        (FILES | {"release-notes/../../evil.md": "x"}, "outside of the folder"),
        (FILES | {"/etc/passwd.md": "x"}, "outside of the folder"),
        (FILES | {"C:/evil.md": "x"}, "outside of the folder"),
        (FILES | {"release-notes\\evil.md": "x"}, "outside of the folder"),
        (FILES | {link("release-notes/link.md"): "/etc/passwd"}, "is a link"),
        (FILES | {"release-notes/bad.md": b"\xff\xfe"}, "is not valid UTF-8"),
        (FILES | {"release-notes/nul.md": "a\0b"}, "cannot hold this text"),
        (FILES | {"release-notes/v1.2/a.md": "x"}, "a folder may not be named like a file"),
        (FILES | {"other/SKILL.md": skill_text("wrong")}, "they must be the same"),
        (FILES | {"bad/SKILL.md": "no"}, "must begin with a line"),
        (FILES | {"b/release-notes/SKILL.md": skill_text()}, "Two skills in it have the name"),
        (FILES | {"release-notes/./scripts/run.py": "x"}, "is in it twice"),
    ],
)
def test_one_bad_file_leaves_nothing_written(ada, files, why):
    with pytest.raises(SkillImportError) as refused:
        import_zip(ada, "x.zip", packed(files))
    assert why in str(refused.value)
    assert paths() == []


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip", packed(FILES)[:-40], damaged()])
def test_a_damaged_file_is_refused(ada, data):
    with pytest.raises(SkillImportError):
        import_zip(ada, "x.zip", data)
    assert paths() == []


def test_a_bomb_is_not_unpacked(ada):
    data = packed(FILES | {f"release-notes/{number}.txt": b"0" * 1_000_000 for number in range(11)})
    assert len(data) < 50_000
    with pytest.raises(SkillImportError, match="unpacks to more than"):
        import_zip(ada, "x.zip", data)


def test_a_size_that_lies_is_not_believed(ada):
    data = packed({"release-notes/SKILL.md": skill_text(), "release-notes/big.txt": b"0" * 2_000_000})
    lying = data.replace((2_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != data
    with pytest.raises(SkillImportError):
        import_zip(ada, "x.zip", lying)
    assert paths() == []


@pytest.mark.parametrize(("count", "is_valid"), [(998, True), (999, True), (1_000, False)])
def test_an_import_has_at_most_1000_files(ada, count, is_valid):
    files = FILES.copy()
    del files["release-notes/scripts/run.py"]
    files |= {f"other/{number}.png": "x" for number in range(count)}
    assert_import(ada, files, is_valid, "more than 1,000 files")


@pytest.mark.parametrize(("count", "is_valid"), [(98, True), (99, True), (100, False)])
def test_a_skill_has_at_most_100_files(ada, count, is_valid):
    files = {"release-notes/SKILL.md": skill_text()}
    files |= {f"release-notes/{number}.txt": "x" for number in range(count)}
    assert_import(ada, files, is_valid, "more than 100 files")


@pytest.mark.parametrize(("count", "is_valid"), [(19, True), (20, True), (21, False)])
def test_an_import_has_at_most_20_skills(ada, count, is_valid):
    files = {f"skill-{number}/SKILL.md": skill_text(f"skill-{number}") for number in range(count)}
    assert_import(ada, files, is_valid, "more than 20 skills")


@pytest.mark.parametrize(("more", "is_valid"), [(-1, True), (0, True), (1, False)])
def test_a_skill_has_at_most_one_mebibyte(ada, more, is_valid):
    text = skill_text()
    files = {"release-notes/SKILL.md": text, "release-notes/a.txt": "x" * (1024 * 1024 - len(text) + more)}
    assert_import(ada, files, is_valid, "more than 1,048,576 bytes")


@pytest.mark.parametrize(("more", "is_valid"), [(0, True), (1, False)])
def test_a_zip_file_has_at_most_five_mebibytes(ada, more, is_valid, monkeypatch):
    data = packed(FILES)
    monkeypatch.setattr(importing, "ARCHIVE_MAX_BYTES", len(data) - more)
    if is_valid:
        import_zip(ada, "x.zip", data)
    else:
        with pytest.raises(SkillImportError, match="larger than"):
            import_zip(ada, "x.zip", data)


def assert_import(user, files, is_valid, why):
    if is_valid:
        import_zip(user, "x.zip", packed(files))
        return
    with pytest.raises(SkillImportError) as refused:
        import_zip(user, "x.zip", packed(files))
    assert why in str(refused.value)
    assert paths() == []


def test_a_skill_that_is_there_is_replaced_only_if_asked(ada):
    own = own_skill(ada)
    new = {"release-notes/SKILL.md": skill_text(body="Other."), "release-notes/new.txt": "x"}
    with pytest.raises(SkillImportError, match="There is already a skill"):
        import_zip(ada, "x.zip", packed(new))
    assert state_of(ada, own) == "used"
    import_zip(ada, "x.zip", packed(new), replaces=True)
    assert state_of(ada, own) == "changed"
    import_zip(ada, "x.zip", packed({"SKILL.md": skill_text()}), replaces=True)
    assert paths() == ["skills/release-notes/SKILL.md"]
    assert state_of(ada, own) == "used"


def test_a_folder_is_imported_without_following_links(ada, tmp_path):
    folder = tmp_path / "release-notes"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text())
    (folder / "scripts/run.sh").write_text("true")
    assert import_folder(ada, tmp_path).names == ["release-notes"]
    assert import_folder(ada, folder, replaces=True).names == ["release-notes"]
    (folder / "link.md").symlink_to("/etc/passwd")
    with pytest.raises(SkillImportError, match="is a link"):
        import_folder(ada, tmp_path, replaces=True)
    with pytest.raises(SkillImportError, match="cannot be read"):
        import_folder(ada, tmp_path / "missing")


def test_a_folder_that_a_browser_sent_is_checked_the_same_way(ada):
    files = [("my/release-notes/SKILL.md", skill_text().encode()), ("my/release-notes/a.png", b"x")]
    assert import_uploaded(ada, "my", files).names == ["release-notes"]
    with pytest.raises(SkillImportError, match="outside of the folder"):
        import_uploaded(ada, "my", [*files, ("../evil.md", b"x")], replaces=True)


def test_skills_are_imported_into_a_space_that_the_person_may_write(ada, stranger, client):
    spaces = {role: Space.objects.create(kind="team", name=f"Team of {role}s", owner=stranger) for role in ROLES}
    for role, space in spaces.items():
        SpaceMember.objects.create(space=space, user=ada, role=role)
    client.force_login(ada)
    form = client.get("/memory/skills/import").content.decode()
    assert [role for role in ROLES if f"Team of {role}s" in form] == ["owner", "editor"]
    for role, status in ("editor", 302), ("reader", 404):
        archive = SimpleUploadedFile("skills.zip", packed(FILES))
        sent = {"archive": archive, "source": source_in(spaces[role])}
        assert client.post("/memory/skills/import", sent).status_code == status
    assert {document.space for document in MemoryDocument.objects.all()} == {spaces["editor"]}
    assert state_of(ada, find_skill(ada, source_in(spaces["editor"]), "release-notes")) == "waiting"
