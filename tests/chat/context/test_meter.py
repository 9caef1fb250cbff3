"""The token meter beside the count of the strict server.

Before 47 requests of four generated conversations (words of four scripts, numbers, results of tools up to 37,000
characters, images, PDFs and texts), the meter differs from the server's count by 0.07 % at the 95th percentile and
0.09 % at most; the estimate of what was added alone by 0.23 % and 0.63 %; the estimate of the whole request by 0.11 %
and 0.13 %. The strict server has a tokenizer of its own, by bytes: this measures the accounting, and not how well a
ratio describes a real tokenizer.
"""

import random
from itertools import pairwise

import pytest

from chat import extensions
from chat.attachments import store
from chat.context.inspection import next_breakdown, next_request, request_of
from chat.context.meter import estimated_parts, meter_of
from chat.context.prompt import build_request
from chat.context.rounds import NO_ROUNDS
from chat.context.tokens import ContextPart, input_tokens, tokens_after
from chat.extensions import Extension, Tool, ToolResult
from chat.models import ChatSession, Message, Turn
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw import llm
from oneclaw.llm.estimate import text_tokens
from oneclaw.threads import in_database
from tests import files
from tests.conversations import send
from tests.scripted import answer, text, tool_use
from tests.talk import MODEL, Talk

WORDS = {
    "latin": "Tell me more about the ferries between the islands, and which of them leave in the evening. ",
    "accents": "Où est la gare ? Öffnet das Café schon früh, möglichst vor acht Uhr? ",
    "cyrillic": "Расскажи мне подробнее о паромах между островами. ",
    "japanese": "島々を結ぶフェリーについて、もっと詳しく教えてください。",
    "numbers": "17:05, 2026-11-20, 1 204.50 €; order 8841-77 of 3,112 pieces; ",
}
# Of one conversation.
TURNS = 9


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(ada, scripted, settings):
    settings.MODEL = MODEL
    return Talk(ada, scripted)


@pytest.fixture
def long_results():
    """A tool whose result is as long as its call says."""

    def call(call):
        return ToolResult(WORDS[call.input["words"]] * call.input["times"], "Looked.")

    schema = {"type": "object", "properties": {"words": {"type": "string"}, "times": {"type": "integer"}}}
    extension = extensions.register(Extension("look", tools=[Tool("look", "Looks.", schema, call)]))
    yield
    extensions.unregister(extension)


async def hold(talk, seed):
    """Hold a conversation of TURNS turns with words of every script, files and results of tools."""
    chance = random.Random(seed)
    for turn in range(TURNS):
        words = chance.choice(list(WORDS))
        attached = []
        if chance.random() < 0.4:
            name, data = chance.choice(
                [
                    ("a.png", files.image((chance.randrange(100, 1500), 700))),
                    ("a.pdf", files.pdf("One", "Two")),
                    ("a.txt", (WORDS[words] * chance.randrange(1, 60)).encode()),
                ]
            )
            attached = [(await in_database(store.store_file, talk.user, name, data)).pk]
        said = answer(text(WORDS[words] * chance.randrange(1, 40)))
        if chance.random() < 0.4:
            call = {"words": words, "times": chance.randrange(1, 400)}
            talk.scripted.script(answer(tool_use("look", call, id=f"toolu_{seed}_{turn}")), said)
        else:
            talk.scripted.script(said)
        await talk.say(WORDS[words] * chance.randrange(1, 20), files=attached)


def compared(talk):
    """Return for each request but the first (count by the server, the meter before it, what was added to the request
    before, the estimate of all of it)."""
    session, found = talk.session, []
    answers = list(talk.messages().filter(role=Message.Role.ASSISTANT))
    for before, newest in pairwise(answers):
        later = list(talk.messages().filter(seq__gte=newest.seq).values_list("pk", flat=True))
        Message.objects.filter(pk__in=later).update(active=False)
        counted = input_tokens(newest.usage)
        whole = sum(estimated_parts(session, session.head, NO_ROUNDS).values())
        found.append((counted, meter_of(session).used_tokens, counted - tokens_after(before.usage), whole))
        Message.objects.filter(pk__in=later).update(active=True)
    return found


async def test_the_estimate_is_within_three_percent_of_the_servers_count(ada, scripted, settings, long_results):
    settings.MODEL = MODEL
    found = []
    for seed in range(4):
        talk = Talk(ada, scripted)
        await hold(talk, seed)
        found += await in_database(compared, talk)
    assert len(found) >= 40
    # Long enough for their rounding not to count.
    added = [(abs(meter - counted), added) for counted, meter, added, _ in found if added >= 500]
    assert len(added) >= 15
    assert highest_but_one_in_twenty(error / size for error, size in added) <= 0.03
    assert highest_but_one_in_twenty(abs(meter - counted) / counted for counted, meter, _, _ in found) <= 0.03
    assert highest_but_one_in_twenty(abs(whole - counted) / counted for counted, _, _, whole in found) <= 0.03
    print(
        [
            (highest_but_one_in_twenty(x), max(x), len(x))
            for x in (
                [e / s for e, s in added],
                [abs(meter - counted) / counted for counted, meter, _, _ in found],
                [abs(whole - counted) / counted for counted, _, _, whole in found],
            )
        ]
    )


