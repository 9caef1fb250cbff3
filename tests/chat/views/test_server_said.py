"""What the model's server said about an answer that has failed: for administrators, under their own answers."""

import pytest

from chat.models import Message
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting.forget import forget
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.scripted import bad_request
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = "tools.3: Ada takes her tea without sugar is too odd"


async def failed(person, scripted):
    scripted.default = lambda body: bad_request(WORDS)
    talk = Talk(person, scripted)
    with pytest.raises(AssertionError, match="bad_request"):
        await talk.say("Hello")
    return await in_database(lambda: talk.messages().last())


async def test_an_administrator_reads_it_and_another_person_does_not(ada, admin_person, scripted, async_client):
    for person, status in ((admin_person, 200), (ada, 404)):
        message = await failed(person, scripted)
        await async_client.aforce_login(person)
        answer = await async_client.get(f"/messages/{message.pk}/said")
        assert answer.status_code == status
        assert (WORDS in answer.content.decode()) == (status == 200)
        page = (await async_client.get(f"/c/{message.session_id}")).content.decode()
        # The words are never in the page itself, and only an administrator is shown the way to them.
        assert WORDS not in page
        assert ("<body" in page, " data-admin>" in page) == (True, status == 200)
        assert f'href="/messages/{message.pk}/said"' in page


async def test_nobody_reads_what_was_said_about_the_answer_of_another(ada, admin_person, scripted, async_client):
    message = await failed(ada, scripted)
    await async_client.aforce_login(admin_person)
    assert (await async_client.get(f"/messages/{message.pk}/said")).status_code == 404


async def test_it_goes_when_something_of_the_conversation_is_forgotten(ada, scripted):
    space = await in_database(lambda: Space.objects.own_of(ada))
    line = "- Ada takes her tea without sugar."
    await in_database(lambda: apply(space, "MEMORY.md", Append(line), Author(Source.PAGE, ada)))
    message = await failed(ada, scripted)
    assert message.meta[Message.SERVER_SAID_KEY] == WORDS
    await in_database(forget, space, [line], ada)
    meta = await in_database(lambda: Message.objects.get(pk=message.pk).meta)
    assert Message.SERVER_SAID_KEY not in meta
