"""The HTTP API under /api/v1/: authentication by key, error responses, and GET /me. docs/api.md shows it in use.

Each app has its own operations in a package `api` with a `router`; oneclaw/urls.py adds them.
"""

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI, Router, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.operation import Operation
from ninja.renderers import JSONRenderer
from ninja.security import HttpBearer
from pydantic import ConfigDict, Field

from oneclaw.audit.holds import HeldError
from oneclaw.models import User
from oneclaw.people import keys
from oneclaw.people.preferences import activate
from oneclaw.people.programs.grants import Grant, ScopeError
from oneclaw.threads import in_database
from oneclaw.web import rate_limit
from oneclaw.web.pagination import BadCursorError

# Rows of a page of a list: by default, and at most.
PAGE_DEFAULT_ROWS, PAGE_MAX_ROWS = 50, 200
# After a refusal that names no time, such as of a message while too many others wait for an answer.
RETRY_AFTER_SECONDS = 5
NO_KEY = (
    "This needs a key that works. Create one under “API keys” on the settings page, and send it with each request "
    "as “Authorization: Bearer oc_…”."
)

LIMITED = "This key is for memory alone, or programs are limited here. It needs one that may do everything."


class ApiError(Exception):
    """A refusal of a request: an HTTP status, a code for programs, a sentence for people, and further JSON values.

    `retry_after` are the seconds after which the same request may succeed, if that is known.
    """

    def __init__(self, status: int, code: str, sentence: str, retry_after: float | None = None, **more: Any):
        super().__init__(sentence)
        self.status, self.code, self.sentence, self.more = status, code, sentence, more
        self.retry_after = retry_after


class Problem(Schema):
    """Why something was not done."""

    code: str = Field(description="For programs.", examples=["not_found"])
    text: str = Field(description="One sentence for people.", examples=["This conversation no longer exists."])


class RequestBody(Schema):
    """A request body. An unknown name is an error, so that typing mistakes are found."""

    model_config = ConfigDict(extra="forbid")


class KeyedRequest(HttpRequest):
    """A request with a valid key, whose owner is `auth`; `grant` is what the key may do."""

    auth: User
    grant: Grant


class Key(HttpBearer):
    """Authentication by a key in the Authorization header. Cookies are not accepted, which excludes CSRF.

    A key that may not do everything opens only operations with `for_grants`, which ask `request.grant` what it may.
    With `is_async`, for async operations, the key is looked up in a thread that returns its connection at once.
    """

    def __init__(self, *, is_async: bool = False, for_grants: bool = False) -> None:
        super().__init__()
        self.is_async, self.for_grants = is_async, for_grants

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        """Return the person whose key `token` is; None when it is not valid. Awaitable for async operations.

        Raise TooManyRequestsError when they have made too many requests, and ApiError when the key is for less.
        """
        if self.is_async:
            return self._person_of(request, token)
        return self._admitted(request, keys.grant_of(token))

    async def _person_of(self, request: HttpRequest, token: str) -> User | None:
        return self._admitted(request, await in_database(keys.grant_of, token))

    def _admitted(self, request: HttpRequest, grant: Grant | None) -> User | None:
        if grant is None:
            return admitted(None)
        if not grant.is_whole and not self.for_grants:
            raise ApiError(403, "scope_needed", LIMITED)
        cast(KeyedRequest, request).grant = grant
        return admitted(grant.user)


def admitted(user: User | None) -> User | None:
    """Return `user` after counting the request and activating their language and timezone for it."""
    activate(user)
    if user is not None:
        rate_limit.api_requests.take(user.pk)
    return user


class UnicodeJSONRenderer(JSONRenderer):
    """A JSON renderer that writes non-ASCII characters unescaped."""

    json_dumps_params: Mapping[str, Any] = {"ensure_ascii": False}


class Api(NinjaAPI):
    """The API, whose responses must not be stored by caches: each is about one person."""

    def create_response(self, request: HttpRequest, data: Any, **how: Any) -> HttpResponse:
        return uncached(super().create_response(request, data, **how))

    def create_temporal_response(self, request: HttpRequest) -> HttpResponse:
        return uncached(super().create_temporal_response(request))

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def uncached(response: HttpResponse) -> HttpResponse:
    """Return `response` with a header that forbids caches to store it."""
    response["Cache-Control"] = "private, no-store"
    return response


