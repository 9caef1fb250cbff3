"""Signatures that only this server can make: what they say, and a code that proves it.

The key is constant, so that a conversation goes on after the server was started again.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

_KEY = b"the strict server of the Messages API"
CODE_BYTES = 16


def sign(claims: Mapping[str, Any]) -> str:
    """Return a signature of the claims."""
    said = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
    return base64.b64encode(_code(said) + said).decode()


def claims_of(signature: str) -> dict[str, Any] | None:
    """Return the claims of a signature; None when this server did not make it."""
    try:
        signed = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    code, said = signed[:CODE_BYTES], signed[CODE_BYTES:]
    if not hmac.compare_digest(code, _code(said)):
        return None
    claims: dict[str, Any] = json.loads(said)
    return claims


def short_hash(*texts: str | bytes) -> str:
    """Return a hash of the texts, in their order."""
    whole = hashlib.sha256()
    for text in texts:
        data = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        whole.update(len(data).to_bytes(8) + data)
    return whole.hexdigest()[:24]


def _code(said: bytes) -> bytes:
    return hmac.digest(_KEY, said, "sha256")[:CODE_BYTES]
