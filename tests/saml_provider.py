"""An identity provider of SAML for tests, as a process of its own on a loopback port.

    with SamlProvider() as provider:
        provider.person("g1", email="ada@example.org", groups=["Research"])

It signs in whom `person` has named last. It asks them once, and again for ForceAuthn; `session(…)` says how long ago it
has asked. `fault(…)` makes its answers wrong, and a request that is not as in the standard is not answered. Its key is
made when it is first used. Its address is `localhost`, so that to a browser it is another site than 127.0.0.1.
"""

import base64
import datetime as dt
import html
import json
import subprocess
import sys
import time
import urllib.request
import uuid
import zlib
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

NAMESPACES = (
    'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" '
    'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
SAML = "urn:oasis:names:tc:SAML:2.0"
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
PERSISTENT = f"{SAML}:nameid-format:persistent"


class SamlProvider:
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

    def person(self, name_id: str, form: str = PERSISTENT, **attributes: Any) -> None:
        self.tell("person", {"name_id": name_id, "format": form, "attributes": attributes})

    def fault(self, **faults: Any) -> None:
        self.tell("faults", faults)

    def session(self, seconds_ago: float) -> None:
        """The person was asked so long ago, and is still signed in here."""
        self.tell("session", {"since": time.time() - seconds_ago})

    def tell(self, what: str, value: dict[str, Any]) -> None:
        body = json.dumps({what: value}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/tell", body), timeout=20).close()

    def ask(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=20) as response:
            return response.read().decode()

    def sign_out_url(self, address: str, name_id: str, index: str = "", **faults: Any) -> str:
        """The address by which the browser brings a request to sign out."""
        wanted = {"address": address, "name_id": name_id, "index": index, **faults}
        return self.ask(f"/request-to-sign-out?{quote(json.dumps(wanted))}")

    def configure(self, settings: Any) -> None:
        """Set what the environment would set, with the metadata of this provider."""
        app = {
            "provider_id": "saml",
            "name": "Example",
            "client_id": "saml",
            "settings": {"email_authentication": True, "verified_email": True},
        }
        provider_class = "oneclaw.people.sign_in.saml.provider.IdentityProvider"
        settings.SOCIALACCOUNT_PROVIDERS = {
            **settings.SOCIALACCOUNT_PROVIDERS,
            "saml": {"provider_class": provider_class, "APPS": [app]},
        }
        settings.SAML = replace(settings.SAML, metadata=f"{self.url}/metadata", name="Example")


class Keys(dict[str, tuple[str, str]]):
    """Private keys and their certificates by name, made when they are first used."""

    def __missing__(self, name: str) -> tuple[str, str]:
        return self.setdefault(name, new_key())


class Handler(BaseHTTPRequestHandler):
    told: dict[str, Any] = {"person": {}, "faults": {}, "session": {}}
    keys = Keys()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server.server_address[1]}"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/metadata":
            self.answer(self.metadata(), "application/samlmetadata+xml")
        elif asked.path == "/sso":
            self.answer(self.form(parse_qs(asked.query)["SAMLRequest"][0]), "text/html")
        elif asked.path == "/request-to-sign-out":
            self.answer(self.request_to_sign_out(**json.loads(unquote(asked.query))), "text/plain")
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        self.told.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("{}", "application/json")

    def metadata(self) -> str:
        certificate = "".join(self.keys["own"][1].split("\n")[1:-2])
        services = "".join(
            f'<md:{name} Binding="{SAML}:bindings:HTTP-Redirect" Location="{self.url}/{path}"/>'
            for name, path in (("SingleLogoutService", "signed-out"), ("SingleSignOnService", "sso"))
        )
        return (
            f'<md:EntityDescriptor xmlns:md="{SAML}:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" '
            f'entityID="{self.url}/metadata"><md:IDPSSODescriptor protocolSupportEnumeration="{SAML}:protocol">'
            f'<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}'
            f"</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>{services}"
            "</md:IDPSSODescriptor></md:EntityDescriptor>"
        )

    def form(self, request: str) -> str:
        """A page that posts the answer to `request` by itself, as those of identity providers do."""
        from lxml import etree

        asked = etree.fromstring(zlib.decompress(base64.b64decode(request), -15))
        assert (asked.tag, asked.get("Version")) == (f"{{{SAML}:protocol}}AuthnRequest", "2.0")
        assert asked.get("Destination") == f"{self.url}/sso"
        assert asked.get("ForceAuthn", "false") in {"true", "false"}
        self.ask_person(forced=asked.get("ForceAuthn") == "true")
        address = asked.get("AssertionConsumerServiceURL")
        issuer = asked.findtext(f"{{{SAML}:assertion}}Issuer")
        message = base64.b64encode(self.response(asked.get("ID"), address, issuer).encode()).decode()
        forced = f'<p data-forced="{asked.get("ForceAuthn", "false")}"></p>'
        return (
            f'<!doctype html><title>Example</title>{forced}<form method="post" action="{html.escape(address)}">'
            f'<input type="hidden" name="SAMLResponse" value="{message}"></form><script>document.forms[0].submit()'
            "</script>"
        )

    def ask_person(self, forced: bool) -> None:
        session = self.told["session"]
        if "since" not in session or (forced and not self.told["faults"].get("never_asks_again")):
            session["since"] = time.time()

    def response(self, request_id: str, address: str, audience: str) -> str:
        faults, person = self.told["faults"], self.told["person"]
        now = dt.datetime.now(dt.UTC)
        until = (now + dt.timedelta(seconds=faults.get("seconds", 300))).strftime("%Y-%m-%dT%H:%M:%SZ")
        since = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        asked_at = dt.datetime.fromtimestamp(self.told["session"]["since"], dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        asked_at = faults.get("asked_at", asked_at)
        request_id = faults.get("in_response_to", request_id)
        replies = f' InResponseTo="{request_id}"' if request_id else ""
        confirmed = f' Recipient="{faults.get("recipient", address)}" NotOnOrAfter="{until}"{replies}'
        attributes = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{escape(str(each))}</saml:AttributeValue>" for each in listed(values))
            + "</saml:Attribute>"
            for name, values in person["attributes"].items()
        )
        attributes = attributes and f"<saml:AttributeStatement>{attributes}</saml:AttributeStatement>"
        audience = faults.get("audience", audience)
        restriction = (
            f"<saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction>"
            if audience
            else ""
        )
        issuer = faults.get("issuer", f"{self.url}/metadata")
        assertion = (
            f'<saml:Assertion {NAMESPACES} ID="_{uuid.uuid4().hex}" Version="2.0" IssueInstant="{since}">'
            f"<saml:Issuer>{issuer}</saml:Issuer><saml:Subject>"
            f'<saml:NameID Format="{person["format"]}">{escape(person["name_id"])}</saml:NameID>'
            f'<saml:SubjectConfirmation Method="{SAML}:cm:bearer">'
            f"<saml:SubjectConfirmationData{faults.get('confirmed', confirmed)}/></saml:SubjectConfirmation>"
            f'</saml:Subject><saml:Conditions NotOnOrAfter="{until}">{restriction}</saml:Conditions>'
            f'<saml:AuthnStatement AuthnInstant="{asked_at}" SessionIndex="{faults.get("index", "_session")}">'
            "<saml:AuthnContext>"
            f"<saml:AuthnContextClassRef>{SAML}:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>"
            f"</saml:AuthnStatement>{attributes}</saml:Assertion>"
        )
        signed = assertion if faults.get("unsigned") else self.signed(assertion, faults.get("key", "own"))
        for old, new in faults.get("tampered", {}).items():
            signed = signed.replace(old, new)
        if old := faults.get("wrapped"):
            # The signed assertion goes where nobody reads it, and a changed one comes first.
            evil = assertion.replace(old, "eve@example.org").replace('ID="_', 'ID="_evil')
            signed = f"{evil}<samlp:Extensions>{signed}</samlp:Extensions>"
        status = faults.get("status", "Success")
        return (
            f'<samlp:Response {NAMESPACES} ID="_{uuid.uuid4().hex}" Version="2.0" IssueInstant="{since}"'
            f' Destination="{faults.get("destination", address)}"{replies}><saml:Issuer>{issuer}</saml:Issuer>'
            f'<samlp:Status><samlp:StatusCode Value="{SAML}:status:{status}"/></samlp:Status>{signed}</samlp:Response>'
        )

    def signed(self, xml: str, key: str) -> str:
        from onelogin.saml2.utils import OneLogin_Saml2_Utils

        return OneLogin_Saml2_Utils.add_sign(xml, *self.keys[key]).decode()

    def request_to_sign_out(self, address: str, name_id: str, index: str, key: str = "own") -> str:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding

        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        session = f"<samlp:SessionIndex>{index}</samlp:SessionIndex>" if index else ""
        xml = (
            f'<samlp:LogoutRequest {NAMESPACES} ID="_{uuid.uuid4().hex}" Version="2.0" IssueInstant="{now}" '
            f'Destination="{address}"><saml:Issuer>{self.url}/metadata</saml:Issuer>'
            f'<saml:NameID Format="{PERSISTENT}">{name_id}</saml:NameID>{session}</samlp:LogoutRequest>'
        )
        packed = base64.b64encode(zlib.compress(xml.encode(), wbits=-15))
        query = f"SAMLRequest={quote(packed, safe='')}"
        if not key:
            return f"{address}?{query}"
        query += f"&SigAlg={quote(RSA_SHA256, safe='')}"
        private = serialization.load_pem_private_key(self.keys[key][0].encode(), None)
        signature = private.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{address}?{query}&Signature={quote(base64.b64encode(signature), safe='')}"

    def answer(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def new_key() -> tuple[str, str]:
    """A private key and its certificate, in PEM form."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Example")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    as_text = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return as_text.decode(), certificate.public_bytes(pem).decode()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://localhost:{server.server_address[1]}", flush=True)
    server.serve_forever()
