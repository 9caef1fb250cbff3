"""The request that a page of a signed-in person gets, for annotations."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from oneclaw.models import User


class SignedInRequest(HttpRequest):
    """What `login_required` lets through, with django-htmx's details."""

    user: User
    auser: Callable[[], Awaitable[User]]
    htmx: HtmxDetails
