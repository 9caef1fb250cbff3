"""Nobody guesses in Django's admin what its pages do not show: by a filter, a search or a column, as any role."""

import re
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.db import models
from django.test import Client, RequestFactory

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.models import MemoryRevision
from oneclaw.models import AuditEvent, AuditKind, Space, User
from oneclaw.reasons import Reason

# Lookups that compare a part of a value; no filter of the admin uses one.
GUESSES = ("__regex", "__startswith", "__contains", "__gt", "")
ROLES = (User.Role.OWNER, User.Role.CURATOR, User.Role.AUDITOR, User.Role.PEOPLE)
SECRET = re.compile(r"password|(^|_)token$|hash|secret|sealed|credential|session_key|private_key")
# All that any search of the admin compares: addresses and names, numbers, paths, and errors of jobs.
SEARCHED = re.compile(r"(^|__)(email|first_name|name|path|id|ending|error)$")


def of_role(role: str) -> tuple[User, Client]:
    person = User.objects.create_user(f"{role}@example.org", "correct horse battery")
    person.role = role
    person.is_staff = role in (User.Role.OWNER, User.Role.CURATOR, User.Role.AUDITOR)
    person.is_superuser = role == User.Role.OWNER
    person.save()
    client = Client()
    client.force_login(person)
    return person, client


def columns() -> Iterator[tuple[type[models.Model], str]]:
    """Yield each column of each model of the admin, and each that a relation of it leads to."""
    for model in admin.site._registry:
        for field in model._meta.concrete_fields:
            yield model, field.name
            if field.is_relation and field.related_model is not None:
                yield from ((model, f"{field.name}__{far.name}") for far in field.related_model._meta.concrete_fields)


@pytest.mark.parametrize("role", ROLES)
def test_no_query_string_filters_by_what_the_list_does_not_declare(db, role):
    person, client = of_role(role)
    wrong, asked = [], set()
    for model, column in columns():
        page = admin.site._registry[model]
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        request = RequestFactory().get(address)
        request.user = person
        declared = page.declared_lookups(request)
        for suffix in GUESSES:
            # A filter of the list shows its choices, so that only they are compared.
            if f"{column}{suffix}" not in declared and page.lookup_allowed(f"{column}{suffix}", "1", request):
                wrong.append(f"{address}?{column}{suffix}")
        if model not in asked and "__" not in column:
            asked.add(model)
            answer = client.get(address, {f"{column}__regex": "^1"})
            # The list of ratings is a page of its own that reads no filter; the others refuse.
            if answer.status_code not in (400, 403, 302) and not answer.templates[0].name.endswith("ratings.html"):
                wrong.append(f"{address}?{column}__regex: {answer.status_code}")
    assert not wrong, wrong


def test_the_declared_filters_of_the_lists_work(ada, client, admin_person):
    client.force_login(admin_person)
    for address in (
        "memory/memorydocument/?kind=curated&state=behind&space__kind__exact=own&updated_at__gte=2026-01-01+00%3A00%3A00%2B00%3A00",
        f"memory/memorydocument/?space__id__exact={Space.objects.own_of(ada).pk}",
        "memory/memorydocument/?updated_at__year=2026&updated_at__month=11",
        "memory/memoryrevision/?source__exact=page&created_at__lt=2030-01-01+00%3A00%3A00%2B00%3A00",
        "oneclaw/user/?is_active__exact=1&q=ada",
        "memory/flush/?status__exact=done",
        "memory/review/?answered_at__isempty=1",
    ):
        assert client.get(f"/admin/{address}").status_code == 200, address


def test_no_page_of_the_admin_has_a_password_a_token_or_a_secret(db):
    person, _ = of_role(User.Role.OWNER)
    request = RequestFactory().get("/admin/")
    request.user = person
    for model, page in admin.site._registry.items():
        if not page.has_view_permission(request):
            continue
        shown = {str(each) for each in page.get_list_display(request)} | set(page.get_search_fields(request))
        for row in (None, model()):
            fieldsets = page.get_fieldsets(request, row)
            shown |= {str(name) for _, options in fieldsets for name in options["fields"]}
        shown |= {each[0] if isinstance(each, tuple) else str(each) for each in page.get_list_filter(request)}
        for inline in page.inlines:
            shown |= set(inline.fields or [field.name for field in inline.model._meta.fields])
        assert not {name for name in shown if SECRET.search(name)}, model


def test_no_search_of_the_admin_compares_what_people_wrote(db):
    request = RequestFactory().get("/admin/")
    request.user, _ = of_role(User.Role.OWNER)
    for model, page in admin.site._registry.items():
        searched = set(page.get_search_fields(request))
        assert not {name for name in searched if not SEARCHED.search(name)}, model


def test_the_list_of_changes_has_no_title_and_no_words_of_a_conversation(ada, settings):
    settings.CURATION = "recorded"
    own = Space.objects.own_of(ada)
    for code in ("change.notes", "change.summary"):
        author = Author(Source.FLUSH, None, reason=Reason(code, {"title": "zqtitle of a talk"}))
        write.apply(own, "memory/2026-11-20.md", Append(f"- {code}"), author)
    _, client = of_role(User.Role.CURATOR)
    page = client.get("/admin/memory/memoryrevision/").content.decode()
    assert "Notes of “…”" in page
    assert "Summary of “…”" in page
    assert "zqtitle" not in page
    assert not AuditEvent.objects.filter(kind=AuditKind.MEMORY_LOOKED_AT).exists()
    row = MemoryRevision.objects.first()
    opened = client.get(f"/admin/memory/memoryrevision/{row.pk}/change/").content.decode()
    assert "zqtitle" in opened
    assert AuditEvent.objects.filter(kind=AuditKind.MEMORY_LOOKED_AT).count() == 1


@pytest.mark.parametrize("role", [User.Role.OWNER, User.Role.CURATOR])
def test_while_curation_is_closed_lists_count_paths_and_spaces_and_name_none(ada, settings, role):
    settings.CURATION = "closed"
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="zqspace")
    space.members.create(user=ada, role="owner")
    for where in (space, Space.objects.own_of(ada)):
        write.apply(where, "zqpath/notes.md", Append("- zqline"), Author(Source.PAGE, ada))
    person, client = of_role(role)
    for model in ("memorydocument", "memoryrevision"):
        page = client.get(f"/admin/memory/{model}/").content.decode()
        assert [word for word in ("zqpath", "zqspace") if word in page] == []
        assert "2 more are closed to you." in page
    # What is the admin's own stays in the list.
    write.apply(Space.objects.own_of(person), "zqmine.md", Append("- mine"), Author(Source.PAGE, person))
    assert "zqmine" in client.get("/admin/memory/memorydocument/").content.decode()


def test_while_curation_is_closed_who_keeps_people_is_shown_numbers_of_spaces(ada, settings):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="zqspace")
    space.members.create(user=ada, role="owner")
    _, client = of_role(User.Role.PEOPLE)
    settings.CURATION = "closed"
    for page in ("/team/retention/", f"/team/people/{ada.pk}/offboard"):
        closed = client.get(page).content.decode()
        assert "zqspace" not in closed, page
    assert f"Space {space.pk}" in client.get("/team/retention/").content.decode()
    settings.CURATION = "recorded"
    assert "zqspace" in client.get("/team/retention/").content.decode()
