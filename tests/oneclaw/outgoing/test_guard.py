"""Nothing is sent to addresses that are not allowed, in whatever form they come, and nothing endless is read."""

import asyncio
import dataclasses
import functools
import socket
import ssl
import time
import tracemalloc

import httpx2
import pytest
import requests

from oneclaw.outgoing import certificates, guard
from oneclaw.outgoing.answers import EndlessAnswerError
from oneclaw.outgoing.client import client
from oneclaw.outgoing.guard import RefusedError
from oneclaw.outgoing.purposes import (
    AUDIT_COLLECTOR,
    EMBEDDINGS,
    ENTERED_MODEL_SERVER,
    MODEL_SERVER,
    PROGRAM_DOCUMENT,
    SAML_METADATA,
    SINGLE_SIGN_ON,
    Purpose,
    Reach,
)
from oneclaw.outgoing.sessions import session
from oneclaw.outgoing.streaming import AiohttpTransport
from tests.canary import ALLOWED_HOST, CANARY_HOST, Resolver, bomb, serving
from tests.certificates import made

# Of the strictest reach, with every port, so that only addresses are refused.
STRICT = Purpose(Reach.PUBLIC, seconds=2, answer_max_bytes=100_000, redirects_max_count=3)

# {port} is that of the canary on 127.0.0.1.
FORMS = [
    # The address in other spellings.
    *("http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://127.0.1:{port}/", "http://2130706433:{port}/"),
    *("http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/", "http://0177.0.0.1:{port}/"),
    *("http://017700000001:{port}/", "http://0177.0.0.0x1:{port}/", "http://127.000.000.001:{port}/"),
    *("http://127.0.0.1.:{port}/", "http://%31%32%37.0.0.1:{port}/", "http://0:{port}/", "http://0.0.0.0:{port}/"),
    *("http://127.255.255.254:{port}/", "http://00000177.1:{port}/", "http://0x7F.1:{port}/"),
    # Digits and dots of other alphabets.
    *("http://１２７.０.０.１:{port}/", "http://①②⑦.⓪.⓪.①:{port}/", "http://127。0。0。1:{port}/"),
    *("http://127．0．0．1:{port}/", "http://١٢٧.٠.٠.١:{port}/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/"),
    # IPv6 with the IPv4 address inside, and with zones.
    *("http://[::1]:{port}/", "http://[::]:{port}/", "http://[::ffff:127.0.0.1]:{port}/"),
    *("http://[::ffff:7f00:1]:{port}/", "http://[0:0:0:0:0:ffff:127.0.0.1]:{port}/", "http://[::127.0.0.1]:{port}/"),
    *("http://[64:ff9b::127.0.0.1]:{port}/", "http://[64:ff9b:1::7f00:1]:{port}/", "http://[2002:7f00:1::]:{port}/"),
    *("http://[::ffff:0:127.0.0.1]:{port}/", "http://[::1%25lo]:{port}/", "http://[fe80::1%25lo]:{port}/"),
    *("http://[fe80::1%lo]:{port}/", "http://[0000:0000:0000:0000:0000:0000:0000:0001]:{port}/"),
    # Names.
    *(
        "http://localhost:{port}/",
        "http://LOCALHOST:{port}/",
        "http://localhost.:{port}/",
        "http://a.localhost:{port}/",
    ),
    *("http://loops.example.org:{port}/", "http://LOOPS.example.org:{port}/", "http://loops.example.org.:{port}/"),
    *("http://mapped.example.org:{port}/", "http://nat64.example.org:{port}/", "http://both.example.org:{port}/"),
    *("http://metadata.example.org:{port}/", "http://cgnat.example.org:{port}/", "http://private.example.org:{port}/"),
    "http://löops.example.org:{port}/",
    # Names and passwords, and what looks like them.
    *("http://ada@127.0.0.1:{port}/", "http://ada:secret@127.0.0.1:{port}/", "http://example.org@127.0.0.1:{port}/"),
    *("http://example.org:80@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@example.org/"),
    *("http://example.org%40127.0.0.1:{port}/", "http://127.0.0.1:{port}#@example.org/", "http://@127.0.0.1:{port}/"),
    # Other protocols.
    *("gopher://127.0.0.1:{port}/_GET", "ftp://127.0.0.1:{port}/", "file:///etc/passwd", "file://127.0.0.1/etc"),
    *("dict://127.0.0.1:{port}/", "ldap://127.0.0.1:{port}/", "ws://127.0.0.1:{port}/", "data:text/plain,ok"),
    *("unix:///run/server.sock", "http+unix://%2Frun%2Fserver.sock/", "HTTP://127.0.0.1:{port}/", "tftp://127.0.0.1/"),
    # What is hardly a URL.
    *("//127.0.0.1:{port}/", "http:/127.0.0.1:{port}/", "http:///127.0.0.1:{port}/", "http:127.0.0.1:{port}"),
    *("http://127.0.0.1:{port}:80/", "http://[127.0.0.1]:{port}/", "http://", "", " http://127.0.0.1:{port}/"),
    *("http://127.0.0.1\t:{port}/", "http://127.0.0.1:{port}\r\nHost: example.org/", "http://127.0.0.1:99999/"),
]
NAMES = {
    "loops.example.org": ["127.0.0.1"],
    "loops.example.org.": ["127.0.0.1"],
    "xn--lops-5qa.example.org": ["127.0.0.1"],
    "mapped.example.org": ["::ffff:127.0.0.1"],
    "nat64.example.org": ["64:ff9b::7f00:1"],
    "both.example.org": ["::1", "127.0.0.1"],
    "metadata.example.org": ["169.254.169.254"],
    "cgnat.example.org": ["100.64.0.1"],
    "private.example.org": ["10.0.0.1", "192.168.0.1", "172.16.0.1"],
}


