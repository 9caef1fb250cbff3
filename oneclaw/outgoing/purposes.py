"""The purposes of outgoing requests: for each one where they may go, and what they may take."""

from dataclasses import dataclass
from enum import Enum

MIB_BYTES = 2**20
WEB_PORTS = frozenset({80, 443, 8000, 8008, 8080, 8443})


class Reach(Enum):
    """The addresses that requests may go to without ONECLAW_OUTGOING_NETWORKS."""

    # Those of the internet. For addresses that people and admins enter, and those that other servers name.
    PUBLIC = "public"
    # Also those of an organisation's own networks and of this machine. For addresses in the environment.
    OWN = "own"


@dataclass(frozen=True)
class Purpose:
    """What requests of one kind may do."""

    reach: Reach
    # The ports, besides those of networks that the setting lists; None: all.
    ports: frozenset[int] | None = None
    # The time of a request with its answer; None: its caller limits it.
    seconds: float | None = None
    # Bytes of an answer after decompression.
    answer_max_bytes: int = 10 * MIB_BYTES
    redirects_max_count: int = 0
    # Whether only https is allowed, or http to this machine.
    needs_https: bool = False
    # Whether the address may hold a name and password.
    takes_credentials: bool = False
    # Whether the proxies of the environment (HTTPS_PROXY and others) are used.
    uses_proxies: bool = True


# Servers of ANTHROPIC_BASE_URL and ONECLAW_UPSTREAMS. oneclaw/llm/client.py limits how long an answer may be silent.
MODEL_SERVER = Purpose(Reach.OWN, answer_max_bytes=256 * MIB_BYTES, takes_credentials=True)
# Servers that an owner has entered on /team/models/.
ENTERED_MODEL_SERVER = Purpose(Reach.PUBLIC, WEB_PORTS, answer_max_bytes=256 * MIB_BYTES)
# The server of OPENAI_BASE_URL, and Gemini's; 256 vectors of 4,096 numbers as text.
EMBEDDINGS = Purpose(Reach.OWN, seconds=30, answer_max_bytes=32 * MIB_BYTES, takes_credentials=True)
# ONECLAW_AUDIT_WEBHOOK.
AUDIT_COLLECTOR = Purpose(Reach.OWN, seconds=10, answer_max_bytes=MIB_BYTES, takes_credentials=True, uses_proxies=False)
# ONECLAW_OIDC_ISSUER and the endpoints that it names.
SINGLE_SIGN_ON = Purpose(Reach.OWN, seconds=10, answer_max_bytes=4 * MIB_BYTES, redirects_max_count=3, needs_https=True)
# ONECLAW_SAML_METADATA. A federation's metadata has many megabytes.
SAML_METADATA = Purpose(Reach.OWN, seconds=10, answer_max_bytes=10_000_000, redirects_max_count=3, needs_https=True)
# OTEL_EXPORTER_OTLP_ENDPOINT.
TELEMETRY = Purpose(Reach.OWN, seconds=10, answer_max_bytes=MIB_BYTES, takes_credentials=True)
# The document that a program names as its client id when it signs in.
PROGRAM_DOCUMENT = Purpose(Reach.PUBLIC, frozenset({443}), seconds=5, answer_max_bytes=16 * 1024, needs_https=True)
