"""List the devices on which a person is signed in, and sign out on one of them."""

import re
from dataclasses import dataclass

from allauth.usersessions.models import UserSession
from django.db import transaction
from django.utils.translation import gettext as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people import keys, notices
from oneclaw.reasons import Reason

# Browsers by a word of their user agent, the more specific word first.
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
    """A sign-in of a person, with the name of its device."""

    sign_in: UserSession
    # Such as “Firefox, Linux”.
    name: str
    # Whether the current request comes from it.
    is_here: bool


def devices_of(user: User, session_key: str | None) -> list[Device]:
    """Return the devices of the valid sign-ins of `user`: that of `session_key` first, then the newest."""
    found = UserSession.objects.purge_and_list(user)
    devices = [Device(each, name_of(each.user_agent), each.session_key == session_key) for each in found]
    return sorted(devices, key=lambda device: (not device.is_here, -device.sign_in.created_at.timestamp()))


def end_sign_in(user: User, device_id: int) -> None:
    """End the sign-in `device_id` of `user`; do nothing when it has ended or belongs to another person."""
    sign_in = UserSession.objects.filter(user=user, pk=device_id).first()
    if sign_in is not None:
        sign_in.end()


@transaction.atomic
def end_all(actor: User, person: User) -> int:
    """End every sign-in of `person`, whose sockets close at once, and their API keys, for the admin `actor`; return how
    many sign-ins there were."""
    sign_ins = list(UserSession.objects.filter(user=person))
    for sign_in in sign_ins:
        sign_in.end()
    record(AuditKind.SIGNED_OUT, actor=actor, person=person, devices=len(sign_ins))
    if keys.end_all(person, actor):
        notices.tell(person, Reason("people.keys_ended"))
    return len(sign_ins)


def name_of(user_agent: str) -> str:
    """Return browser and system of `user_agent`, such as “Firefox, Linux”. Pure."""
    names = [
        next((name for pattern, name in patterns if re.search(pattern, user_agent)), "")
        for patterns in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, names)) or _("An unknown browser")
