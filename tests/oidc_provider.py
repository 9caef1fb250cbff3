"""A provider of OpenID Connect for tests, as a process of its own on a loopback port.

    with OidcProvider() as provider:
        provider.person(sub="1", email="ada@example.org", email_verified=True, groups=["Research"])

It signs in whom `person` has named last. It asks them once, and again when the request says so (`prompt=login`,
`max_age`); `session(…)` says how long ago it has asked. `auth_time` is in an ID token only when `max_age` was sent, as
the standard has it. `fault(…)` makes its answers wrong. Codes work once, with the right client secret, PKCE verifier
and address. A request that is not as in the standard is not answered.
"""

import base64
import hashlib
import json
import secrets
import subprocess
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT_ID, CLIENT_SECRET = "oneclaw", "a secret of tests"


class OidcProvider:
    def __enter__(self) -> Self:
        self.process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *failure: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def person(self, **claims: Any) -> None:
        self.tell("person", claims)

    def fault(self, **faults: Any) -> None:
        self.tell("faults", faults)

    def session(self, seconds_ago: float) -> None:
        """The person was asked so long ago, and is still signed in here."""
        self.tell("session", {"since": time.time() - seconds_ago})

    def tell(self, what: str, value: dict[str, Any]) -> None:
        body = json.dumps({what: value}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/tell", body), timeout=20).close()

    def settings(self) -> dict[str, Any]:
        """The value of SOCIALACCOUNT_PROVIDERS with this provider."""
        app = {
            "provider_id": "sso",
            "name": "Example",
            "client_id": CLIENT_ID,
            "secret": CLIENT_SECRET,
            "settings": {"server_url": self.url, "email_authentication": True, "verified_email": False},
        }
        provider_class = "oneclaw.people.sign_in.provider.Provider"
        return {"openid_connect": {"provider_class": provider_class, "OAUTH_PKCE_ENABLED": True, "APPS": [app]}}


class Handler(BaseHTTPRequestHandler):
    told: dict[str, dict[str, Any]] = {"person": {}, "faults": {}, "session": {}}
    codes: dict[str, dict[str, Any]] = {}
    tokens: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        if asked.path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            found = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in names.items()}
            issuer = self.told["faults"].get("discovery", self.url)
            self.answer({**found, "issuer": issuer, "jwks_uri": f"{self.url}/jwks"})
        elif asked.path == "/authorize":
            assert query["response_type"] == "code"
            assert query["code_challenge_method"] == "S256"
            assert query["client_id"] == CLIENT_ID
            assert "openid" in query["scope"].split()
            assert query["nonce"]
            assert query.get("prompt", "login") in {"login", "select_account"}
            code = secrets.token_urlsafe(8)
            self.codes[code] = {**query, "person": dict(self.told["person"]), "auth_time": self.asked(query)}
            self.send_response(302)
            self.send_header(
                "Location", f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            )
            self.end_headers()
        elif asked.path == "/userinfo":
            person = self.tokens[self.headers["Authorization"].removeprefix("Bearer ")]
            self.answer({**person, **self.told["faults"].get("userinfo", {})})
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/tell":
            self.told.update(json.loads(body))
            self.answer({})
            return
        form = {name: values[0] for name, values in parse_qs(body).items()}
        begun = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_right = (
            begun is not None
            and form["client_secret"] == CLIENT_SECRET
            and form["redirect_uri"] == begun["redirect_uri"]
            and begun["code_challenge"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        )
        if not is_right:
            self.answer({"error": "invalid_grant"}, 400)
            return
        token = secrets.token_urlsafe(8)
        self.tokens[token] = begun["person"]
        self.answer({"access_token": token, "token_type": "Bearer", "id_token": self.id_token(begun)})

    def id_token(self, begun: dict[str, Any]) -> str:
        import jwt

        now, faults = int(time.time()), self.told["faults"]
        claims = {"iss": self.url, "aud": CLIENT_ID, "nonce": begun["nonce"], "iat": now, "exp": now + 300}
        if "max_age" in begun or faults.get("always_says_when"):
            claims["auth_time"] = int(begun["auth_time"])
        found = {**claims, **begun["person"], **faults.get("id_token", {})}
        for name in faults.get("without", []):
            found.pop(name, None)
        return jwt.encode(found, "x" * 32)

    def asked(self, query: dict[str, str]) -> float:
        """When the person was asked for this answer: now, or before when the request is content with that."""
        now = time.time()
        since = self.told["session"].get("since")
        if since is None:
            return self.told["session"].setdefault("since", now)
        is_old = "max_age" in query and now - since > int(query["max_age"])
        if (is_old or query.get("prompt") == "login") and not self.told["faults"].get("never_asks_again"):
            since = self.told["session"]["since"] = now
        return since

    def answer(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
