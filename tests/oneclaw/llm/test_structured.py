"""The form of an answer is prescribed where the model can be held to it."""

from dataclasses import replace

import pytest

from chat.conversations import titles
from memory.notes import last_messages
from memory.notes.recent import SCHEMA
from memory.tools import contradictions
from oneclaw import llm
from oneclaw.llm.facts import Refusal, without
from oneclaw.llm.failures import BadRequestError
from oneclaw.llm.known_models import known_facts
from oneclaw.llm.request import parts_of, refusal_in
from oneclaw.llm.structured import object_in, text_in
from oneclaw.models import Spend
from oneclaw.spend.calls import Payer
from tests.scripted import ScriptedModel, answer, error
from tests.strict_api.client import Caller

DETAIL = 'status 400: {"type":"error","error":{"type":"invalid_request_error","message":"%s"}}'
ASKED = llm.Request("claude-haiku-5-5", [], [{"role": "user", "content": "Hello"}], thinks=False, schema=SCHEMA)


@pytest.mark.parametrize(("model", "is_held"), [("claude-haiku-5-5", True), ("claude-3-opus", False), ("llama", False)])
def test_a_schema_is_sent_where_the_model_knows_it(model, is_held):
    parts = parts_of(replace(ASKED, model=model), known_facts(model))
    assert ("format" in parts.get("output_config", {})) == is_held


@pytest.mark.parametrize("schema", [SCHEMA, titles.SCHEMA, last_messages.SCHEMA, contradictions.SCHEMA])
def test_the_strict_server_takes_it(schema):
    parts = parts_of(replace(ASKED, schema=schema, max_tokens=500), known_facts(ASKED.model))
    with ScriptedModel(answer('{"title": "Tea", "summary": "They spoke of tea."}')) as model:
        caller = Caller(model)
        with caller.client:
            caller.client.messages.create(**parts)
        assert model.messages[0].body["output_config"]["format"]["schema"] == schema


@pytest.mark.parametrize(
    "sentence",
    [
        "output_config.format: Extra inputs are not permitted",
        "structured outputs are not supported",
        # Its only field is the schema.
        "output_config: Extra inputs are not permitted",
    ],
)
def test_a_refused_schema_is_left_out(sentence):
    facts = replace(known_facts(ASKED.model), efforts=())
    refusal = refusal_in(BadRequestError(DETAIL % sentence), parts_of(ASKED, facts), facts)
    assert refusal == Refusal("structures")
    assert "output_config" not in parts_of(ASKED, without(facts, refusal))


def test_what_was_refused_is_left_out_of_the_next_request_at_once(official, ada):
    official.script(
        error(400, "invalid_request_error", "output_config.format: Extra inputs"), answer("Tea"), answer("B")
    )
    payer = Payer(Spend.Purpose.TITLE, ada.pk)
    assert [llm.complete_sync(ASKED, payer) for _ in range(2)] == ["Tea", "B"]
    assert [("format" in each.body.get("output_config", {})) for each in official.messages] == [True, False, False]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (' {"a": 1}\n', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("[1]", None),
        ('{"a": 1', None),
        ('{"a": 1} and more', None),
        ("{" * 100_000, None),
        ('{"a":' * 100_000, None),
        ("Tea", None),
    ],
)
def test_the_object_that_an_answer_is(answer, found):
    assert object_in(answer) == found


def test_the_text_of_an_answer_in_either_form():
    assert text_in('{"title": "Tea"}', "title") == "Tea"
    assert text_in("Tea", "title") == "Tea"
    assert text_in('{"title": ["Tea"]}', "title") == text_in('{"name": "Tea"}', "title") == ""
