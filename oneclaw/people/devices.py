"""Where a person is signed in, and how to end it from elsewhere."""

import re
from dataclasses import dataclass

from allauth.usersessions.models import UserSession
from django.utils.translation import gettext as _

from oneclaw.models import User

# What user agents call themselves, the more particular first.
BROWSERS = [("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari")]
SYSTEMS = [
    ("iPhone|iPad", "iOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
]


@dataclass(frozen=True)
class Device:
    sign_in: UserSession
    # Such as “Firefox, Linux”.
    name: str
    # Whether it is the one that asks.
    is_here: bool


def of(user: User, session_key: str | None) -> list[Device]:
    """The person's sign-ins that still stand, this one first, then the newest."""
    found = UserSession.objects.purge_and_list(user)
    devices = [Device(each, name_of(each.user_agent), each.session_key == session_key) for each in found]
    return sorted(devices, key=lambda device: (not device.is_here, -device.sign_in.created_at.timestamp()))


def end(user: User, device_id: int) -> None:
    """End this sign-in of the person; one that has ended, or is somebody else's, is left alone."""
    sign_in = UserSession.objects.filter(user=user, pk=device_id).first()
    if sign_in is not None:
        sign_in.end()


def name_of(user_agent: str) -> str:
    """Browser and system in a person's words. Pure."""
    names = [
        next((name for pattern, name in known if re.search(pattern, user_agent)), "") for known in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, names)) or _("An unknown browser")
