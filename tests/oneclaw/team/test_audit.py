"""The page of the audit log: sentences under the days on which it happened, and the details that they lack."""

import datetime as dt
from html import unescape

import pytest
from django.utils import timezone

from oneclaw.audit.record import record
from oneclaw.audit.sentences import ABOUT_ANOTHER, SENTENCES, sentence_of
from oneclaw.models import AuditEvent, AuditKind, Budget, User

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return " ".join(unescape(response.content.decode()).split())


def test_every_kind_has_a_sentence_and_one_of_a_newer_release_its_label(ada):
    assert not [kind for kind in AuditKind.values if kind not in SENTENCES and kind not in ABOUT_ANOTHER]
    for kind in AuditKind.values:
        for whom in ("", "Bob"):
            said = sentence_of(AuditEvent(kind=kind, details={"role": "owner"}), "Ada", whom)
            assert "%(" not in said
            assert said.endswith(".")
    assert sentence_of(AuditEvent(kind="moon.landed"), "Ada", "") == "Ada: moon.landed"


def test_the_page_tells_what_happened_under_its_day(client, admin_person, ada):
    client.force_login(admin_person)
    ada.first_name = "Ada"
    ada.save()
    User.objects.filter(pk=admin_person.pk).update(first_name="Rita", timezone="Pacific/Auckland")
    record(AuditKind.RIGHTS_CHANGED, actor=admin_person, person=ada, before="", role="auditor")
    budget = Budget(period="month", max_cost=20)
    record(AuditKind.SETTING_CHANGED, actor=admin_person, **budget.details)
    record(AuditKind.SIGN_IN_FAILED)
    record(AuditKind.EXPORTED, of="backup", command="backup")
    page = text_of(client.get("/team/audit/"))
    for said in (
        "Rita changed the role of Ada to Auditor.",
        "Rita set a budget: Month, 20.00 US dollars.",
        "A sign-in failed.",
        "The server exported data.",
        "command: backup, of: backup",
    ):
        assert said in page, said
    # Nothing of what is empty, nor what the sentence has.
    for name in ("group:", "tokens:", "dollars:", "role: auditor", "before:"):
        assert name not in page, name
    today = timezone.localdate(timezone=dt.timezone(dt.timedelta(hours=13)))
    assert f"{today.day} {today:%B} {today.year}" in page


def test_a_person_who_has_left_is_named_by_their_number(client, admin_person, ada):
    client.force_login(admin_person)
    record(AuditKind.PERSON_DISABLED, actor=admin_person, person=ada)
    number = ada.pk
    ada.delete()
    assert f"disabled the account of person {number}, removed." in text_of(client.get("/team/audit/"))
