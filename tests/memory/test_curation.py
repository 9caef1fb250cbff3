"""What an admin sees of the memory of others, and that its owner knows (ONECLAW_CURATION)."""

import pytest
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import AuditEvent, AuditKind, Space

CHANGE = "admin:memory_memorydocument_change"

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(ada):
    space = Space.objects.own_of(ada)
    return write.apply(space, "MEMORY.md", Append("- Ada likes tea."), Author(Source.PAGE, ada)).document


@pytest.fixture
def by_admin(client, admin_person):
    client.force_login(admin_person)
    return client


def looks() -> list[str]:
    return list(AuditEvent.objects.filter(kind__startswith="memory.").order_by("pk").values_list("kind", flat=True))


def test_a_look_and_a_change_are_recorded_and_its_owner_sees_them(by_admin, document, ada, admin_person, client):
    assert "Ada likes tea" in by_admin.get(reverse(CHANGE, args=[document.pk])).content.decode()
    by_admin.post(reverse(CHANGE, args=[document.pk]), {"content": "- Ada likes coffee.", "base_version": 1})

    assert looks() == [AuditKind.MEMORY_LOOKED_AT, AuditKind.MEMORY_CURATED]
    client.force_login(ada)
    assert reverse("memory_looks") in client.get(reverse("memory")).content.decode()
    page = client.get(reverse("memory_looks")).content.decode()
    assert page.count(f"<strong>{admin_person}</strong>") == 2
    assert reverse("memory_version", args=[document.pk, 2]) in page


def test_a_version_in_the_admin_is_a_look_as_well(by_admin, document):
    revision = document.revisions.get()
    by_admin.get(reverse("admin:memory_memoryrevision_change", args=[revision.pk]))

    assert looks() == [AuditKind.MEMORY_LOOKED_AT]


def test_ones_own_memory_is_opened_without_a_record(by_admin, admin_person):
    space = Space.objects.own_of(admin_person)
    own = write.apply(space, "MEMORY.md", Append("- Tea."), Author(Source.PAGE, admin_person)).document
    by_admin.get(reverse(CHANGE, args=[own.pk]))

    assert looks() == []


def test_with_reason_it_opens_for_an_hour_after_one_was_given(by_admin, document, ada, settings, client):
    settings.CURATION = "reason"
    url = reverse(CHANGE, args=[document.pk])
    asked = by_admin.get(url).content.decode()
    assert "Ada likes tea" not in asked
    by_admin.post(url, {"content": "- Overwritten.", "base_version": 1})
    document.refresh_from_db()
    assert document.content == "- Ada likes tea.\n"

    by_admin.post(url, {"reason_to_look": "Ada asked me to"})
    assert "Ada likes tea" in by_admin.get(url).content.decode()
    client.force_login(ada)
    assert "Ada asked me to" in client.get(reverse("memory_looks")).content.decode()


def test_closed_it_opens_for_nobody_else(by_admin, document, settings):
    settings.CURATION = "closed"

    assert by_admin.get(reverse(CHANGE, args=[document.pk])).status_code == 404
    assert (
        by_admin.get(reverse("admin:memory_memoryrevision_change", args=[document.revisions.get().pk])).status_code
        == 404
    )
    assert looks() == []


def test_the_list_of_documents_cannot_be_searched_by_what_they_say(by_admin, document):
    page = by_admin.get(reverse("admin:memory_memorydocument_changelist"), {"q": "likes"}).content.decode()

    assert "0 memory documents" in page


def deleted(client, document, way):
    """Delete the document on its page or as one that is selected in the list; return the answer and whether it went."""
    if way == "page":
        answer = client.post(reverse("admin:memory_memorydocument_delete", args=[document.pk]), {"post": "yes"})
    else:
        form = {"action": "delete_selected", "_selected_action": [document.pk], "post": "yes"}
        answer = client.post(reverse("admin:memory_memorydocument_changelist"), form)
    document.refresh_from_db()
    return answer, document.is_deleted


@pytest.mark.parametrize("way", ["page", "list"])
def test_a_deletion_is_recorded_and_only_what_opens_is_deleted(by_admin, document, settings, way):
    settings.CURATION = "closed"
    answer, is_gone = deleted(by_admin, document, way)
    assert (answer.status_code, is_gone, looks()) == ({"page": 404, "list": 403}[way], False, [])

    settings.CURATION = "reason"
    answer, is_gone = deleted(by_admin, document, way)
    assert (is_gone, looks()) == (False, [])
    if way == "page":
        assert "Why do you open this memory?" in answer.content.decode()
        url = reverse("admin:memory_memorydocument_delete", args=[document.pk])
        assert by_admin.post(url, {"reason_to_look": "Ada asked me to"}).url == url
    else:
        by_admin.post(reverse(CHANGE, args=[document.pk]), {"reason_to_look": "Ada asked me to"})
    _, is_gone = deleted(by_admin, document, way)
    assert (is_gone, looks()) == (True, [AuditKind.MEMORY_LOOKED_AT, AuditKind.MEMORY_CURATED])


def test_the_list_says_before_the_yes_what_may_not_be_deleted(by_admin, document, settings):
    settings.CURATION = "closed"
    form = {"action": "delete_selected", "_selected_action": [document.pk]}
    page = by_admin.post(reverse("admin:memory_memorydocument_changelist"), form).content.decode()

    assert "your account doesn" in page
    assert "MEMORY.md of" in page