@pytest.fixture
def canary():
    with serving(CANARY_HOST) as server:
        yield server


@pytest.fixture
def allowed(settings):
    """A server to which requests may go; the canary is not in its network."""
    settings.OUTGOING_NETWORKS = [f"{ALLOWED_HOST}/32"]
    with serving(ALLOWED_HOST) as server:
        yield server


@pytest.fixture
def resolver(monkeypatch):
    resolver = Resolver()
    resolver.names = {name: [list(addresses)] for name, addresses in NAMES.items()}
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver


def by_client(url, purpose=STRICT):
    with client(purpose) as http:
        return http.get(url)


def by_session(url, purpose=STRICT):
    with session(purpose) as http:
        return http.get(url, timeout=purpose.seconds)


def by_stream(url, purpose=STRICT):
    return asyncio.run(streamed(url, purpose))


async def streamed(url, purpose):
    transport = AiohttpTransport(purpose, httpx2.Limits(max_connections=10, keepalive_expiry=5))
    most = purpose.redirects_max_count
    async with httpx2.AsyncClient(
        transport=transport, timeout=purpose.seconds, follow_redirects=most > 0, max_redirects=most
    ) as http:
        return await http.get(url)


ENDLESS = ["bomb", "large", "endless", "slow"]
WAYS = pytest.mark.parametrize("fetch", [by_client, by_session, by_stream])
FAILURES = (RefusedError, httpx2.HTTPError, httpx2.InvalidURL, requests.RequestException, ValueError)


