"""A server that must not be reached, and one that the tests allow, each on a loopback address of its own."""

import contextlib
import functools
import gzip
import http.server
import socket
import threading
import time
import zlib
from collections.abc import Iterator

ALLOWED_HOST, CANARY_HOST = "127.0.0.2", "127.0.0.1"
BOMB_BYTES = 100_000_000


class Server(http.server.ThreadingHTTPServer):
    """Counts connections in `reached`, keeps the requests in `received`, and answers by the path."""

    def __init__(self, host: str) -> None:
        self.received: list[tuple[str, dict[str, str]]] = []
        self.reached = 0
        self.redirect = ""
        super().__init__((host, 0), Handler)
        self.url = f"http://{host}:{self.server_port}"

    def verify_request(self, request: object, client_address: object) -> bool:
        self.reached += 1
        return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.received.append((self.path, dict(self.headers)))
        with contextlib.suppress(OSError):
            getattr(self, "answer" + self.path.partition("?")[0].replace("/", "_"), self.answer_)()

    do_POST = do_GET

    def answer_(self) -> None:
        self.send(b"ok")

    def answer_moved(self) -> None:
        self.send(b"", 302, location=self.server.redirect)

    def answer_round(self) -> None:
        self.send(b"", 302, location="/round")

    def answer_cookie(self) -> None:
        self.send(b"ok", set_cookie="session=secret; Path=/")

    def answer_gzip(self) -> None:
        self.send(gzip.compress(b"plain text"), content_encoding="gzip")

    def answer_deflate(self) -> None:
        self.send(zlib.compress(b"plain text"), content_encoding="deflate")

    def answer_bomb(self) -> None:
        self.send(bomb(), content_encoding="gzip")

    def answer_double(self) -> None:
        self.send(gzip.compress(bomb()), content_encoding="gzip, gzip")

    def answer_brotli(self) -> None:
        self.send(b"\x1b\x00", content_encoding="br")

    def answer_damaged(self) -> None:
        self.send(b"no gzip", content_encoding="gzip")

    def answer_large(self) -> None:
        self.head(content_length=str(10**12))
        self.wfile.write(b"a")
        time.sleep(5)

    def answer_endless(self) -> None:
        self.head(connection="close")
        while True:
            self.wfile.write(b"a" * 65_536)

    def answer_slow(self) -> None:
        self.head(content_length="1000")
        for _ in range(100):
            self.wfile.write(b"a")
            time.sleep(0.05)

    def answer_header(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        for _ in range(100):
            self.wfile.write(b"a")
            time.sleep(0.05)

    def answer_silent(self) -> None:
        time.sleep(5)

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.head(status, content_length=str(len(body)), **headers)
        self.wfile.write(body)

    def head(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@functools.cache
def bomb() -> bytes:
    """Return 100 MB of zeros as 0.1 MB of gzip."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(BOMB_BYTES // 1_000_000)) + packer.flush()


@contextlib.contextmanager
def serving(host: str) -> Iterator[Server]:
    server = Server(host)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Resolver:
    """Replaces `socket.getaddrinfo`: `names` has the answers of each name, the last of which is repeated."""

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        self.real = socket.getaddrinfo

    def __call__(self, host, port, family=0, type=0, proto=0, flags=0):
        name = host.decode() if isinstance(host, bytes) else host
        if name not in self.names:
            return self.real(host, port, family, type, proto, flags)
        self.asked.append(name)
        answers = self.names[name]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (each, int(port or 0), 0, 0))
            if ":" in each
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, int(port or 0)))
            for each in addresses
        ]
