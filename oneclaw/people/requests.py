"""The type of requests of signed-in people, for annotations."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from oneclaw.models import User


class SignedInRequest(HttpRequest):
    """A request that has passed LoginRequiredMiddleware, with the attributes of django-htmx."""

    user: User
    auser: Callable[[], Awaitable[User]]
    htmx: HtmxDetails