def is_refusal(error):
    """Return whether the guard has refused, and not only the connection failed."""
    while error is not None:
        if isinstance(error, RefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


@WAYS
def test_no_form_of_an_address_reaches_the_canary(canary, resolver, fetch):
    assert len(FORMS) >= 60
    for form in FORMS:
        with pytest.raises(FAILURES):
            fetch(form.replace("{port}", str(canary.server_port)))
    assert canary.reached == 0


@WAYS
def test_a_network_that_the_setting_lists_is_reached_and_its_neighbours_are_not(canary, allowed, fetch):
    assert fetch(allowed.url).status_code == 200
    with pytest.raises(FAILURES) as failure:
        fetch(canary.url)
    assert is_refusal(failure.value)
    assert (canary.reached, allowed.reached) == (0, 1)


@WAYS
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_refused_by_the_addresses_that_it_has(resolver, fetch, name):
    with pytest.raises(FAILURES) as failure:
        fetch(f"http://{name}/")
    assert is_refusal(failure.value)


@WAYS
def test_a_name_whose_address_changes_after_the_check_does_not_lead_elsewhere(canary, allowed, resolver, fetch):
    resolver.names["rebinds.example.org"] = [[ALLOWED_HOST], [CANARY_HOST]]
    with pytest.raises(FAILURES):
        # Nothing listens there: only a second answer of the resolver would lead to the canary.
        fetch(f"http://rebinds.example.org:{canary.server_port}/")
    assert resolver.asked == ["rebinds.example.org"]
    resolver.names["rebinds.example.org"] = [[ALLOWED_HOST], [CANARY_HOST]]
    assert fetch(f"http://rebinds.example.org:{allowed.server_port}/").status_code == 200
    host = dict(allowed.received[-1][1])["Host"]
    assert (host, canary.reached) == (f"rebinds.example.org:{allowed.server_port}", 0)


@WAYS
def test_the_name_stays_in_the_certificate_and_in_sni(allowed, resolver, fetch, monkeypatch, tmp_path):
    files = made(tmp_path, "DNS:models.example.org")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*files)
    asked = []
    serving.sni_callback = lambda socket, name, context: asked.append(name)
    allowed.socket = serving.wrap_socket(allowed.socket, server_side=True)
    trusted = ssl.create_default_context(cafile=files[0])
    monkeypatch.setattr(certificates, "trusted", lambda: trusted)
    for name in ("models.example.org", "other.example.org"):
        resolver.names[name] = [[ALLOWED_HOST]]
    assert fetch(f"https://models.example.org:{allowed.server_port}/").status_code == 200
    with pytest.raises(FAILURES):
        fetch(f"https://other.example.org:{allowed.server_port}/")
    assert asked == ["models.example.org", "other.example.org"]
    assert len(allowed.received) == 1


@WAYS
def test_of_several_addresses_only_the_allowed_ones_are_connected_to(canary, allowed, resolver, fetch):
    resolver.names["mixed.example.org"] = [[CANARY_HOST, ALLOWED_HOST]]
    assert fetch(f"http://mixed.example.org:{allowed.server_port}/").status_code == 200
    with pytest.raises(FAILURES):
        fetch(f"http://mixed.example.org:{canary.server_port}/")
    assert canary.reached == 0


@WAYS
@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.1:{port}/", "http://0x7f.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/"),
        *("http://loops.example.org:{port}/", "ftp://127.0.0.1:{port}/", "file:///etc/passwd"),
        *("//127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/", "http://localhost:{port}/"),
        *("http://ada:secret@127.0.0.2:{allowed}/", "http://169.254.169.254/"),
    ],
)
def test_a_redirect_is_checked_as_the_first_address_is(canary, allowed, resolver, fetch, target):
    allowed.redirect = target.format(port=canary.server_port, allowed=allowed.server_port)
    with pytest.raises(FAILURES):
        fetch(f"{allowed.url}/moved")
    assert (canary.reached, len(allowed.received)) == (0, 1)


@WAYS
def test_three_redirects_are_followed_at_most(allowed, fetch):
    with pytest.raises(FAILURES):
        fetch(f"{allowed.url}/round")
    assert len(allowed.received) == 4


@WAYS
def test_a_purpose_without_redirects_gets_the_redirect_itself(canary, allowed, fetch):
    allowed.redirect = f"{canary.url}/"
    try:
        status = fetch(f"{allowed.url}/moved", dataclasses.replace(STRICT, redirects_max_count=0)).status_code
    except requests.TooManyRedirects:
        status = 302
    assert (status, canary.reached) == (302, 0)


@WAYS
@pytest.mark.parametrize("path", ["gzip", "deflate"])
def test_a_compressed_answer_is_read(allowed, fetch, path):
    assert fetch(f"{allowed.url}/{path}").text == "plain text"


