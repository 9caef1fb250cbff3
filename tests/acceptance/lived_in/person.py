"""A person at the page: a browser with cookies, forms and one socket, whose frames are those of docs/protocol.md."""

import contextlib
import datetime as dt
import html
import http.cookiejar
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zoneinfo
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.acceptance.lived_in.household import Household
from tests.stage import Talk

PASSWORD = "correct horse battery staple"
TOKEN = "a" * 32
REQUEST_SECONDS = 60
ANSWER_SECONDS = 60
# How long a message is sent again, on a new socket each time, and the pause between two of them.
RECONNECT_SECONDS, RECONNECT_PAUSE_SECONDS = 120, 0.5
SEQ = re.compile(r'data-seq="(\d+)"')


@dataclass(frozen=True)
class Page:
    """A page as it came, after its redirects."""

    status: int
    url: str
    text: str

    @property
    def path(self) -> str:
        """Return the path of its address."""
        return urllib.parse.urlsplit(self.url).path

    @property
    def words(self) -> str:
        """Return its text without tags."""
        without_code = re.sub(r"<(script|style)\b.*?</\1>", " ", self.text, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", without_code)).split())


class Person:
    """Somebody with an account, and their browser."""

    def __init__(self, household: Household, name: str, zone: str) -> None:
        self.household, self.name, self.zone = household, name, zone
        self.email = f"{name}@example.org"
        self.web = 0
        self._jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))
        self._socket = contextlib.ExitStack()
        self._talk: Talk | None = None
        # The newest message of each conversation that the browser has shown.
        self._seqs: dict[str, int] = {}

    # -- Pages and forms -------------------------------------------------------------------------

    def get(self, path: str) -> Page:
        """Open a page."""
        return self._fetch(urllib.request.Request(self._address(path)))

    def post(self, path: str, fields: dict[str, Any] | None = None, **more: Any) -> Page:
        """Send a form, as the page does. A list is a field that comes several times."""
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": self._token(), **(fields or {}), **more}, doseq=True)
        return self._fetch(urllib.request.Request(self._address(path), data=form.encode()))

    def upload(self, path: str, name: str, content: bytes) -> Page:
        """Send a file in the field `file`, with the token in the header as scripts do."""
        token, boundary = self._token(), uuid.uuid4().hex
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n'.encode(),
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'.encode(),
            b"Content-Type: application/octet-stream\r\n\r\n" + content + f"\r\n--{boundary}--\r\n".encode(),
        ]
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "X-CSRFToken": token}
        return self._fetch(urllib.request.Request(self._address(path), data=b"".join(parts), headers=headers))

    def accept(self, link: str) -> None:
        """Choose a password by a one-time link; the browser says its timezone."""
        path = urllib.parse.urlsplit(link.strip()).path
        fields = {"email": self.email, "name": self.name.title(), "password1": PASSWORD, "password2": PASSWORD}
        page = self.post(path, fields, timezone=self.zone)
        assert (page.status, page.path) == (200, "/"), (page.status, page.url, page.words[:300])
        self.live_in(self.zone)

    def sign_in(self) -> None:
        """Sign in by password, as after two weeks."""
        page = self.post("/accounts/login/", login=self.email, password=PASSWORD, remember="on")
        assert (page.status, page.path) == (200, "/"), (page.status, page.url, page.words[:300])

    def come_back(self) -> None:
        """Open the first page, and sign in where that is asked for."""
        page = self.get("/")
        if page.path.startswith("/accounts/login"):
            self.sign_in()
        else:
            assert page.status == 200, (page.status, page.words[:300])

    def live_in(self, zone: str) -> None:
        """Choose a timezone in the settings."""
        self.zone = zone
        page = self.post("/settings/", first_name=self.name.title(), timezone=zone, language="en", appearance="")
        assert page.status == 200, page.words[:300]

    def prove(self, page: Page) -> Page:
        """Give the password where a page asks for it again; return the page that follows."""
        if "reauthenticate" not in page.path:
            return page
        return self.post(urllib.parse.urlsplit(page.url)._replace(scheme="", netloc="").geturl(), password=PASSWORD)

    # -- The socket ------------------------------------------------------------------------------

    def say(self, session: str, text: str, **fields: Any) -> None:
        """Send a message and see its answer end; on a closed socket it is sent again with the same id."""
        client_id = str(uuid.uuid4())
        deadline = time.monotonic() + RECONNECT_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(WebSocketException, OSError):
                talk = self.look_at(session)
                talk.say("send", client_id=client_id, session=session, text=text, **fields)
                status, message = self._answered(talk, session, client_id)
                while status != "complete":
                    assert status == "interrupted", (self.name, status, text)
                    talk.say("retry", message=message)
                    status, message = self._ended(talk, session, 0)
                return
            self._forget_socket()
            self.web += 1
            time.sleep(RECONNECT_PAUSE_SECONDS)
        raise AssertionError(f"{self.name} cannot send “{text[:60]}”.")

    def look_at(self, session: str) -> Talk:
        """Have this conversation open: the socket leaves another one that it showed."""
        talk = self._connected()
        talk.say("open", session=session, last_seq=self._seqs.get(session, 0))
        ready = talk.hear("ready", ANSWER_SECONDS)
        if ready["reset"]:
            assert self.get(f"/c/{session}/messages").status == 200
            self._seqs[session] = ready["seq"]
            talk.say("open", session=session, last_seq=ready["seq"])
            talk.hear("ready", ANSWER_SECONDS)
        return talk

    def end(self, session: str) -> None:
        """End the conversation, as the button does."""
        talk = self.look_at(session)
        talk.say("send", client_id=str(uuid.uuid4()), session=session, text="/end")
        talk.hear("ended", ANSWER_SECONDS)

    def stay(self) -> None:
        """Say that the page is still there, as it does every 20 seconds."""
        if self._talk is not None:
            try:
                self._talk.say("ping")
                self._talk.hear("pong", ANSWER_SECONDS)
            except (WebSocketException, OSError):
                self._forget_socket()

    def leave(self) -> None:
        """Close the page."""
        if self._talk is not None:
            self._forget_socket()

    def _connected(self) -> Talk:
        if self._talk is None:
            url = self._url
            cookie = "; ".join(f"{each.name}={each.value}" for each in self._jar)
            address = url.replace("http", "ws", 1) + "/ws/"
            headers = {"Cookie": cookie}
            socket = connect(address, origin=url, additional_headers=headers, max_size=None)
            self._talk = Talk(self._socket.enter_context(socket))
        return self._talk

    def _forget_socket(self) -> None:
        self._talk = None
        self._socket.close()

    def _answered(self, talk: Talk, session: str, client_id: str) -> tuple[str, str]:
        """Return how the answer to the message ended, and the id of its last message."""
        while True:
            frame = self._next(talk)
            if frame["type"] == "ack" and frame["client_id"] == client_id:
                return self._ended(talk, session, int(frame["message"]))

    def _ended(self, talk: Talk, session: str, after: int) -> tuple[str, str]:
        seen = [frame for frame in talk.seen if frame["type"] == "done"]
        while True:
            for frame in seen:
                if frame["final"] and int(frame["message"]) > after:
                    self._shown(talk, session)
                    return frame["status"], frame["message"]
            seen = [frame for frame in [self._next(talk)] if frame["type"] == "done"]

    def _next(self, talk: Talk) -> dict[str, Any]:
        frame = talk.hear_any(ANSWER_SECONDS)
        assert frame["type"] != "error", (self.name, frame)
        return frame

    def _shown(self, talk: Talk, session: str) -> None:
        """Note how far the page shows the conversation, in which nothing runs."""
        found = [SEQ.search(frame["html"]) for frame in talk.seen if frame["type"] == "message"]
        self._seqs[session] = max([self._seqs.get(session, 0), *(int(seq[1]) for seq in found if seq)])
        talk.seen.clear()

    # -- Requests --------------------------------------------------------------------------------

    @property
    def _url(self) -> str:
        urls = self.household.house.urls
        return urls[self.web % len(urls)]

    def _address(self, path: str) -> str:
        return urllib.parse.urljoin(self._url, path)

    def _token(self) -> str:
        """Return the token of forms, which the server changes when somebody signs in."""
        if not any(each.name == "csrftoken" for each in self._jar):
            self._jar.set_cookie(_cookie("csrftoken", TOKEN))
        return next(each.value or "" for each in self._jar if each.name == "csrftoken")

    def _fetch(self, request: urllib.request.Request) -> Page:
        request.add_header("Accept-Language", "en")
        try:
            with self._opener.open(request, timeout=REQUEST_SECONDS) as response:
                return Page(response.status, response.url, response.read().decode(errors="replace"))
        except urllib.error.HTTPError as error:
            with error:
                return Page(error.code, error.url, error.read().decode(errors="replace"))

    def day(self, moment: dt.datetime) -> dt.date:
        """Return the person's own day at a moment."""
        return moment.astimezone(zoneinfo.ZoneInfo(self.zone)).date()


def _cookie(name: str, value: str) -> http.cookiejar.Cookie:
    return http.cookiejar.Cookie(
        0, name, value, None, False, "127.0.0.1", True, False, "/", True, False, None, False, None, None, {}
    )