def highest_but_one_in_twenty(errors):
    """Return the 95th percentile."""
    ordered = sorted(errors)
    return ordered[int(0.95 * len(ordered))]


async def test_the_server_counts_the_next_request_as_the_meter_does(talk):
    await talk.say(WORDS["latin"] * 20)
    accepted = await in_database(send, talk.user, WORDS["cyrillic"] * 20, talk.session_id)
    request = await in_database(build_request, accepted.turn)
    counted = await llm.count_tokens(request)
    meter = await in_database(lambda: meter_of(talk.session))
    assert abs(meter.used_tokens - counted) <= 0.01 * counted
    assert meter.window_tokens == 200_000


async def test_before_the_first_answer_there_is_no_meter_but_an_estimate(talk):
    accepted = await in_database(send, talk.user, WORDS["latin"], talk.session_id)
    assert await in_database(lambda: meter_of(talk.session)) is None
    counted = await llm.count_tokens(await in_database(build_request, accepted.turn))
    breakdown = await in_database(lambda: next_breakdown(talk.session))
    assert abs(breakdown.meter.used_tokens - counted) <= 0.03 * counted
    assert breakdown.cached_tenths is None


async def test_another_model_counts_in_its_own_way_and_has_its_own_window(talk, settings):
    settings.MODELS = {MODEL: "Sonnet", "claude-haiku-4-5": "Haiku"}
    settings.CONTEXT = 0
    await talk.say(WORDS["latin"] * 20)
    before = await in_database(lambda: meter_of(talk.session))
    await in_database(lambda: ChatSession.objects.filter(pk=talk.session_id).update(model="claude-haiku-4-5"))
    after = await in_database(lambda: meter_of(talk.session))
    assert (before.window_tokens, after.window_tokens) == (1_000_000, 200_000)
    assert after.used_tokens == pytest.approx(before.used_tokens * 3.1 / 4.0, abs=1)


async def test_thinking_that_is_not_sent_any_more_takes_no_room(talk):
    await talk.say(WORDS["latin"])
    await talk.say(WORDS["latin"])
    before = await in_database(lambda: next_breakdown(talk.session))
    await in_database(switches.choose, talk.user, Switch.SAVED, False)
    after = await in_database(lambda: next_breakdown(talk.session))
    # Of each answer 200 tokens of thinking, and the tool that saves.
    assert before.parts[ContextPart.CONVERSATION] - after.parts[ContextPart.CONVERSATION] == pytest.approx(400, abs=20)
    assert after.parts[ContextPart.TOOLS] < before.parts[ContextPart.TOOLS]
    # Asking has stored nothing: the head is replaced with the next message.
    assert await in_database(lambda: talk.session.heads.count()) == 1
    last = await talk.say(WORDS["latin"])
    next_message = text_tokens(WORDS["latin"], 3.1)
    assert after.meter.used_tokens + next_message == pytest.approx(input_tokens(last.usage), rel=0.03)


async def test_what_the_model_sees_is_what_it_is_sent_next(talk, settings):
    settings.CACHE = "off"
    await talk.say("One")
    await talk.say("Two")
    seen, _ = await in_database(lambda: next_request(talk.session))
    await talk.say("Three")
    assert talk.sent["messages"][: len(seen.request.messages)] == seen.request.messages
    assert (talk.sent["system"], talk.sent["tools"]) == (seen.request.system, list(seen.request.tools))


async def test_what_an_answer_was_made_from_is_known_byte_for_byte(talk, settings):
    settings.CACHE = "off"
    await talk.say("One")
    two = await talk.say("Two")
    sent = talk.sent
    await in_database(switches.choose, talk.user, Switch.SAVED, False)
    three = await talk.say("Three")
    for made, body in [(two, sent), (three, talk.sent)]:
        found = await in_database(request_by, made)
        assert found.is_exact
        assert (found.request.messages, found.request.system) == (body["messages"], body["system"])
        assert list(found.request.tools) == body["tools"]


async def test_an_answer_of_another_branch_was_made_from_its_own_messages(talk):
    await talk.say("One")
    two = await talk.say("Two")
    await talk.repeat(Turn.Kind.RETRY)
    found = await in_database(request_by, two)
    assert found.is_exact
    assert [each.row.seq for each in found.messages] == [1, 2, 3]


async def test_what_has_changed_since_is_not_called_exact(talk):
    await talk.say("One")
    two = await talk.say("Two")
    await in_database(lambda: talk.messages().filter(seq=1).update(content=[{"type": "text", "text": "Uno"}]))
    assert not (await in_database(request_by, two)).is_exact


def request_by(answer):
    return request_of(Message.objects.select_related("session__agent").get(pk=answer.pk))
