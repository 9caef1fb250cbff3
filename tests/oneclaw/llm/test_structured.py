"""The form of an answer is prescribed where the model can be held to it."""

from dataclasses import replace

import pytest

from memory.notes.recent import SCHEMA
from oneclaw import llm
from oneclaw.llm.facts import Refusal, without
from oneclaw.llm.failures import BadRequestError
from oneclaw.llm.known_models import known_facts
from oneclaw.llm.request import parts_of, refusal_in
from tests.scripted import ScriptedModel, answer
from tests.strict_api.client import Caller

DETAIL = 'status 400: {"type":"error","error":{"type":"invalid_request_error","message":"%s"}}'
ASKED = llm.Request("claude-haiku-5-5", [], [{"role": "user", "content": "Hello"}], thinks=False, schema=SCHEMA)


@pytest.mark.parametrize(("model", "is_held"), [("claude-haiku-5-5", True), ("claude-3-opus", False), ("llama", False)])
def test_a_schema_is_sent_where_the_model_knows_it(model, is_held):
    parts = parts_of(replace(ASKED, model=model), known_facts(model))
    assert ("format" in parts.get("output_config", {})) == is_held


def test_the_strict_server_takes_it():
    parts = parts_of(replace(ASKED, max_tokens=500), known_facts(ASKED.model))
    with ScriptedModel(answer('{"title": "Tea", "summary": "They spoke of tea."}')) as model:
        caller = Caller(model)
        with caller.client:
            caller.client.messages.create(**parts)
        assert model.messages[0].body["output_config"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    "sentence", ["output_config.format: Extra inputs are not permitted", "structured outputs are not supported"]
)
def test_a_refused_schema_is_left_out(sentence):
    facts = known_facts(ASKED.model)
    refusal = refusal_in(BadRequestError(DETAIL % sentence), parts_of(ASKED, facts), facts)
    assert refusal == Refusal("structures")
    assert "output_config" not in parts_of(ASKED, without(facts, refusal))
