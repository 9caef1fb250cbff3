"""What members do with a conversation that another person began is recorded as theirs."""

import pytest
from django.test import Client as Browser

from oneclaw.models import AuditEvent
from tests.chat.shared.cast import shared_conversation
from tests.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)


def signed_in(user):
    browser = Browser()
    browser.force_login(user)
    return browser


def test_exports_and_the_deletion_name_who_acts_and_whose_it_was(ada):
    cast = shared_conversation(ada)
    address = f"/c/{cast.session.pk}"
    assert signed_in(cast.rita).get(f"{address}/export.md").status_code == 200
    assert Program(cast.ed).get(f"/sessions/{cast.session.pk}/export").status_code == 200
    # What is refused is not recorded.
    assert signed_in(cast.fay).get(f"{address}/export.json").status_code == 404
    assert Program(cast.fay).get(f"/sessions/{cast.session.pk}/export").status_code == 404
    organised = {"do": "delete", "id": str(cast.session.pk)}
    assert signed_in(cast.olga).post("/conversations/organise", organised).status_code < 400
    found = AuditEvent.objects.filter(details__session=str(cast.session.pk)).exclude(kind="share.made").order_by("pk")
    assert list(found.values_list("kind", "actor", "person")) == [
        ("export", cast.rita.pk, ada.pk),
        ("export", cast.ed.pk, ada.pk),
        ("deleted", cast.olga.pk, ada.pk),
    ]
