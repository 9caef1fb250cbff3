"""Who is disabled has no running answer and nothing queued any more; the answers of others go on."""

import asyncio

import pytest

from chat.models import QueuedMessage, Turn
from oneclaw.models import User
from oneclaw.threads import in_database
from tests import scripted as model
from tests.chat.shared.cast import shared_conversation
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_running_answer_of_a_person_who_is_disabled_ends(ada, stranger, scripted):
    scripted.default = lambda body: model.answer(model.text(["word "] * 100, pace=0.05))
    talks = [Talk(ada, scripted), Talk(stranger, scripted)]
    running = [asyncio.create_task(talk.say("Tell me a lot.")) for talk in talks]
    async with asyncio.timeout(20):
        while len(scripted.messages) < 2:
            await asyncio.sleep(0.05)

    def disable():
        person = User.objects.get(pk=ada.pk)
        person.is_active = False
        person.save(update_fields=["is_active"])

    await in_database(disable)
    async with asyncio.timeout(5):
        while await in_database(Turn.objects.running().filter(session__owner=ada).exists):
            await asyncio.sleep(0.05)
    stopped = await in_database(lambda: Turn.objects.get(session__owner=ada).status)
    assert stopped == "stopped"
    assert await in_database(Turn.objects.running().filter(session__owner=stranger).exists)
    for task in running:
        task.cancel()


def test_what_a_disabled_member_has_queued_is_dropped_and_their_flag_is_set(ada, scripted):
    cast = shared_conversation(ada)
    people = cast.people
    for name in ("ed", "olga"):
        QueuedMessage.objects.create(session=cast.session, author=people[name], text=name, client_id=people[name].pk)
    people["ed"].is_active = False
    people["ed"].save(update_fields=["is_active"])
    assert list(QueuedMessage.objects.values_list("text", flat=True)) == ["olga"]
    # Another change of a person ends nothing.
    people["olga"].first_name = "Olga"
    people["olga"].save(update_fields=["first_name"])
    assert QueuedMessage.objects.count() == 1


def test_a_shared_conversation_is_not_moved_by_the_api(ada):
    from tests.programs import Program, refusal

    cast = shared_conversation(ada)
    for space in (0, cast.space.pk):
        assert refusal(Program(ada).patch(f"/sessions/{cast.session.pk}", space=space)) == (409, "shared")
