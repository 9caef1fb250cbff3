"""What an admin sees of the memory of others, and that its owner knows (ONECLAW_CURATION)."""

import re

import pytest
from django.urls import reverse

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.models import Forgetting
from oneclaw.models import AuditEvent, AuditKind, Space, User
from oneclaw.people import roles
from oneclaw.spaces.viewers import viewers

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


def test_no_link_of_what_was_opened_leads_to_nothing(by_admin, document):
    revision = document.revisions.get()
    for page in (
        reverse(CHANGE, args=[document.pk]),
        reverse("admin:memory_memoryrevision_change", args=[revision.pk]),
    ):
        links = set(re.findall(r'href="(/admin/[^"?]*)', by_admin.get(page).content.decode()))
        assert links
        assert {link for link in links if by_admin.get(link).status_code != 200} == set()


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


@pytest.fixture
def of_team(ada):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Labs")
    space.members.create(user=ada, role="owner")
    return write.apply(space, "MEMORY.md", Append("- The lab has tea."), Author(Source.PAGE, ada)).document


def test_who_forgets_in_the_space_of_others_is_recorded_and_its_owner_sees_it(by_admin, of_team, ada, client):
    space = of_team.space_id
    for asked in ({}, {"document": of_team.pk}, {"space": space, "q": "tea"}):
        page = by_admin.get("/memory/forget", {"space": space, **asked})
        assert ("The lab has tea" in page.content.decode()) == bool(asked)
    form = {"space": space, "line": ["- The lab has tea."]}
    plan = by_admin.post("/memory/forget", form)
    by_admin.post("/memory/forget", form | {"digest": plan.context["plan"].digest})

    assert looks() == [AuditKind.MEMORY_LOOKED_AT] * 3 + [AuditKind.MEMORY_CURATED]
    client.force_login(ada)
    page = client.get(reverse("memory_looks")).content.decode()
    for words in ("opened MEMORY.md (Labs)", "looked for lines to forget (Labs)", "removed lines for good (Labs)"):
        assert words in page.replace("</strong>", "")
    receipt = reverse("memory_forgotten", args=[Forgetting.objects.get().pk])
    assert receipt in page
    assert client.get(receipt).status_code == 200
    # Owners have looked at nothing but their own.
    client.get("/memory/forget", {"document": of_team.pk})
    assert len(looks()) == 4


def test_nobody_forgets_in_the_space_of_others_while_it_is_closed_or_without_a_reason(by_admin, of_team, settings):
    def statuses():
        asked = [{"document": of_team.pk}, {"space": of_team.space_id, "q": "tea"}]
        return [by_admin.get("/memory/forget", each).status_code for each in asked]

    settings.CURATION = "reason"
    assert statuses() == [404, 404]
    by_admin.post(reverse(CHANGE, args=[of_team.pk]), {"reason_to_look": "Ada asked me to"})
    assert statuses() == [200, 200]
    settings.CURATION = "closed"
    assert statuses() == [404, 404]
    assert by_admin.post("/memory/forget", {"space": of_team.space_id, "line": ["- Tea."]}).status_code == 404
    assert looks() == [AuditKind.MEMORY_LOOKED_AT] * 3


def test_who_can_see_a_document_names_curators_and_when_it_is_closed_no_administrator(
    ada, document, admin_person, stranger, settings
):
    roles.set_role(stranger, User.Role.CURATOR)
    stranger.save()

    assert {viewer.person for viewer in viewers(document)} == {ada, admin_person, stranger}
    settings.CURATION = "closed"
    assert {viewer.person for viewer in viewers(document)} == {ada}


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
    # The list has no rows of others while they are closed: what is selected there selects nothing.
    assert (answer.status_code, is_gone, looks()) == ({"page": 404, "list": 302}[way], False, [])

    settings.CURATION = "reason"
    answer, is_gone = deleted(by_admin, document, way)
    assert (answer.status_code, is_gone, looks()) == ({"page": 200, "list": 403}[way], False, [])
    if way == "page":
        assert "Why do you open this memory?" in answer.content.decode()
        url = reverse("admin:memory_memorydocument_delete", args=[document.pk])
        assert by_admin.post(url, {"reason_to_look": "Ada asked me to"}).url == url
    else:
        by_admin.post(reverse(CHANGE, args=[document.pk]), {"reason_to_look": "Ada asked me to"})
    _, is_gone = deleted(by_admin, document, way)
    assert (is_gone, looks()) == (True, [AuditKind.MEMORY_LOOKED_AT, AuditKind.MEMORY_CURATED])


def test_the_list_says_before_the_yes_what_may_not_be_deleted(by_admin, document, ada, settings):
    form = {"action": "delete_selected", "_selected_action": [document.pk]}

    def asked():
        return by_admin.post(reverse("admin:memory_memorydocument_changelist"), form).content.decode()

    settings.CURATION = "reason"
    page = asked()
    assert "your account doesn" in page
    assert "MEMORY.md of" in page
    # Closed, it is not even named.
    settings.CURATION = "closed"
    page = asked()
    assert "Delete multiple objects" in page
    assert [words for words in ("MEMORY.md", ada.email) if words in page] == []
