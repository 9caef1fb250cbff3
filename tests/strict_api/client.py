"""The SDK's own client against a strict server, for tests of what the server refuses and simulates."""

from contextlib import contextmanager

import anthropic
import pytest

from tests.scripted import ScriptedModel
from tests.strict_api.api import StrictApi

SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING, COMPACT = "thinking-binding-controls-2026-08-01", "compact-2026-09-04"


class Caller:
    """Sends requests to the server with the SDK, and keeps what a conversation was so far."""

    def __init__(self, model: ScriptedModel):
        self.model, self.api = model, model.api
        self.client = anthropic.Anthropic(api_key="test", base_url=model.url, max_retries=0)

    def say(self, *messages, model=SONNET, max_tokens=1000, betas=(), **others):
        """Return the API's message for a request with the messages; a string is the person's."""
        body = {"model": model, "max_tokens": max_tokens, "messages": [*map(message, messages)], **others}
        if betas:
            return self.client.beta.messages.create(**body, betas=list(betas))
        return self.client.messages.create(**body)

    def refusal(self, *messages, status=400, **others):
        """Return the message of the error that the request gets."""
        with pytest.raises(anthropic.APIStatusError) as failed:
            self.say(*messages, **others)
        assert failed.value.status_code == status
        return failed.value.body["error"]["message"]

    def code(self, *messages, **others):
        """Return the code in the details of the error that the request gets."""
        with pytest.raises(anthropic.APIStatusError) as failed:
            self.say(*messages, **others)
        return failed.value.body["error"]["details"]["error_code"]


def message(said):
    return {"role": "user", "content": said} if isinstance(said, str) else said


def said(answer):
    """Return an answer as the message to send back."""
    blocks = [block.model_dump(exclude_none=True, exclude={"caller"}) for block in answer.content]
    return {"role": "assistant", "content": blocks}


def assistant(*blocks):
    return {"role": "assistant", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def user(*blocks):
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def text(words, ttl=""):
    mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {}
    return {"type": "text", "text": words, **mark}


def call(id="toolu_1", name="look"):
    return {"type": "tool_use", "id": id, "name": name, "input": {}}


def result(id="toolu_1", words="done"):
    return {"type": "tool_result", "tool_use_id": id, "content": words}


def tool(name="look", **others):
    return {"name": name, "description": "Looks.", "input_schema": {"type": "object", "properties": {}}, **others}


@contextmanager
def calling(*replies, **settings):
    """Yield a caller of a server with those settings, which answers with the replies."""
    with ScriptedModel(*replies, api=StrictApi(**settings)) as model:
        caller = Caller(model)
        with caller.client:
            yield caller
