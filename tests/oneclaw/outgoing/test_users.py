"""Each part that sends requests goes through the guard: a name of a link-local address is refused with the setting that
would allow it."""

import ast
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from oneclaw import llm
from oneclaw.audit import chain, webhook
from oneclaw.audit.record import record
from oneclaw.llm.upstreams import servers
from oneclaw.models import AuditDelivery, AuditKind, ModelServer
from oneclaw.people.sign_in.saml import metadata
from oneclaw.people.sign_in.saml.errors import IdentityProviderError
from tests.canary import Resolver
from tests.scripted import answer
from tests.spending import NOBODY, Spending
from tests.stage import ROOT

SETTING, LINK_LOCAL, HOST = "ONECLAW_OUTGOING_NETWORKS", "169.254.169.254", "metadata.example.org"


@pytest.fixture(autouse=True)
def resolver(monkeypatch):
    resolver = Resolver()
    resolver.names[HOST] = [[LINK_LOCAL]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    yield resolver
    assert set(resolver.asked) <= {HOST}


def complete(model):
    request = llm.Request(model, [], [{"role": "user", "content": "Hello?"}])
    return async_to_sync(llm.complete)(request, Spending(NOBODY))


@pytest.mark.django_db
def test_the_model_server_of_the_environment(scripted, settings):
    settings.ANTHROPIC_BASE_URL = f"http://{HOST}"
    with pytest.raises(llm.AddressRefusedError) as failure:
        complete("claude-test")
    assert SETTING in failure.value.sentence
    assert HOST in failure.value.sentence
    assert scripted.requests == []


@pytest.mark.django_db
@pytest.mark.parametrize("address", [LINK_LOCAL, "10.0.0.1", "127.0.0.1"])
def test_a_model_server_that_an_owner_has_entered(scripted, settings, resolver, address):
    resolver.names[HOST] = [[address]]
    port = scripted.url.rpartition(":")[2]
    ModelServer.objects.create(name="far", url=f"http://{HOST}:{port}", offers=[{"model": "llama"}])
    servers.of_rows.forget()
    assert servers.upstreams()
    try:
        with pytest.raises(llm.AddressRefusedError) as failure:
            complete("llama")
        assert SETTING in failure.value.sentence
        assert scripted.requests == []
        if address == "127.0.0.1":
            settings.OUTGOING_NETWORKS = ["127.0.0.1"]
            scripted.script(answer("Here."))
            assert complete("llama") == "Here."
    finally:
        servers.of_rows.forget()


@pytest.mark.django_db
def test_the_collector_of_the_audit_log(settings, ada):
    settings.AUDIT_WEBHOOK, settings.AUDIT_WEBHOOK_SECRET = f"http://{HOST}/audit", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI"
    record(AuditKind.KEY_MADE, actor=ada)
    chain.link_all()
    assert webhook.deliver() == 0
    assert SETTING in str(AuditDelivery.objects.get().error)


@pytest.mark.django_db
def test_the_provider_of_openid_connect(settings, caplog):
    app = {"provider_id": "sso", "name": "Example", "client_id": "oneclaw", "secret": "s"}
    app["settings"] = {"server_url": f"https://{HOST}"}
    provider_class = "oneclaw.people.sign_in.provider.Provider"
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"provider_class": provider_class, "APPS": [app]}}
    settings.OIDC = replace(settings.OIDC, issuer=f"https://{HOST}")
    assert Client().get("/accounts/sso/").status_code == 502
    assert SETTING in caplog.text


def test_the_metadata_of_saml(settings):
    settings.SAML = replace(settings.SAML, metadata=f"https://{HOST}/metadata.xml")
    with pytest.raises(IdentityProviderError, match=SETTING):
        metadata.read(settings.SAML.metadata)


def test_the_collector_of_spans():
    code = (
        "import django; django.setup()\n"
        "from oneclaw.telemetry import tracing\n"
        "tracing.begin()\n"
        "with tracing.span('turn'): pass\n"
        "from opentelemetry import trace\n"
        "trace.get_tracer_provider().shutdown()"
    )
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{LINK_LOCAL}:4318", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"} | endpoint
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert SETTING in done.stderr


# What makes requests by itself; a client of httpx2 with a transport of its own is not among it.
UNGUARDED = {
    *("requests.get", "requests.post", "requests.request", "requests.Session", "aiohttp.ClientSession"),
    *("httpx2.get", "httpx2.post", "httpx2.request", "httpx2.stream", "httpx2.HTTPTransport"),
    *("httpx2.AsyncHTTPTransport", "urllib.request.urlopen", "urlopen", "urllib.request.urlretrieve"),
    *("http.client.HTTPConnection", "http.client.HTTPSConnection", "socket.create_connection"),
    "OneLogin_Saml2_IdPMetadataParser.parse_remote",
}


def test_no_other_module_makes_requests_by_itself():
    found = []
    for folder in ("oneclaw", "chat", "memory"):
        for path in Path(ROOT, folder).rglob("*.py"):
            if path.is_relative_to(Path(ROOT, "oneclaw", "outgoing")):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and is_unguarded(node):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.func)}")
    assert not found


def is_unguarded(call):
    name = ast.unparse(call.func)
    if name in ("httpx2.Client", "httpx2.AsyncClient"):
        return "transport" not in {keyword.arg for keyword in call.keywords}
    return name in UNGUARDED
