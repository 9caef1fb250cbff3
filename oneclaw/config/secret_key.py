"""Find or make the secret key that signs cookies and links."""

import contextlib
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

KEY_MIN_CHARS = 32


def secret_key(configured: str, home: Path) -> str:
    """Return `configured`, or else the key stored in the data folder `home`, which is made on first use.

    Raise ImproperlyConfigured when `configured` is too short or the folder cannot be written.
    """
    if configured:
        if len(configured) < KEY_MIN_CHARS:
            raise ImproperlyConfigured(
                f"ONECLAW_SECRET_KEY is shorter than {KEY_MIN_CHARS} characters: make it longer."
            )
        return configured
    stored = home / "secret_key"
    try:
        draft = home / f".secret_key.{secrets.token_hex(4)}"
        if not stored.exists():
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_urlsafe(64))
            with contextlib.suppress(FileExistsError):
                stored.hardlink_to(draft)  # when several processes start at once, the first one wins
            draft.unlink()
        return stored.read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {home} cannot be written ({error.strerror}): set ONECLAW_HOME to one that can."
        ) from error
