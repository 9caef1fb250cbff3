"""The key that signs cookies and links."""

import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

# Characters.
SHORTEST = 32


def secret_key(given: str, home: Path) -> str:
    """ONECLAW_SECRET_KEY when it is given, or one made once and kept in the data folder, readable by its owner only."""
    if given:
        if len(given) < SHORTEST:
            raise ImproperlyConfigured(f"ONECLAW_SECRET_KEY is shorter than {SHORTEST} characters: make it longer.")
        return given
    kept = home / "secret_key"
    try:
        draft = home / f".secret_key.{secrets.token_hex(4)}"
        if not kept.exists():
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_urlsafe(64))
            try:
                kept.hardlink_to(draft)  # of several that start at once, the first one wins
            except FileExistsError:
                pass
            draft.unlink()
        return kept.read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {home} cannot be written ({error.strerror}): set ONECLAW_HOME to one that can."
        ) from error
