"""Files of a member in a conversation that another one began, and forks, which are private to who forks it."""

import uuid
from dataclasses import replace
from io import BytesIO

import pytest
from django.test import Client as Browser

from chat.attachments import store
from chat.context.prompt import api_messages
from chat.conversations import forking, transcript
from chat.models import Attachment, ChatSession, Message, Rating
from chat.transfer import account, export
from oneclaw.invariants import check
from tests.chat.shared.cast import shared_conversation, take_role
from tests.conversations import settle

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(ada, scripted):
    cast = shared_conversation(ada)
    file = store.store_file(cast.ed, "plan.txt", b"Meet at noon.")
    settle(transcript.accept(cast.ed, cast.session.pk, uuid.uuid4(), "See the plan", files=[file.pk]), "At noon.")
    cast.file = file
    return cast


def served(user, file):
    browser = Browser()
    browser.force_login(user)
    response = browser.get(f"/files/{file.pk}")
    return response.content if response.status_code == 200 else response.status_code


def test_members_get_the_file_and_the_model_reads_it(cast, stranger):
    assert served(cast.rita, cast.file) == served(cast.ada, cast.file) == b"Meet at noon."
    assert served(stranger, cast.file) == 404
    session = ChatSession.objects.select_related("head").get(pk=cast.session.pk)
    assert "Meet at noon." in str(api_messages(session))
    take_role(cast.space, cast.ed)
    assert served(cast.ed, cast.file) == 404
    assert list(check()) == []


@pytest.mark.django_db(transaction=True)
def test_who_only_reads_attaches_nothing_and_who_writes_does(cast):
    def attached(user):
        browser = Browser()
        browser.force_login(user)
        return browser.post(f"/c/{cast.session.pk}/files", {"file": BytesIO(b"Mine")})

    for user, status in ((cast.rita, 409), (cast.fay, 404), (cast.ed, 200)):
        assert attached(user).status_code == status
    # Nor by the form of a page without scripts, whose message is refused.
    browser = Browser()
    browser.force_login(cast.rita)
    form = {"client_id": str(uuid.uuid4()), "text": "Hello", "files": BytesIO(b"Mine")}
    assert browser.post(f"/c/{cast.session.pk}/send", form).status_code == 409
    assert [*Attachment.objects.unsent().values_list("owner", flat=True)] == [cast.ed.pk]


def test_a_fork_is_private_and_has_its_own_files(cast, stranger):
    last = cast.session.messages.order_by("seq").last()
    made = forking.fork(cast.rita, last.pk)
    assert (made.owner, made.is_shared, made.messages.count()) == (cast.rita, False, 4)
    assert not ChatSession.objects.visible_to(cast.ada).filter(pk=made.pk).exists()
    copied = Attachment.objects.get(owner=cast.rita)
    assert served(cast.rita, copied) == b"Meet at noon."
    assert "Meet at noon." in str(api_messages(ChatSession.objects.get(pk=made.pk)))
    take_role(cast.space, cast.rita)
    assert served(cast.rita, copied) == b"Meet at noon."
    assert served(cast.rita, cast.file) == 404
    assert not any(each.is_by_person for each in made.messages.filter(role=Message.Role.USER))
    browser = Browser()
    browser.force_login(cast.rita)
    page = browser.get(f"/c/{made.pk}").content.decode()
    assert page.count("message__author") == 2
    assert list(check()) == []


def test_a_fork_takes_no_more_files_than_its_person_has_room_for(cast, settings):
    settings.FILES = replace(settings.FILES, person_max_bytes=cast.file.size)
    last = cast.session.messages.order_by("seq").last()
    for _ in range(2):
        made = forking.fork(cast.rita, last.pk)
        assert made.messages.count() == 4
    assert Attachment.objects.filter(owner=cast.rita).count() == 1


def test_what_the_owner_thinks_of_an_answer_is_for_no_other_member(cast):
    answer = cast.session.messages.filter(role=Message.Role.ASSISTANT).first()
    Rating.objects.create(message=answer, agent=cast.session.agent, is_good=False, reason="It is about my illness")
    for name in ("rita", "ada"):
        browser = Browser()
        browser.force_login(cast.people[name])
        assert "illness" not in browser.get(f"/messages/{answer.pk}/details").content.decode()
    assert "illness" not in "".join(export.as_json(cast.session))
    assert "illness" in "".join(export.as_json(cast.session, with_file_ids=True))


def test_an_archive_of_everything_has_no_shared_conversation_of_a_space_that_the_person_has_left(cast):
    def written():
        return [entry.path for entry in account.write(cast.ada) if entry.path.startswith(account.CONVERSATIONS)]

    assert len(written()) == 1
    take_role(cast.space, cast.ada)
    assert written() == []
