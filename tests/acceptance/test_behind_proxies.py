"""nginx and Caddy with the files of deploy/: pages, sockets, growing answers and large uploads get through them.

Only addresses, ports and certificates are replaced. .ci/run installs both programs.
"""

import contextlib
import json
import re
import shutil
import ssl
import subprocess
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.scripted import ScriptedModel, answer, text
from tests.stage import ROOT, House, Talk, can_connect, embedded_again, free_port, until

pytestmark = [pytest.mark.acceptance, pytest.mark.soak, pytest.mark.timeout(400)]
ADA = "ada@example.org"
WORDS = " ".join(f"word{number}" for number in range(400))
# Larger than what nginx takes by default, which is 1 MiB.
FILE_BYTES = 6 * 1024 * 1024
NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/oneclaw.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs in front of `house`, and its certificate."""

    name: str
    house: House
    port: int
    plain_port: int
    trust: ssl.SSLContext

    @property
    def origin(self) -> str:
        return f"https://localhost:{self.port}"

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(self.origin + path, headers=headers)
        with urllib.request.urlopen(request, timeout=30, context=self.trust) as response:
            return response.status, response.read().decode()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    key, chain = folder / "privkey.pem", folder / "fullchain.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    subprocess.run([*command, *names, "-keyout", key, "-out", chain], check=True, capture_output=True)
    return key, chain


@pytest.fixture(scope="module")
def ports() -> dict[str, tuple[int, int]]:
    return {name: (free_port(), free_port()) for name in ("nginx", "caddy")}


@pytest.fixture(scope="module")
def house(ports) -> Iterator[House]:
    with ScriptedModel(default=lambda body: answer(text(WORDS, pace=0.01))) as model:
        settings = {
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": model.url,
            "ONECLAW_ORIGINS": " ".join(f"https://localhost:{port}" for port, _ in ports.values()),
            "ONECLAW_TRUSTED_PROXIES": "127.0.0.1",
            "ONECLAW_EMBEDDINGS": "none",
        }
        with embedded_again(**settings) as found:
            found.wait_until_ready()
            yield found


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(request, house: House, ports, certificate) -> Iterator[Proxy]:
    name = request.param
    program = shutil.which(name)
    assert program, f"{name} is not installed: .ci/run installs it."
    port, plain_port = ports[name]
    folder = house.folder / name
    folder.mkdir()
    start = nginx_command if name == "nginx" else caddy_command
    command = [program, *start(folder, house, port, plain_port, certificate)]
    trust = ssl.create_default_context(cafile=str(certificate[1]))
    running = house.start(name, command, HOME=str(folder), XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    until(lambda: can_connect(port), 30, f"{name} listens")
    yield Proxy(name, house, port, plain_port, trust)
    running.stop()


def replaced(text: str, changes: dict[str, str]) -> str:
    """Return the file with each of these words replaced, all of which it must have."""
    for word, other in changes.items():
        assert word in text, word
        text = text.replace(word, other)
    return text


def nginx_command(folder: Path, house: House, port: int, plain_port: int, certificate: tuple[Path, Path]) -> list[str]:
    key, chain = certificate
    changes = {
        "server 127.0.0.1:8000": f"server {house.url.removeprefix('http://')}",
        "listen 80;": f"listen 127.0.0.1:{plain_port};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
        "chat.example.org": "localhost",
        "/etc/ssl/oneclaw/fullchain.pem": str(chain),
        "/etc/ssl/oneclaw/privkey.pem": str(key),
    }
    (folder / "oneclaw.conf").write_text(replaced((ROOT / "deploy" / "nginx" / "oneclaw.conf").read_text(), changes))
    whole = NGINX.format(folder=folder)
    # Workers of root would be another account, which cannot write into this folder.
    (folder / "nginx.conf").write_text(f"user root;\n{whole}" if folder.owner() == "root" else whole)
    return ["-c", str(folder / "nginx.conf"), "-p", str(folder)]


def caddy_command(folder: Path, house: House, port: int, plain_port: int, certificate: tuple[Path, Path]) -> list[str]:
    key, chain = certificate
    changes = {
        "chat.example.org {": f"https://localhost:{port} {{\n\tbind 127.0.0.1\n\ttls {chain} {key}",
        "reverse_proxy 127.0.0.1:8000": f"reverse_proxy {house.url.removeprefix('http://')}",
    }
    file = replaced((ROOT / "deploy" / "caddy" / "Caddyfile").read_text(), changes)
    own = f"{{\n\tadmin off\n\thttp_port {plain_port}\n\thttps_port {port}\n\tskip_install_trust\n}}\n"
    (folder / "Caddyfile").write_text(own + file)
    return ["run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@contextlib.contextmanager
def socket(proxy: Proxy, cookie: str) -> Iterator[Talk]:
    address = proxy.origin.replace("https", "wss", 1) + "/ws/"
    headers = {"Cookie": cookie}
    with connect(address, origin=proxy.origin, additional_headers=headers, ssl=proxy.trust) as connection:
        yield Talk(connection)


def test_a_page_and_its_style_come_by_https(proxy: Proxy):
    status, page = proxy.get("/accounts/login/")
    assert status == 200
    style = re.search(r'href="(/static/[^"]+\.css)"', page)
    assert style
    assert proxy.get(style[1])[0] == 200
    # The program knows that the page came by https, and from where.
    cookie = urllib.request.Request(f"{proxy.origin}/accounts/login/")
    with urllib.request.urlopen(cookie, timeout=30, context=proxy.trust) as response:
        assert "Secure" in response.headers["Set-Cookie"]


def test_an_answer_grows_while_it_is_written(proxy: Proxy):
    cookie, session = proxy.house.sign_in(ADA), str(uuid.uuid4())
    with socket(proxy, cookie) as talk:
        talk.say("open", session=session, last_seq=0)
        talk.hear("ready")
        talk.say("send", client_id=str(uuid.uuid4()), session=session, text="Tell me many words.")
        talk.hear("ack")
        times = []
        while (frame := talk.hear_any(30))["type"] != "done" or not frame.get("final"):
            if frame["type"] == "block":
                times.append(time.monotonic())
    # Kept back by the proxy, they would all come at the end.
    assert len(times) > 5
    assert times[-1] - times[0] > 1


def test_a_large_file_is_uploaded(proxy: Proxy):
    cookie, token, boundary = proxy.house.sign_in(ADA), "a" * 32, uuid.uuid4().hex
    content = b"The quince is ripe.\n" * (FILE_BYTES // 20)
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="quince.txt"\r\n\r\n'
    request = urllib.request.Request(
        f"{proxy.origin}/c/{uuid.uuid4()}/files",
        data=head.encode() + content + f"\r\n--{boundary}--\r\n".encode(),
        headers={
            "Cookie": f"{cookie}; csrftoken={token}",
            "X-CSRFToken": token,
            "Referer": f"{proxy.origin}/",
            "Content-Type": f"multipart/form-data; boundary={boundary}",
        },
    )
    with urllib.request.urlopen(request, timeout=60, context=proxy.trust) as response:
        kept = json.loads(response.read())
    assert (kept["name"], kept["size"]) == ("quince.txt", len(content))


def test_the_address_of_a_person_is_not_what_a_browser_says(proxy: Proxy):
    """Wrong passwords are counted at the address that the proxy saw."""
    name = f"{proxy.name}@example.org"
    token = "a" * 32
    for _ in range(2):
        request = urllib.request.Request(
            f"{proxy.origin}/accounts/login/",
            data=f"csrfmiddlewaretoken={token}&login={name}&password=wrong".encode(),
            headers={
                "Cookie": f"csrftoken={token}",
                "Referer": f"{proxy.origin}/",
                "X-Forwarded-For": "203.0.113.9",
            },
        )
        with urllib.request.urlopen(request, timeout=30, context=proxy.trust) as response:
            assert response.status == 200
    asked = "from oneclaw.models import SignInAttempt as A; print(*A.objects.values_list('address', flat=True))"
    assert set(proxy.house.manage("shell", "-v0", "-c", asked).split()) == {"127.0.0.1"}


def test_plain_http_leads_to_https(proxy: Proxy):
    request = urllib.request.Request(f"http://127.0.0.1:{proxy.plain_port}/memory/", headers={"Host": "localhost"})
    opener = urllib.request.build_opener(NoRedirect)
    with pytest.raises(urllib.request.HTTPError) as answered:
        opener.open(request, timeout=30)
    with answered.value as response:
        assert response.code in (301, 308)
        # nginx leads to the usual port, which is another one here.
        assert response.headers["Location"] in ("https://localhost/memory/", f"{proxy.origin}/memory/")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **words):
        return None
