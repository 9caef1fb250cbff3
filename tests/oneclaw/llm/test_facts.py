"""What is known about a model: what its server says, what is documented, and what was refused."""

import datetime as dt
import http.server
import json
import threading

import pytest
from django.db import OperationalError
from django.utils import timezone

from oneclaw import llm, tasks
from oneclaw.llm import client, facts
from oneclaw.llm.known_models import UNKNOWN, known_facts
from oneclaw.llm.server import server_hash
from oneclaw.llm.upstreams.routes import Route
from oneclaw.models import ModelFacts
from tests.scripted import answer, bad_request, cut, error
from tests.spending import NOBODY, Spending
from tests.strict_api.api import StrictApi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning"),
]
REQUEST = llm.Request("claude-sonnet-5-5", [], [{"role": "user", "content": "Hello?"}])
PLAIN = (
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'enabled', 'disabled'"
)


def refusing(*names):
    """A server that knows no more than the plain Messages API, and names the field that it refuses."""

    def reply(body):
        found = next((name for name in names if name in body), None)
        return answer("Hello.") if found is None else bad_request(f"{found}: Extra inputs are not permitted")

    return reply


def told(**columns):
    return ModelFacts.objects.create(server=server_hash(), seen_at=timezone.now(), **columns)


async def test_a_server_that_speaks_only_the_plain_api_is_understood_at_once(scripted, settings):
    settings.EFFORT = "high"
    scripted.default = refusing("thinking", "output_config")
    events = [event async for event in llm.stream(REQUEST, Spending(NOBODY))]
    assert isinstance(events[-1], llm.Finished)
    # Nobody is told of another attempt: it is not the person's concern.
    assert not [event for event in events if isinstance(event, llm.Retrying)]
    assert [sorted(each.body.keys() & {"thinking", "output_config"}) for each in scripted.messages] == [
        ["output_config", "thinking"],
        ["output_config"],
        [],
    ]
    assert await llm.complete(REQUEST, Spending(NOBODY)) == "Hello."
    assert len(scripted.messages) == 4


def test_a_refusal_is_remembered_for_a_day_by_all_processes(scripted, settings):
    scripted.default = refusing("thinking")
    assert llm.complete_sync(REQUEST, NOBODY) == "Hello."
    row = ModelFacts.objects.get(model=REQUEST.model)
    assert list(row.learnt) == ["thinking.adaptive"]
    facts.forget_cache()
    assert "adaptive" not in llm.facts_of(REQUEST.model).thinking
    row.learnt = {"thinking.adaptive": (timezone.now() - dt.timedelta(hours=25)).isoformat()}
    row.save()
    facts.forget_cache()
    assert llm.facts_of(REQUEST.model) == facts.documented_facts(REQUEST.model)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (PLAIN, {"output_config"}),
        ("adaptive thinking is not supported on this model", {"output_config"}),
        ("This model does not support the effort parameter.", {"thinking"}),
        ("output_config.effort: Extra inputs are not permitted", {"thinking"}),
    ],
)
async def test_only_the_refused_field_is_left_out(scripted, settings, words, left):
    settings.EFFORT = "high"
    scripted.script(bad_request(words))
    await llm.complete(REQUEST, Spending(NOBODY))
    assert scripted.messages[1].body.keys() & {"thinking", "output_config"} == left


async def test_a_refused_display_leaves_the_thinking(scripted):
    scripted.script(bad_request("thinking.adaptive.display: Extra inputs are not permitted"))
    await llm.complete(REQUEST, Spending(NOBODY))
    assert scripted.messages[1].body["thinking"] == {"type": "adaptive"}


