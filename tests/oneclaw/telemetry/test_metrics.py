"""What /metrics tells, to whom, and that nothing in it was written by people."""

import datetime as dt
import re
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from oneclaw.models import Spend
from tests.talk import Talk

TOKEN = "scraper-token"
METRIC = re.compile(r"`[^`]*?(oneclaw_\w+)[^`]*`")


@pytest.fixture
def scraped(client, settings):
    """The numbers of /metrics, by name and labels."""

    def scraped() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        settings.METRICS_TOKEN = TOKEN
        text = client.get(reverse("metrics"), headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
        families = text_string_to_metric_families(text)
        return {(each.name, tuple(sorted(each.labels.items()))): each.value for f in families for each in f.samples}

    return scraped


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["", "other"])
def test_without_the_token_there_is_no_such_page(client, settings, token):
    settings.METRICS_TOKEN = TOKEN if token else ""

    assert client.get(reverse("metrics"), headers={"Authorization": f"Bearer {token}"}).status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_a_turn_is_counted_with_its_tokens(ada, scripted, scraped):

    before = await sync_to_async(scraped)()
    await Talk(ada, scripted).say("My secret word is tulip")
    after = await sync_to_async(scraped)()

    def grown(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return after.get(key, 0) - before.get(key, 0)

    assert grown("oneclaw_turn_seconds_count", outcome="complete") == 1
    model_name = scripted.messages[-1].body["model"]
    assert grown("oneclaw_model_requests_total", model=model_name, outcome="ok") >= 1
    assert grown("oneclaw_tokens_total", model=model_name, kind="output") > 0
    assert after[("oneclaw_turns_running", ())] == 0
    assert "tulip" not in str(after)


@pytest.mark.django_db
def test_what_waits_in_the_database_and_was_spent_by_workers_is_told(scraped, ada):
    spent = {"user": ada, "purpose": "notes", "model": "m", "input_tokens": 30, "output_tokens": 4, "cost": "0.5"}
    for at in (timezone.now(), timezone.now() - dt.timedelta(hours=2)):
        Spend.objects.create(at=at, **spent)
    found = scraped()
    notes, titles = (("purpose", "notes"),), (("purpose", "title"),)
    assert found[("oneclaw_spend_hour_calls", notes)] == 1
    assert found[("oneclaw_spend_hour_tokens", notes)] == 34
    assert found[("oneclaw_spend_hour_dollars", notes)] == 0.5
    assert found[("oneclaw_spend_hour_calls", titles)] == 0

    assert found[("oneclaw_jobs_waiting", (("kind", "flush"),))] == 0
    assert found[("oneclaw_worker_silence_seconds", ())] == float("inf")


@pytest.mark.django_db
def test_a_method_of_the_clients_own_has_no_numbers_of_its_own(client, scraped):
    client.generic("TULIP", "/healthz")
    client.generic("PATCH", "/healthz")
    methods = {dict(labels)["method"] for name, labels in scraped() if name == "oneclaw_request_seconds_count"}
    assert {"other", "PATCH"} <= methods
    assert "TULIP" not in methods


@pytest.mark.django_db
def test_a_request_keeps_its_id(client):
    mine = uuid.uuid4().hex
    assert client.get("/healthz", headers={"X-Request-ID": mine})["X-Request-ID"] == mine
    assert client.get("/healthz", headers={"X-Request-ID": "a b\tc"})["X-Request-ID"] not in ("", "a b\tc")


@pytest.mark.django_db
def test_the_page_for_operators_names_every_metric_and_no_other(client, settings):
    settings.METRICS_TOKEN = TOKEN
    text = client.get(reverse("metrics"), headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    kinds = {family.name: family.type for family in text_string_to_metric_families(text)}
    ours = {
        f"{name}_total" if kind == "counter" else name
        for name, kind in kinds.items()
        # When each counter began is told besides.
        if name.startswith("oneclaw_") and not name.endswith("_created")
    }
    page = (settings.BASE_DIR / "docs" / "operate.md").read_text()
    metrics, alerts = (page.split(f"## {name}\n")[1].split("\n## ")[0] for name in ("Metrics", "Alerts"))
    assert set(METRIC.findall(metrics)) == ours
    alerting = set(METRIC.findall(alerts))
    assert len(alerting) > 5
    assert alerting <= ours
