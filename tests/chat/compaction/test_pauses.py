"""After a pause in which the provider's cache expired, results are shortened and a ready summary is used."""

import datetime as dt

import pytest
from django.db.models import F
from django.utils import timezone

from chat.compaction import make, planning
from chat.models import ChatSession, ContextRound, Message
from oneclaw.threads import in_database
from tests.scripted import answer, tool_use
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

TRIMMED = "[Tool result trimmed"
# A pause in minutes, the lifetime of the last request, and whether its entry has expired.
PAUSES = [(pause, lifetime, pause > limit) for lifetime, limit in (("5m", 5), ("1h", 60)) for pause in (4, 6, 50, 70)]


@pytest.fixture
def talk(settings, scripted, ada):
    settings.MODEL, settings.CONTEXT = MODEL, 20_000
    settings.COMPACTION = False
    return Talk(ada, scripted)


def lifetime_in(request):
    return request["system"][-1]["cache_control"].get("ttl", "5m")


async def grown(talk, lifetime):
    """Let the talk be so long that it is worth shortening, and its last request be sent with `lifetime`."""
    for number in range(3):
        talk.scripted.script(answer(tool_use("memory_search", {"query": f"boats {number}"})), answer("Nothing."))
        await talk.say(f"Where are boats {number}?")
    if lifetime == "1h":
        await in_database(moved, talk, 10)
    for number in range(2):
        await talk.say(f"And ferries {number}?")
    assert lifetime_in(talk.sent) == lifetime
    await in_database(enlarged, talk)


def moved(talk, minutes):
    """Let everything that was said be `minutes` older."""
    earlier = dt.timedelta(minutes=minutes)
    rows = Message.objects.filter(session=talk.session_id)
    rows.update(created_at=F("created_at") - earlier, finished_at=F("finished_at") - earlier)


def enlarged(talk):
    """Let the results of tools be long, and the conversation as large as they make it."""
    for row in talk.messages().filter(role=Message.Role.TOOL):
        row.content = [{**block, "content": "boat " * 4_000} for block in row.content]
        row.save(update_fields=["content"])
    talk.messages().filter(role=Message.Role.ASSISTANT).update(usage={"input_tokens": 12_000, "output_tokens": 9})


@pytest.mark.parametrize(("pause", "lifetime", "is_cold"), PAUSES)
async def test_results_are_shortened_once_the_cache_has_expired(talk, pause, lifetime, is_cold):
    await grown(talk, lifetime)
    await in_database(moved, talk, pause)
    await talk.say("Are you there?")
    assert (TRIMMED in str(talk.sent["messages"])) == is_cold
    # The pause before it lets this request ask for an hour, which says nothing of the last one.
    assert lifetime_in(talk.sent) == ("1h" if pause > 5 else lifetime)


@pytest.mark.parametrize(("pause", "lifetime", "is_cold"), PAUSES)
async def test_a_ready_summary_is_used_once_the_cache_has_expired(talk, settings, pause, lifetime, is_cold):
    settings.PRUNING = False
    await grown(talk, lifetime)
    await in_database(ready_summary, talk)
    await in_database(moved, talk, pause)
    await talk.say("Are you there?")
    used = await in_database(ContextRound.objects.exclude(used_at=None).filter(session=talk.session_id).count)
    assert used == is_cold


def ready_summary(talk):
    session = ChatSession.objects.select_related("agent", "owner", "head").get(pk=talk.session_id)
    planned = planning.ask(session)
    make.extract_now(planned.pk)
    made_in_advance = {"maker": ContextRound.Maker.MODEL, "reason": ContextRound.Reason.THRESHOLD}
    assert ContextRound.objects.filter(pk=planned.pk, used_at=None).update(**made_in_advance)


@pytest.mark.parametrize("minutes", [-6, 6])
async def test_a_wrong_clock_of_the_process_shortens_nothing_earlier(talk, monkeypatch, minutes):
    await grown(talk, "5m")
    right = timezone.now
    with monkeypatch.context() as wrong:
        wrong.setattr(timezone, "now", lambda: right() + dt.timedelta(minutes=minutes))
        await talk.say("Are you there?")
    assert TRIMMED not in str(talk.sent["messages"])
