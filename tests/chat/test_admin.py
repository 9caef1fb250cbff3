"""Admins see that conversations exist, and nothing that was said in them."""

import re
import uuid

import pytest

from chat.conversations import transcript
from chat.models import ContextRound, ImportJob

LIST = "/admin/chat/chatsession/"


@pytest.fixture
def session(ada):
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "My secret colour is purple")
    return accepted.message.session


def test_no_page_shows_the_first_words_as_a_title(client, admin_person, session):
    client.force_login(admin_person)
    for path in (LIST, f"{LIST}{session.pk}/change/", f"{LIST}{session.pk}/history/", "/admin/chat/turn/"):
        response = client.get(path)
        assert response.status_code == 200
        assert "secret" not in response.content.decode()


def test_no_page_leads_to_the_conversation_which_an_admin_cannot_open(client, admin_person, session):
    client.force_login(admin_person)
    page = client.get(f"{LIST}{session.pk}/change/").content.decode()
    links = set(re.findall(r'href="(/admin/[^"?]*)', page))
    assert links
    assert {link for link in links if client.get(link, follow=True).status_code != 200} == set()


@pytest.mark.parametrize("column", ["title__startswith", "head__system__contains"])
def test_no_column_can_be_guessed_by_the_address(client, admin_person, session, column):
    client.force_login(admin_person)
    assert client.get(LIST, {column: "My"}).status_code == 400
    assert client.get(LIST, {"mode__exact": "agent"}).status_code == 200
    assert client.get(LIST, {"agent__id__exact": session.agent_id}).status_code == 200


def test_an_import_is_shown_without_its_file(client, admin_person, ada):
    problems = [{"number": 1, "title": "My secret", "why": "broken"}]
    job = ImportJob.objects.create(owner=ada, name="secret.json", problems=problems, error="cut")
    client.force_login(admin_person)
    path = "/admin/chat/importjob/"
    for page in (path, f"{path}{job.pk}/change/"):
        html = client.get(page).content.decode()
        assert "ada@example.org" in html
        assert "cut" in html
        assert "secret" not in html
    assert client.get(path, {"status__exact": "queued"}).status_code == 200
    assert client.get(path, {"name__startswith": "s"}).status_code == 400
    assert client.post(f"{path}{job.pk}/change/", {}).status_code == 403


def test_a_summary_is_shown_without_its_text(client, admin_person, session):
    through = session.messages.get(seq=1)
    made = ContextRound.objects.create(
        owner=session.owner,
        session=session,
        number=1,
        kind="compact",
        reason="command",
        through=through,
        status="done",
        summary="My secret",
        text="My secret",
        focus="secret",
        supplement={"wishes": ["secret"]},
    )
    client.force_login(admin_person)
    path = "/admin/chat/contextround/"
    for page in (path, f"{path}{made.pk}/change/"):
        response = client.get(page)
        assert response.status_code == 200
        assert "secret" not in response.content.decode()
    assert client.get(path, {"summary__startswith": "My"}).status_code == 400
