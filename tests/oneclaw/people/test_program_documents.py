"""A program whose client id is the address of its document signs in without having registered."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from allauth.idp.oidc.models import Client as Program
from django.test import Client

from oneclaw.models import ApiKey
from oneclaw.outgoing import certificates
from oneclaw.people.programs import documents
from oneclaw.people.programs.tokens import grant_of_any
from tests.certificates import made
from tests.oneclaw.people.test_program_sign_in import REDIRECT, SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return made(tmp_path_factory.mktemp("certificate"), "IP:127.0.0.1")


@pytest.fixture
def site(certificate, monkeypatch):
    """A site with the document of a program, which `site.document` changes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.reads += 1
            body = server.document if isinstance(server.document, bytes) else json.dumps(server.document).encode()
            self.send_response(server.status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None: ...

    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = serving.wrap_socket(server.socket, server_side=True)
    server.url = f"https://127.0.0.1:{server.server_port}/client.json"
    server.reads, server.status = 0, 200
    server.document = {"client_id": server.url, "client_name": "Editor", "redirect_uris": [REDIRECT]}
    trusted = ssl.create_default_context(cafile=certificate[0])
    monkeypatch.setattr(certificates, "trusted", lambda: trusted)
    monkeypatch.setattr(documents, "PAUSE_SECONDS", 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def program(client, ada, site, settings):
    settings.OUTGOING_NETWORKS = ["127.0.0.1"]
    client.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    return SignIn(client, site.url)


def test_a_program_signs_in_with_the_address_of_its_document(program, site, ada):
    assert "Editor wants to use your memory" in program.page().content.decode()
    tokens = program.tokens()
    assert grant_of_any(tokens["access_token"]).user == ada
    assert ApiKey.objects.get().name == "Editor"
    assert site.reads == 1
    found = Program.objects.get()
    assert (found.pk, found.type, found.get_redirect_uris()) == (site.url, Program.Type.PUBLIC, [REDIRECT])
    again = program.exchange("refresh_token", refresh_token=tokens["refresh_token"])
    assert again.status_code == 200


def test_the_document_is_read_again_after_an_hour_and_a_failure_changes_nothing(program, site, monkeypatch):
    program.tokens()
    monkeypatch.setattr(documents, "REFRESH_SECONDS", 0)
    site.document = {**site.document, "client_name": "Editor 2"}
    assert "Editor 2 wants" in program.page().content.decode()
    site.status = 500
    assert "Editor 2 wants" in program.page().content.decode()
    site.status, site.document = 200, {**site.document, "redirect_uris": ["https://other.example.org/"]}
    assert b"wants to use your memory" not in program.page().content
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "https://other.example.org/client.json"},
        {"redirect_uris": []},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": [f"{REDIRECT}\nhttps://evil.example.org/"]},
        {"redirect_uris": ["http://evil.example.org/"]},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"client_name": 7},
        {"client_name": "a" * 20_000},
    ],
)
def test_a_document_that_is_not_as_it_must_be_lets_nothing_in(program, site, change):
    site.document = site.document | change
    assert b"wants to use your memory" not in program.page().content
    assert not Program.objects.exists()


@pytest.mark.parametrize("rubbish", [b"", b"[]", b"{", b"null", b"\xff"])
def test_rubbish_lets_nothing_in(program, site, rubbish):
    site.document = rubbish
    assert b"wants to use your memory" not in program.page().content
    assert not Program.objects.exists()


def test_a_document_in_a_network_of_ones_own_is_not_read(program, site, settings, caplog):
    settings.OUTGOING_NETWORKS = []
    assert b"wants to use your memory" not in program.page().content
    assert "ONECLAW_OUTGOING_NETWORKS" in caplog.text
    assert site.reads == 0


def test_documents_are_read_for_signed_in_people_alone_and_a_few_in_a_minute(program, site, monkeypatch):
    assert SignIn(Client(), site.url).page().status_code == 302
    assert site.reads == 0
    site.status = 404
    for _ in range(documents.READ_MAX_COUNT + 3):
        program.page()
    assert site.reads == documents.READ_MAX_COUNT


def test_the_server_says_that_it_reads_documents(client):
    assert client.get("/.well-known/oauth-authorization-server").json()["client_id_metadata_document_supported"]


@pytest.mark.parametrize(
    "client_id",
    [
        *("http://example.org/client.json", "HTTPS://example.org/client.json", "https://example.org", "https://"),
        *("https://example.org/", "https://example.org/a/../client.json", "https://ada@example.org/client.json"),
        *("https://example.org/client.json?a=b", "https://example.org/client.json#a", "https://EXAMPLE.org/c.json"),
        *("https://example.org\\@evil.example.org/c", "https://exämple.org/c", "https://example.org/" + "a" * 100),
    ],
)
def test_only_one_form_of_an_address_is_that_of_a_document(client_id):
    assert documents.is_document("https://example.org/client.json")
    assert not documents.is_document(client_id)
