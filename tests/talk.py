"""A conversation with a model that signs its thinking, for tests of what it is sent."""

import asyncio
import uuid

from chat.conversations.model_choice import Choice
from chat.live.publisher import TurnPublisher
from chat.models import ChatSession, Message, Turn
from chat.turns import start
from chat.turns.running import running_turns
from oneclaw.threads import in_database

# A model of which the strict server checks everything.
MODEL = "claude-sonnet-5-5"


class Talk:
    """One conversation of a person, whose every turn must end well."""

    # How long an answer may take.
    WAIT_SECONDS = 20

    def __init__(self, user, scripted):
        self.user, self.scripted, self.session_id = user, scripted, uuid.uuid4()

    async def say(self, words, **how):
        await start.send(self.user, self.session_id, uuid.uuid4(), words, listen=TurnPublisher, **how)
        return await self.ended()

    async def edit(self, message, words):
        await start.edit(self.user, message.pk, uuid.uuid4(), words, Choice(), listen=TurnPublisher)
        return await self.ended()

    async def repeat(self, kind):
        last = await in_database(lambda: self.messages().last())
        await start.repeat(self.user, last.pk, kind, Choice(), TurnPublisher)
        return await self.ended()

    async def ended(self, status="complete"):
        async with asyncio.timeout(self.WAIT_SECONDS):
            while running_turns:
                await asyncio.sleep(0.01)
        turn = await in_database(lambda: Turn.objects.filter(session=self.session_id).latest("pk"))
        assert (turn.status, turn.error_code) == (status, ""), f"{turn.status}: {turn.error_code}"
        return await in_database(lambda: self.messages().last())

    def messages(self):
        return Message.objects.shown().filter(session=self.session_id)

    @property
    def session(self):
        return ChatSession.objects.get(pk=self.session_id)

    @property
    def sent(self):
        """The body of the newest request."""
        return self.scripted.messages[-1].body

    def thoughts(self):
        """How many signed thoughts the newest request holds."""
        return sum(block["type"] == "thinking" for each in self.sent["messages"] for block in each["content"])
