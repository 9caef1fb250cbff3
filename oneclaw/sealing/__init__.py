"""Encrypt secrets of others, such as keys of model servers, before they are stored in a row.

    sealed = seal("sk-…", context="model server https://models.example.org")
    unseal(sealed, context="model server https://models.example.org")  # "sk-…"

AES-256-GCM under a key that HKDF derives from the secret key of the installation. `context` is authenticated: a sealed
text that was copied into a row with another context cannot be unsealed. Who has a backup of the database without the
secret key reads nothing.
"""

import base64
import binascii
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

# The form of what is stored; another one is not known to this release.
FORM = "1:"
KEY_BYTES = 32
NONCE_BYTES = 12
# What the derived key is for: no other use of the secret key gives the same one.
PURPOSE = b"oneclaw sealed secrets"


class UnsealableError(Exception):
    """The text was sealed with another secret key or context, or is damaged."""


def seal(text: str, *, context: str) -> str:
    """Return `text` encrypted for a row."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    encrypted = _cipher(settings.SECRET_KEY).encrypt(nonce, text.encode(), context.encode())
    return FORM + base64.urlsafe_b64encode(nonce + encrypted).decode()


def unseal(sealed: str, *, context: str) -> str:
    """Return the text of `sealed`. Raise UnsealableError unless it was sealed here with `context`.

    What was sealed with a secret key of SECRET_KEY_FALLBACKS is read, too.
    """
    try:
        data = base64.urlsafe_b64decode(sealed.removeprefix(FORM)) if sealed.startswith(FORM) else b""
    except (binascii.Error, ValueError):
        data = b""
    if len(data) <= NONCE_BYTES:
        raise UnsealableError
    for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return _cipher(secret_key).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], context.encode()).decode()
        except InvalidTag:
            continue
    raise UnsealableError


def _cipher(secret_key: str) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=PURPOSE).derive(secret_key.encode()))
