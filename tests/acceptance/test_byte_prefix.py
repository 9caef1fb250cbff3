"""Request n is a byte prefix of request n + 1: what was sent is sent again, byte for byte, whatever happens between.

Only a new head and a summary begin anew. The bytes are those that the server received, without marks of the cache.
"""

import json

import pytest
from asgiref.sync import async_to_sync
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from chat import extensions
from chat.context.view import RequestDigest
from chat.extensions import Extension, Tool, ToolResult
from chat.models import Head, Turn
from memory.policy import switches
from oneclaw.llm import facts
from oneclaw.llm.request import with_sorted_keys
from oneclaw.threads import in_database
from tests.acceptance.test_same_request import in_another_process
from tests.scripted import answer, text, thinking, tool_use
from tests.strict_api.parts import parts_of
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)

# Keys in an order that is neither that of the alphabet nor that of the database (by length, then by bytes).
SCHEMA = {
    "type": "object",
    "properties": {"zebra": {"type": "number", "minimum": 0.0}, "at": {"type": "string"}, "ox": {}},
    "required": ["zebra"],
    "additionalProperties": False,
}
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(str.strip)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(-1e9, 1e9).map(abs)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(WORDS, VALUES, max_size=4)
ACTS = st.one_of(
    st.tuples(st.just("say"), WORDS),
    st.tuples(st.just("tools"), ARGUMENTS),
    st.tuples(st.just("think"), WORDS),
    st.tuples(st.sampled_from(["retry", "continue", "restart", "switch"]), st.none()),
)
# Built anew in another process: the head and the messages of the request of a turn.
BUILD = """
import json, sys, django
django.setup()
from chat.context.prompt import build_request
from chat.models import Turn
from oneclaw.llm.facts import cached_facts
from oneclaw.llm.request import parts_of
request = build_request(Turn.objects.select_related("prompt").get(pk=int(sys.argv[1])))
body = parts_of(request, cached_facts(request.model))
print(json.dumps([body["tools"], body["system"], body["messages"]]))
"""


class Sender(Talk):
    """A person whose requests are compared with one another."""

    # Whether the next request may differ from the one before it.
    begins_anew = False

    def parts(self):
        """Return (section, role, bytes) of each part of every request of the conversation, oldest first."""
        requests = [each for each in self.scripted.messages if each.body.get("system")]
        return [[(part.section, part.role, part.data) for part in parts_of(each.body, each.raw)] for each in requests]

    async def do(self, name, what):
        before = len(self.parts())
        await getattr(self, f"do_{name}")(what)
        found = self.parts()
        for earlier, later in zip(found[max(before - 1, 0) :], found[max(before, 1) :], strict=False):
            if self.begins_anew:
                self.begins_anew = False
                continue
            shorter, longer = sorted((earlier, later), key=len)
            assert longer[: len(shorter)] == shorter, name
            # Only another attempt at the same answer may be shorter.
            assert len(later) >= len(earlier) or name == "retry"

    async def do_say(self, words):
        await self.say(words)

    async def do_tools(self, arguments):
        self.scripted.script(
            answer(thinking("Hm."), "One moment.", tool_use("odd", arguments)), answer(tool_use("odd", arguments))
        )
        await self.say("Use it.")

    async def do_think(self, words):
        self.scripted.script(answer(thinking("First."), text(words), thinking("Second."), "Done."))
        await self.say(words)

    async def do_retry(self, _):
        await self.repeat(Turn.Kind.RETRY)

    async def do_continue(self, _):
        self.scripted.script(answer("Half of", stop_reason="max_tokens"))
        await self.say("Go on.")
        await self.repeat(Turn.Kind.CONTINUE)

    async def do_restart(self, _):
        facts.forget_cache()
        await self.say("And after that?")

    async def do_switch(self, _):
        name = switches.Switch.SAVED
        self.begins_anew = True
        await in_database(lambda: switches.choose(self.user, name, name not in switches.on_for(self.user)))
        await self.say("And now?")


@pytest.fixture
def odd_tool():
    tool = Tool("odd", "Takes odd arguments.", SCHEMA, lambda call: ToolResult(json.dumps(call.arguments), "Taken."))
    extension = extensions.register(Extension("odd", tools=[tool]))
    yield
    extensions.unregister(extension)


@given(acts=st.lists(ACTS, min_size=2, max_size=6))
@examples(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_each_request_is_a_byte_prefix_of_the_next(ada, scripted, settings, odd_tool, acts):
    settings.MODEL, settings.TITLES = MODEL, False

    async def talk():
        scripted.requests.clear()
        sender = Sender(ada, scripted)
        for act in [("say", "Hello."), *acts]:
            await sender.do(*act)
        refused = [each.outcome for each in scripted.messages if each.outcome != "sent"]
        assert refused == []

    async_to_sync(talk)()


async def test_the_first_request_is_what_another_process_would_build(ada, scripted, settings, odd_tool):
    settings.MODEL, settings.TITLES = MODEL, False
    talk = Talk(ada, scripted)
    await talk.say("Hello.")
    turn = await in_database(lambda: Turn.objects.get(session=talk.session_id))
    sent = talk.sent
    # Without the answer, as it was when the request was built.
    await in_database(lambda: talk.messages().filter(role="assistant").update(active=False))
    built = await in_database(in_another_process, turn.pk, BUILD, ONECLAW_MODEL=MODEL)
    assert built == json.dumps([sent["tools"], sent["system"], sent["messages"]])


@given(one=st.lists(ARGUMENTS, min_size=1, max_size=2), other=st.lists(ARGUMENTS, min_size=1, max_size=2))
@examples(max_examples=100, deadline=None)
def test_the_digest_is_the_same_for_the_same_bytes_alone(one, other):
    def digest(blocks):
        found = RequestDigest(Head(system="", tools=[]))
        found.add("user", blocks)
        return found.digest()

    def sent(blocks):
        return json.dumps(with_sorted_keys(blocks))

    turned = [dict(reversed(block.items())) for block in one]
    assert sent(turned) == sent(one)
    assert digest(turned) == digest(one)
    assert (digest(one) == digest(other)) == (sent(one) == sent(other))
