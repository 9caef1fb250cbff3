"""Admins find and correct documents, through the one write path."""

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.models import Flush, MemoryDocument, MemoryRevision
from oneclaw.models import User

LIST = "admin:memory_memorydocument_changelist"
CHANGE = "admin:memory_memorydocument_change"
DELETE = "admin:memory_memorydocument_delete"


@pytest.fixture
def document(space, append):
    return append(space, "- Ada likes tea.").document


@pytest.fixture
def by_admin(client, admin_person):
    client.force_login(admin_person)
    return client


@pytest.fixture
def staff(client):
    """staff(*codenames): a client of a staff person with these permissions."""

    def staff(*codenames):
        person = User.objects.create_user("staff@example.org", "x", is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(person)
        return client

    return staff


def edit(client, document, content, base_version=1):
    return client.post(reverse(CHANGE, args=[document.pk]), {"content": content, "base_version": base_version})


def test_documents_are_listed_by_space_with_search_and_filters(by_admin, space, strangers_space, append):
    append(space, "about tea")
    append(strangers_space, "about coffee", path="memory/2026-11-21.md")
    append(strangers_space, "draft", path="notes.md")

    def paths(**query):
        page = by_admin.get(reverse(LIST), query)
        assert page.status_code == 200
        return sorted(document.path for document in page.context["cl"].result_list)

    assert paths() == ["MEMORY.md", "memory/2026-11-21.md", "notes.md"]
    assert paths(q="notes") == ["notes.md"]
    assert paths(q="stranger@example.org") == ["memory/2026-11-21.md", "notes.md"]
    assert paths(kind="curated") == ["MEMORY.md"]
    assert paths(kind="log") == ["memory/2026-11-21.md"]
    assert paths(kind="other") == ["notes.md"]
    assert paths(space__id__exact=space.pk) == ["MEMORY.md"]
    assert paths(state="deleted") == []
    assert len(paths(state="behind")) == 3


def test_an_edit_is_a_revision_with_the_admin_as_author(by_admin, admin_person, document):
    assert edit(by_admin, document, "- Ada likes coffee.\r\n").status_code == 302
    document.refresh_from_db()
    assert (document.content, document.version) == ("- Ada likes coffee.\n", 2)
    revision = MemoryRevision.objects.get(number=2)
    assert (revision.source, revision.author, revision.kind) == ("admin", admin_person, "replace")
    assert str(revision.reason) == "Edited in the admin"


@pytest.mark.django_db(transaction=True)
def test_an_edit_rewrites_file_and_index(by_admin, document):
    edit(by_admin, document, "- Ada likes coffee.\n")
    file = settings.WORKSPACES / str(document.space_id) / "MEMORY.md"
    assert file.read_text() == "- Ada likes coffee.\n"
    document.refresh_from_db()
    assert (document.mirrored_version, document.indexed_version) == (2, 2)


def test_saving_without_a_change_makes_no_revision(by_admin, space):
    content = "one\r\ntwo\n\n  three \rfour"
    document = write.apply(space, "a.md", Replace(content, 0), Author(Source.IMPORT)).document
    assert edit(by_admin, document, content.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n"))
    document.refresh_from_db()
    assert (document.content, document.version) == (content, 1)


def test_an_edit_keeps_the_line_ends_of_the_document(by_admin, space):
    document = write.apply(space, "a.md", Replace("one\r\ntwo\r\n", 0), Author(Source.IMPORT)).document
    edit(by_admin, document, "one\r\nthree\r\n")
    document.refresh_from_db()
    assert document.content == "one\r\nthree\r\n"


def test_a_change_by_somebody_else_meanwhile_is_told_and_nothing_is_lost(by_admin, document, space, append):
    append(space, "- and cake")
    page = edit(by_admin, document, "- Ada likes my version.\n", base_version=1)
    assert page.status_code == 200
    text = page.content.decode()
    assert "Somebody else has changed this document since you opened it (you saw version 1, it has version 2)" in text
    assert "- Ada likes my version." in text
    document.refresh_from_db()
    assert (document.content, document.version) == ("- Ada likes tea.\n- and cake\n", 2)


@pytest.mark.parametrize(
    ("content", "why"),
    [("x" * 1024 * 1024 + "x", "MEMORY.md would have 1,048,577 bytes"), ("a\x00b", "Null characters are not allowed")],
)
def test_what_cannot_be_stored_is_told_and_stays_in_the_field(by_admin, document, content, why):
    page = edit(by_admin, document, content)
    assert page.status_code == 200
    text = page.content.decode()
    assert why in text
    assert content in text


def test_the_history_says_who_how_why_and_what(by_admin, document, admin_person):
    edit(by_admin, document, "<script>alert(1)</script>\n")
    text = by_admin.get(reverse(CHANGE, args=[document.pk])).content.decode()
    assert "<del>- - Ada likes tea.</del>" in text
    assert "<ins>+ &lt;script&gt;alert(1)&lt;/script&gt;</ins>" in text
    assert "admin · root@example.org · Edited in the admin" in text
    assert "<script>alert(1)" not in text


def test_deleting_is_a_revision_too(by_admin, document, admin_person):
    assert by_admin.get(reverse(DELETE, args=[document.pk])).status_code == 200
    assert by_admin.post(reverse(DELETE, args=[document.pk]), {"post": "yes"}).status_code == 302
    document.refresh_from_db()
    assert document.is_deleted
    revision = MemoryRevision.objects.get(number=2)
    assert (revision.kind, revision.source, revision.author) == ("delete", "admin", admin_person)


def test_several_documents_can_be_deleted_at_once(by_admin, space, append):
    ids = [append(space, "x", path=path).document_id for path in ("a.md", "b.md")]
    form = {"action": "delete_selected", "_selected_action": ids, "post": "yes"}
    assert by_admin.post(reverse(LIST), form).status_code == 302
    assert not MemoryDocument.objects.present().exists()
    assert MemoryRevision.objects.filter(kind="delete").count() == 2


def test_nothing_can_be_added_or_changed_elsewhere(by_admin, document, session):
    assert by_admin.get(reverse("admin:memory_memorydocument_add")).status_code == 403
    revision = MemoryRevision.objects.get()
    flush = Flush.objects.create(owner=session.owner, session=session, space=document.space, reason="switched")
    for row, name in ((revision, "memoryrevision"), (flush, "flush")):
        assert by_admin.get(reverse(f"admin:memory_{name}_changelist")).status_code == 200
        assert by_admin.get(reverse(f"admin:memory_{name}_change", args=[row.pk])).status_code == 200
        assert by_admin.post(reverse(f"admin:memory_{name}_change", args=[row.pk]), {}).status_code == 403
        assert by_admin.post(reverse(f"admin:memory_{name}_delete", args=[row.pk])).status_code == 403


def test_staff_without_the_permission_see_nothing(staff, document):
    client = staff()
    for name, arguments in ((LIST, []), (CHANGE, [document.pk]), (DELETE, [document.pk])):
        assert client.get(reverse(name, args=arguments)).status_code == 403
    assert edit(client, document, "x").status_code == 403
    assert "memory" not in client.get(reverse("admin:index")).content.decode().lower().replace("in-memory", "")


def test_staff_who_may_only_look_cannot_change(staff, document):
    client = staff("view_memorydocument")
    page = client.get(reverse(CHANGE, args=[document.pk]))
    assert page.status_code == 200
    assert "- Ada likes tea." in page.content.decode()
    assert "<textarea" not in page.content.decode()
    assert edit(client, document, "x").status_code == 403
    assert client.post(reverse(DELETE, args=[document.pk]), {"post": "yes"}).status_code == 403


def test_who_is_no_staff_is_sent_away(client, ada, document):
    client.force_login(ada)
    assert client.get(reverse(LIST)).status_code == 302
    assert edit(client, document, "x").status_code == 302
    document.refresh_from_db()
    assert document.version == 1