api = Api(
    title="OneClaw",
    version="1",
    description="Conversations and memory of the person whose key it is.",
    auth=Key(),
    renderer=UnicodeJSONRenderer(),
    docs_url=None,
    docs_decorator=cache_control(max_age=3600),
    urls_namespace="api",
)
router = Router(tags=["person"])


def responses(usual: Mapping[int, Any] | type, *refusals: int) -> dict[int, Any]:
    """Return the responses of an operation: `usual` (by status, or for 200); Problem for 401, 429 and `refusals`."""
    expected = dict(usual) if isinstance(usual, Mapping) else {200: usual}
    return expected | dict.fromkeys((401, 429, *refusals), Problem)


def problem_response(request: HttpRequest, status: int, code: str, text: str, **more: Any) -> HttpResponse:
    """Return an error response with `code`, `text` and the further JSON values `more`."""
    return api.create_response(request, {"code": code, "text": text} | more, status=status)


@api.exception_handler(ApiError)
def on_api_error(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    response = problem_response(request, refusal.status, refusal.code, refusal.sentence, **refusal.more)
    if refusal.status == 429:
        response["Retry-After"] = str(math.ceil(refusal.retry_after or RETRY_AFTER_SECONDS))
    return response


@api.exception_handler(ScopeError)
def on_scope_error(request: HttpRequest, error: ScopeError) -> HttpResponse:
    response = problem_response(request, 403, "scope_needed", f"This key has no scope {error.scope}.")
    response["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{error.scope}"'
    return response


@api.exception_handler(rate_limit.TooManyRequestsError)
def on_too_many_requests(request: HttpRequest, refusal: rate_limit.TooManyRequestsError) -> HttpResponse:
    response = problem_response(request, 429, "too_many_requests", refusal.sentence)
    response["Retry-After"] = str(refusal.retry_after)
    return response


@api.exception_handler(AuthenticationError)
def on_authentication_error(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    response = problem_response(request, 401, "no_key", NO_KEY)
    response["WWW-Authenticate"] = 'Bearer realm="OneClaw"'
    return response


@api.exception_handler(ValidationError)
def on_validation_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Return 422 with the first validation error and the name of its field."""
    first = error.errors[0]
    return problem_response(request, 422, "invalid", f"{first['loc'][-1]}: {first['msg']}.")


@api.exception_handler(HeldError)
def on_held(request: HttpRequest, refusal: HeldError) -> HttpResponse:
    return problem_response(request, 409, "held", refusal.sentence)


@api.exception_handler(BadCursorError)
def on_bad_cursor(request: HttpRequest, error: BadCursorError) -> HttpResponse:
    return problem_response(request, 422, "invalid", "cursor: Take it from “next” of the page before, as it is.")


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem_response(request, error.status_code, "invalid", "The body must be JSON.")


@api.exception_handler(RequestDataTooBig)
def on_large_body(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_response(request, 413, "too_large", "This request is too large.")


@login_not_required
@csrf_exempt
def no_such_address(request: HttpRequest, **captured: str) -> HttpResponse:
    """Return 404 for an address under /api/ that does not exist."""
    return problem_response(
        request, 404, "not_found", "The API has no such address. /api/v1/openapi.json lists all of them."
    )


class Person(Schema):
    """The person whose key it is."""

    email: str = Field(examples=["ada@example.org"])
    name: str = Field(examples=["Ada"])
    timezone: str = Field(examples=["Europe/Zurich"])
    today: dt.date = Field(description="Which day it is for this person.")


@router.get("/me", response=responses(Person), auth=Key(for_grants=True))
def me(request: KeyedRequest) -> Person:
    """Return who you are: the person whose key it is."""
    user = request.auth
    return Person(email=user.email, name=user.first_name, timezone=user.timezone, today=user.day())


api.add_router("", router)