@WAYS
@pytest.mark.parametrize("path", [*ENDLESS, "double", "brotli", "damaged", "header", "silent"])
def test_an_answer_that_is_too_large_or_too_slow_is_given_up(allowed, fetch, path):
    bomb()
    tracemalloc.start()
    began = time.monotonic()
    try:
        with pytest.raises((httpx2.HTTPError, requests.RequestException)):
            fetch(f"{allowed.url}/{path}", dataclasses.replace(STRICT, seconds=1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 4
    # The bomb has a hundred megabytes.
    assert peak < 20_000_000


@pytest.mark.parametrize("path", ENDLESS)
def test_what_is_endless_has_an_error_of_its_own(allowed, path):
    bomb()
    with pytest.raises(EndlessAnswerError):
        by_client(f"{allowed.url}/{path}", dataclasses.replace(STRICT, seconds=1))


def test_cookies_are_neither_kept_nor_sent(allowed):
    with client(STRICT) as http:
        assert "set-cookie" not in http.get(f"{allowed.url}/cookie", headers={"cookie": "a=b"}).headers
        http.get(allowed.url)
    with session(STRICT) as http:
        http.get(f"{allowed.url}/cookie", headers={"cookie": "a=b"})
        http.get(allowed.url)
    asyncio.run(streamed_twice(allowed.url))
    assert len(allowed.received) == 6
    assert all("cookie" not in {name.lower() for name in headers} for _path, headers in allowed.received)


async def streamed_twice(url):
    transport = AiohttpTransport(STRICT, httpx2.Limits(max_connections=10, keepalive_expiry=5))
    async with httpx2.AsyncClient(transport=transport) as http:
        await http.get(f"{url}/cookie", headers={"cookie": "a=b"})
        await http.get(url)


@WAYS
def test_ports_are_those_of_the_list_unless_the_network_is_listed(allowed, resolver, settings, fetch):
    strict = dataclasses.replace(ENTERED_MODEL_SERVER, seconds=1)
    assert fetch(allowed.url, strict).status_code == 200
    settings.OUTGOING_NETWORKS = []
    resolver.names["mail.example.org"] = [["93.184.216.34"]]
    with pytest.raises(FAILURES) as failure:
        fetch("http://mail.example.org:25/", strict)
    assert is_refusal(failure.value)


@WAYS
def test_a_purpose_that_needs_https_takes_http_of_this_machine_alone(canary, resolver, fetch):
    resolver.names["login.example.org"] = [["127.0.0.1"]]
    with pytest.raises(FAILURES) as failure:
        fetch(f"http://login.example.org:{canary.server_port}/", SINGLE_SIGN_ON)
    assert is_refusal(failure.value)
    assert canary.reached == 0
    assert fetch(canary.url, SINGLE_SIGN_ON).status_code == 200


@pytest.mark.parametrize("purpose", [MODEL_SERVER, EMBEDDINGS, AUDIT_COLLECTOR, SAML_METADATA, SINGLE_SIGN_ON])
def test_addresses_of_the_environment_may_be_private_and_never_link_local(purpose):
    secure = functools.partial(guard.check_address, port=443, purpose=purpose)
    secure("10.0.0.1")
    secure("127.0.0.1")
    for address in ("169.254.169.254", "fe80::1", "100.100.100.200", "224.0.0.1", "0.0.0.0"):
        with pytest.raises(RefusedError):
            secure(address)


@pytest.mark.parametrize("purpose", [ENTERED_MODEL_SERVER, PROGRAM_DOCUMENT])
def test_addresses_that_people_enter_may_not_be_private(purpose, settings):
    for address in ("10.0.0.1", "127.0.0.1", "100.64.0.1", "fd12::1"):
        with pytest.raises(RefusedError, match="guard") as failure:
            guard.check_address(address, 443, purpose, "models.example.org")
        assert "ONECLAW_OUTGOING_NETWORKS" in failure.value.reason.in_english
    settings.OUTGOING_NETWORKS = ["10.0.0.0/8"]
    guard.check_address("10.0.0.1", 443, purpose)


@WAYS
def test_a_proxy_of_the_environment_is_asked_and_not_for_names_of_the_own_network(canary, resolver, monkeypatch, fetch):
    resolver.names["far.example.org"] = [["93.184.216.34"]]
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, canary.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert fetch("http://far.example.org/").status_code == 200
    assert canary.received[0][0].startswith("http://far.example.org")
    for url in ("http://private.example.org/", "http://10.0.0.1/", "http://169.254.169.254/"):
        with pytest.raises(FAILURES):
            fetch(url)
    assert len(canary.received) == 1


@pytest.mark.parametrize("host", ["a" * 64 + ".example.org", "a..example.org"])
def test_a_name_that_the_name_system_cannot_have_is_refused(host):
    with pytest.raises(RefusedError):
        guard.resolved(host, 443, PROGRAM_DOCUMENT)
