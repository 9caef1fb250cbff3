"""Revocation of sockets: hints, sent when a sign-in ends, that close the sockets which it opened."""

import hashlib
from importlib import import_module
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.signals import user_logged_out
from django.contrib.sessions.backends.base import SessionBase
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from oneclaw import pubsub
from oneclaw.models import User

# Changes of these columns of a person end sign-ins.
SIGN_IN_COLUMNS = {"password", "is_active"}


def fingerprint(session_key: str | None) -> str:
    """Return a hash that identifies a sign-in without revealing its `session_key`."""
    return hashlib.sha256((session_key or "").encode()).hexdigest()


def is_valid(user: User, session: SessionBase | None) -> bool:
    """Return whether the sign-in of `user` with `session` is still valid. Sync."""
    now = User.objects.filter(pk=user.pk, is_active=True).first()
    if now is None or session is None or session.session_key is None:
        return now is not None
    stored = import_module(settings.SESSION_ENGINE).SessionStore(session.session_key)
    return constant_time_compare(stored.get(HASH_SESSION_KEY, ""), now.get_session_auth_hash())


@receiver(user_logged_out)
def close_signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    """Close the sockets of the sign-in that ended; those of the person's other devices stay open."""
    if user is not None:
        pubsub.notify(f"user:{user.pk}", {"kind": "signed_out", "sign_in": fingerprint(request.session.session_key)})


@receiver(post_delete, sender=UserSession)
def close_ended_session(instance: UserSession, **_: Any) -> None:
    """Close the sockets of a sign-in that was ended from another device."""
    pubsub.notify(f"user:{instance.user_id}", {"kind": "signed_out", "sign_in": fingerprint(instance.session_key)})


@receiver(post_save, sender=User)
def reconnect_changed_user(instance: User, created: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    """Close every socket of the person; browsers whose sign-in is still valid reconnect."""
    if not created and (update_fields is None or SIGN_IN_COLUMNS & update_fields):
        pubsub.notify(f"user:{instance.pk}", {"kind": "come_again"})
