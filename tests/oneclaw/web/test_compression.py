"""Pages are compressed for whoever can read that, and nothing else is."""

import gzip
import uuid

import pytest
from django.http import HttpResponse

from oneclaw.web import compression
from tests.conversations import send, settle

TAKEN = {"Accept-Encoding": "br, gzip;q=0.8"}


@pytest.fixture
def signed_in(client, ada):
    settle(send(ada, "Tea"), "Well.")
    client.force_login(ada)
    return client


def test_a_page_is_compressed_for_whoever_takes_it(signed_in):
    plain, packed = signed_in.get("/"), signed_in.get("/", headers=TAKEN)
    assert packed["Content-Encoding"] == "gzip"
    assert packed["Content-Length"] == str(len(packed.content))
    assert b"<h1" in gzip.decompress(packed.content)
    assert len(packed.content) < len(plain.content) / 2
    for page in (plain, packed):
        assert "Accept-Encoding" in page["Vary"]
    assert not plain.has_header("Content-Encoding")


@pytest.mark.parametrize(
    "path", ["/search?q=Tea", "/memory/search?q=Tea", "/manifest.webmanifest", "/healthz", "/conversations/export.zip"]
)
def test_nothing_else_is(signed_in, path, monkeypatch):
    monkeypatch.setattr(compression, "COMPRESSION_MIN_BYTES", 1)
    answer = signed_in.get(path, headers=TAKEN)
    assert answer.status_code == 200
    assert not answer.has_header("Content-Encoding")


def test_what_is_small_stays_as_it_is(signed_in):
    after = f"2020-01-01T00:00:00Z_{uuid.uuid4()}"
    answer = signed_in.get("/sessions/older", {"after": after}, headers=TAKEN)
    assert not answer.has_header("Content-Encoding")


def test_the_length_tells_nothing_exact(rf):
    def answer():
        return HttpResponse(b"<p>" * 1000)

    middleware = compression.PageCompressionMiddleware(lambda request: answer())
    lengths = {len(middleware(rf.get("/", headers=TAKEN)).content) for _ in range(50)}
    assert len(lengths) > 5
    assert max(lengths) < len(answer().content) / 2
