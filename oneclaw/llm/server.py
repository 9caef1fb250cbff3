"""The address of the server that answers, and the key for it."""

import contextlib
import hashlib

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.failures import KeyUnreadableError, NoKeyError
from oneclaw.models import ModelFacts

# The model that the demo model says it is, whichever was asked for; people read "Demo".
DEMO_MODEL = "oneclaw-demo"
OFFICIAL_ADDRESS = "https://api.anthropic.com"


def credentials(upstream: Upstream | None = None) -> tuple[str, str]:
    """Return (key, base URL) from the settings: by itself the SDK would read the environment and the disk.

    They are those of `upstream`; None: of the first server. Raise NoKeyError when there is neither a key nor a server
    that needs none, and KeyUnreadableError when the stored key cannot be read.
    """
    if upstream is None:
        return settings.ANTHROPIC_API_KEY or "none", address_of()
    if upstream.lacks_key:
        raise KeyUnreadableError
    return upstream.key or "none", upstream.url


def address_of(upstream: Upstream | None = None) -> str:
    """Return the base URL of `upstream`; None: of the first server. Raise NoKeyError when there is none."""
    if upstream:
        return upstream.url
    if settings.ANTHROPIC_API_KEY or settings.ANTHROPIC_BASE_URL:
        return settings.ANTHROPIC_BASE_URL or OFFICIAL_ADDRESS
    address = settings.DEMO_URL or _demo_of_running_server()
    if not address:
        raise NoKeyError
    return address


def server_hash(upstream: Upstream | None = None) -> str:
    """Return the hash that identifies the server in rows. Raise NoKeyError."""
    return hashlib.sha256(address_of(upstream).encode()).hexdigest()[: ModelFacts.SERVER_CHARS]


def is_official() -> bool:
    """Return whether the provider's own server answers, and no compatible one."""
    return not settings.ANTHROPIC_BASE_URL and bool(settings.ANTHROPIC_API_KEY)


def is_demo() -> bool:
    """Return whether the rule-based demo model answers, because there is neither a key nor a base URL."""
    return bool(settings.DEMO_URL and not settings.ANTHROPIC_API_KEY and not settings.ANTHROPIC_BASE_URL)


def _demo_of_running_server() -> str:
    """Return the address of the demo model that `manage.py serve` has started, for commands; "" when there is none."""
    with contextlib.suppress(OSError):
        return settings.DEMO_ADDRESS_FILE.read_text().strip()
    return ""
