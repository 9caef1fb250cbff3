"""Find out who opens a WebSocket: the session of its cookie and the person who is signed in with it."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, parse_cookie

from oneclaw.people.sign_in.second_factor import lacks_factor
from oneclaw.threads import in_admission_thread


class SignInMiddleware:
    """An ASGI middleware that sets `session` and `user` of a WebSocket's scope, in one call in another thread.

    `user` is an AnonymousUser without a valid sign-in.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        session = session_of(scope)
        user = await in_admission_thread(user_of, session) if session.session_key else AnonymousUser()
        return await self.application({**scope, "session": session, "user": user}, receive, send)


def session_of(scope: dict[str, Any]) -> SessionBase:
    """Return the session that the cookie of `scope` names, without reading it; one without a key when there is none."""
    header = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"), "")
    key = parse_cookie(header).get(settings.SESSION_COOKIE_NAME)
    session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return session


def user_of(session: SessionBase) -> AbstractBaseUser | AnonymousUser:
    """Return the person who is signed in with `session`, and may be here. Sync."""
    request = HttpRequest()
    request.session = session
    user = get_user(request)
    # Pages lead such a person to where the factor is set up.
    return AnonymousUser() if lacks_factor(user) else user
