"""Model servers of rows: read as those of the file are, followed within seconds, and never in the way of a request."""

import time

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from oneclaw import llm
from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams import failing, servers
from oneclaw.llm.upstreams.routes import home_of, routes_of
from oneclaw.models import ModelServer
from tests.scripted import ScriptedModel, answer, error, overloaded
from tests.spending import NOBODY, Spending

pytestmark = pytest.mark.django_db
HELLO = [{"role": "user", "content": "Hello?"}]
KEY = "sk-quince-0123456789"


def server(name="second", url="https://models.example.org", *, key=KEY, **about):
    offers = about.pop("offers", {"llama": {"label": "Llama"}})
    if isinstance(offers, dict):
        offers = [{"model": model, **offered} for model, offered in offers.items()]
    row = ModelServer(name=name, url=url, offers=offers, **about)
    row.set_key(key)
    row.save()
    read_again()
    return row


def read_again():
    """Read the rows in the transaction of the test."""
    servers.of_rows.forget()
    servers.upstreams()


def test_a_row_is_a_server_with_its_key_after_those_of_the_file(settings):
    settings.UPSTREAMS = (Upstream("first", "https://first.example.org", models=("llama",)),)
    server("b", position=2, offers={"llama": {}})
    server("a", position=3, offers={"llama": {"price": "1/2"}, "other": {"instead_of": ["llama"]}})
    server("off", is_enabled=False)
    assert [(route.name, route.model) for route in routes_of("llama")] == [
        ("first", "llama"),
        ("b", "llama"),
        ("a", "llama"),
        ("a", "other"),
    ]
    found = servers.upstreams()[-1]
    assert (found.key, found.prices) == (KEY, {"llama": (1, 2, 0.1, 1.25)})
    assert KEY not in repr(found)
    assert KEY not in ModelServer.objects.get(name="a").sealed_key


def test_a_name_of_the_file_wins(settings):
    server("Second", offers={"llama": {}})
    settings.UPSTREAMS = (Upstream("second", "https://first.example.org", models=("other",)),)
    assert [each.url for each in servers.upstreams()] == ["https://first.example.org"]
    assert home_of("llama").upstream is None


def test_a_change_is_followed_within_seconds_and_costs_one_statement(monkeypatch):
    assert home_of("llama").upstream is None
    ModelServer.objects.create(name="second", url="https://models.example.org", offers=[{"model": "llama"}])
    servers.of_rows.forget()
    with monkeypatch.context() as before:
        before.setattr(ModelServer.objects, "filter", lambda **_: [])
        servers.upstreams()
    assert home_of("llama").upstream is None
    later = time.monotonic() + servers.KNOWN_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with CaptureQueriesContext(connection) as made:
        assert [home_of("llama").name for _ in range(5)] == ["second"] * 5
    assert len(made) == 1


async def test_on_an_event_loop_no_statement_is_made_before_a_request(scripted, monkeypatch):
    servers.of_rows.forget()
    assert servers.upstreams() == ()
    await servers.follow()
    assert not servers.of_rows.is_due


def test_what_cannot_be_read_is_left_out_and_what_was_known_stays(monkeypatch, caplog):
    server("damaged", offers=["llama"])
    server("good", offers={"llama": {}})
    assert [each.name for each in servers.upstreams()] == ["good"]
    assert "damaged is left out" in caplog.text

    def gone(**_):
        raise OperationalError("the database is away")

    monkeypatch.setattr(ModelServer.objects, "filter", gone)
    read_again()
    assert [each.name for each in servers.upstreams()] == ["good"]


def test_a_server_whose_key_cannot_be_read_is_sent_nothing_and_others_answer(scripted, settings, monkeypatch):
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0.01)
    with ScriptedModel() as second:
        server(url=second.url, offers={"llama": {}, "standby": {"instead_of": [settings.MODEL]}})
        settings.SECRET_KEY = "another secret key of this installation"
        read_again()
        assert servers.upstreams()[0].lacks_key
        with pytest.raises(llm.KeyUnreadableError) as failure:
            complete("llama")
        assert "enter it again" in failure.value.sentence
        assert [each.failure.code for each in failing.states() if each.name == "second"] == ["no_key"]
        # As a substitute it is passed over.
        scripted.script(overloaded(), answer("Here I am."))
        assert complete(settings.MODEL) == "Here I am."
        assert second.requests == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_with_the_key(scripted, status, settings, monkeypatch):
    settings.OUTGOING_NETWORKS = ["127.0.0.1"]
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0.01)
    with ScriptedModel() as elsewhere, ScriptedModel() as second:
        moved = error(status, "moved", "It is elsewhere.", location=f"{elsewhere.url}/v1/messages")
        second.default = lambda body: moved
        server(url=second.url)
        with pytest.raises(llm.ModelRequestError):
            complete("llama")
        assert second.messages
        assert elsewhere.requests == []


def test_a_key_is_of_no_use_at_another_address():
    row = server()
    ModelServer.objects.update(url="https://evil.example.org")
    read_again()
    assert (servers.upstreams()[0].key, servers.upstreams()[0].lacks_key) == ("", True)
    row.url = "https://models.example.org/v2"
    row.save()
    read_again()
    assert servers.upstreams()[0].key == KEY


def complete(model):
    return async_to_sync(llm.complete)(llm.Request(model, [], HELLO), Spending(NOBODY))