async def test_what_a_refusal_recommends_is_sent_instead(scripted):
    words = (
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" for the lowest '
        'thinking setting, or use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    )
    await facts.learn(Route("claude-haiku-5-5"), facts.Refusal("none"))
    scripted.script(bad_request(words))
    await llm.complete(
        llm.Request("claude-haiku-5-5", [], REQUEST.messages, effort="high", thinks=False), Spending(NOBODY)
    )
    # This model knows no `between_tools`: it thinks, and as little as possible.
    last = scripted.messages[1].body
    assert "thinking" not in last
    assert last["output_config"] == {"effort": "low"}


async def test_a_refused_size_is_kept_to(scripted):
    words = "max_tokens: 128000 > 8000, which is the maximum allowed number of output tokens for claude-sonnet-5-5"
    scripted.script(bad_request(words))
    for _ in range(2):
        await llm.complete(REQUEST, Spending(NOBODY))
    assert [each.body["max_tokens"] for each in scripted.messages] == [128_000, 8_000, 8_000]


async def test_the_window_is_learnt_from_a_prompt_that_is_too_long(scripted):
    scripted.script(bad_request("prompt is too long: 20100 tokens > 20000 maximum"))
    with pytest.raises(llm.ContextTooLongError) as failed:
        await llm.complete(REQUEST, Spending(NOBODY))
    assert (failed.value.tokens, failed.value.limit) == (20_100, 20_000)
    assert len(scripted.messages) == 1
    await llm.complete(REQUEST, Spending(NOBODY))
    assert scripted.messages[1].body["max_tokens"] < 20_000


async def test_where_prompt_and_answer_share_the_window_the_answer_gets_the_rest(scripted):
    words = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length"
    scripted.script(bad_request(words))
    await llm.complete(llm.Request("claude-sonnet-4-5", [], REQUEST.messages), Spending(NOBODY))
    assert [each.body["max_tokens"] for each in scripted.messages] == [64_000, 50_000]


@pytest.mark.parametrize(
    "words",
    [
        "messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        "messages: at least one message is required",
        "tools.0.custom.name: String should match pattern",
    ],
)
async def test_a_refusal_of_the_conversation_is_no_refusal_of_a_field(scripted, words):
    scripted.script(bad_request(words))
    with pytest.raises(llm.BadRequestError):
        await llm.complete(REQUEST, Spending(NOBODY))
    assert len(scripted.messages) == 1


async def test_a_server_that_refuses_everything_is_left_after_a_few_requests(scripted):
    scripted.default = lambda body: bad_request("thinking is a difficult subject")
    with pytest.raises(llm.BadRequestError):
        await llm.complete(REQUEST, Spending(NOBODY))
    assert len(scripted.messages) == 2


async def test_once_something_arrived_a_request_is_not_sent_again(scripted):
    scripted.script(cut(answer("Hello there."), after="Hello"))
    with pytest.raises(llm.CutOffError):
        await llm.complete(REQUEST, Spending(NOBODY))
    assert len(scripted.messages) == 1


async def test_errors_of_compatible_servers_are_understood_too(scripted):
    scripted.script(
        error(422, "", ""),
        # FastAPI's own form.
        type(answer())(
            status=422,
            headers={"content-type": "application/json"},
            body=json.dumps({"detail": [{"loc": ["body", "thinking"], "msg": "Extra inputs"}]}).encode(),
        ),
    )
    with pytest.raises(llm.BadRequestError):
        await llm.complete(REQUEST, Spending(NOBODY))
    assert await llm.complete(REQUEST, Spending(NOBODY)) == "Hello from the scripted model."
    assert "thinking" not in scripted.messages[2].body


def test_what_the_server_says_counts_more_than_the_documentation(scripted):
    told(model="claude-sonnet-5-5", window=20_000, max_output=4_000, efforts=["low", "high"], thinking=["disabled"])
    found = llm.facts_of("claude-sonnet-5-5")
    assert (found.window_tokens, found.max_output_tokens) == (20_000, 4_000)
    assert (found.efforts, found.thinking) == (("low", "high"), {"disabled"})
    assert found.preserved_thinking
    told(model="claude-sonnet-7", thinking=["adaptive", "disabled"], efforts=["low"])
    facts.forget_cache()
    newer = llm.facts_of("claude-sonnet-7")
    assert newer.thinks
    assert newer.displays
    assert llm.facts_of("llama-70b") == UNKNOWN


def test_an_answer_gets_what_the_window_leaves(scripted):
    told(model="claude-haiku-4-5", window=20_000)
    for words in ("word " * 8_000, "word " * 40_000):
        llm.complete_sync(llm.Request("claude-haiku-4-5", [], [{"role": "user", "content": words}]), NOBODY)
    asked = [each.body["max_tokens"] for each in scripted.messages]
    # 10,000 tokens; three in a hundred stay free. When nothing is left, the server decides.
    assert asked == [pytest.approx(20_000 - 10_000 - 600, abs=20), 256]


def test_betas_are_for_servers_that_describe_them(scripted, settings):
    assert known_facts("claude-sonnet-5-5").compacts
    assert not llm.facts_of("claude-sonnet-5-5").compacts
    told(model="claude-sonnet-5-5", compacts=True)
    facts.forget_cache()
    assert llm.facts_of("claude-sonnet-5-5").compacts


def test_the_rows_are_read_once_a_minute(scripted, django_assert_num_queries, monkeypatch):
    with django_assert_num_queries(1):
        found = [llm.facts_of(name) for name in ("claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-5-5")]
    assert found[0] == facts.documented_facts("claude-sonnet-5-5")
    monkeypatch.setattr(facts, "ROWS_SECONDS", 0)
    with django_assert_num_queries(1):
        llm.facts_of("claude-sonnet-5-5")


def test_a_database_that_is_away_keeps_no_answer_back(scripted, monkeypatch):
    def away(**_):
        raise OperationalError("gone")

    monkeypatch.setattr(ModelFacts.objects, "filter", away)
    monkeypatch.setattr(ModelFacts.objects, "select_for_update", away)
    scripted.default = refusing("thinking")
    assert llm.complete_sync(REQUEST, NOBODY) == "Hello."
    assert "adaptive" not in llm.facts_of(REQUEST.model).thinking


# -- What the server says about its models -------------------------------------------------------

CAPABILITIES = {
    "thinking": {
        "supported": True,
        "types": {
            name: {"supported": name in ("adaptive", "disabled")}
            for name in ("adaptive", "between_tools", "disabled", "enabled")
        },
    },
    "effort": {"supported": True, **{name: {"supported": name != "xhigh"} for name in ("low", "high", "xhigh")}},
    "compaction": {"supported": True, "summarize": {"supported": True}},
}
DESCRIBED = {
    "type": "model",
    "id": "claude-sonnet-5-5",
    "display_name": "Sonnet",
    "created_at": "2026-01-01T00:00:00Z",
    "max_input_tokens": 500_000,
    "max_tokens": 60_000,
    "capabilities": CAPABILITIES,
}
UNKNOWN_BETA = "compact-2020-01-01"


@pytest.fixture
def described(settings):
    """A server whose list has one model, and which knows another by its name."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0]
            asked.append(path)
            if self.headers["anthropic-beta"] == UNKNOWN_BETA:
                return self.reply(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "?"}})
            found = {
                "/v1/models": {"data": [DESCRIBED], "has_more": False, "first_id": "a", "last_id": "a"},
                "/v1/models/claude-haiku-5-5": {**DESCRIBED, "id": "claude-haiku-5-5", "capabilities": "?"},
            }.get(path)
            missing = {"type": "error", "error": {"type": "not_found_error", "message": "no"}}
            return self.reply(200, found) if found else self.reply(404, missing)

        def reply(self, status, said):
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "key", f"http://127.0.0.1:{server.server_port}"
    facts.forget_cache()
    yield asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_server_is_asked_once_a_day_what_its_models_can_do(described, settings):
    settings.MODELS = {"gone-1": "Gone"}
    tasks.refresh_model_facts()
    assert described == ["/v1/models", "/v1/models/claude-haiku-5-5", "/v1/models/gone-1"]
    found = llm.facts_of("claude-sonnet-5-5")
    assert (found.window_tokens, found.max_output_tokens) == (500_000, 60_000)
    assert (found.thinking, found.efforts, found.compacts) == ({"adaptive", "disabled"}, ("low", "high"), True)
    other = llm.facts_of("claude-haiku-5-5")
    assert (other.window_tokens, other.thinking) == (500_000, known_facts("claude-haiku-5-5").thinking)
    tasks.refresh_model_facts()
    assert len(described) == 3
    ModelFacts.objects.filter(model="gone-1").update(seen_at=timezone.now() - dt.timedelta(hours=25))
    tasks.refresh_model_facts()
    assert len(described) == 6


def test_a_server_that_refuses_the_header_of_a_beta_is_asked_without(described, monkeypatch):
    monkeypatch.setattr(client, "COMPACTION_BETA", UNKNOWN_BETA)
    tasks.refresh_model_facts()
    assert described == ["/v1/models", "/v1/models", "/v1/models/claude-haiku-5-5"]
    assert llm.facts_of("claude-sonnet-5-5").window_tokens == 500_000


def test_a_refusal_outlives_what_the_server_says(described):
    row = told(model="claude-sonnet-5-5", learnt={"max_output=5000": timezone.now().isoformat()})
    tasks.refresh_model_facts()
    row.refresh_from_db()
    assert row.max_output == 60_000
    assert llm.facts_of("claude-sonnet-5-5").max_output_tokens == 5_000


def test_a_server_without_descriptions_is_asked_again_tomorrow(scripted):
    scripted.api = StrictApi(plain=True)
    tasks.refresh_model_facts()
    asked = len(scripted.requests)
    assert asked
    tasks.refresh_model_facts()
    assert len(scripted.requests) == asked
    assert llm.facts_of("claude-sonnet-5-5") == facts.documented_facts("claude-sonnet-5-5")


def test_without_a_server_nobody_is_asked(settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    tasks.refresh_model_facts()
    assert not ModelFacts.objects.exists()


def test_the_window_of_a_setting_goes_before_what_is_known(scripted, settings):
    settings.WINDOWS = {"claude-sonnet-5-5": 32_000}
    assert facts.documented_facts("claude-sonnet-5-5").window_tokens == 32_000
    row = ModelFacts(server=server_hash(), model="claude-sonnet-5-5", window=1_000_000)
    assert facts.facts_of_row(row).window_tokens == 32_000


def test_a_prompt_fits_the_window_of_its_model(scripted, settings):
    assert facts.prompt_chars("claude-haiku-5-5", 120_000) == 120_000
    settings.WINDOWS = {"claude-haiku-5-5": 20_000}
    assert facts.prompt_chars("claude-haiku-5-5", 120_000) == 37_200
