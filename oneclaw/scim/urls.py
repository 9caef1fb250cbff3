"""URLs of SCIM, and who may call it: the holder of the token."""

import hmac
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

KINDS = ("Users", "Groups")
UNAUTHORIZED = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"], "status": "401"}


def service(name: str) -> Callable[..., HttpResponse]:
    """Return the view `name` of views.py as one that needs the token.

    That module is loaded with the first call: its schemas take a second, which few installations need.
    """

    @csrf_exempt
    @login_not_required
    def called(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if not settings.SCIM_TOKEN:
            raise Http404
        sent = request.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(sent, f"Bearer {settings.SCIM_TOKEN}".encode()):
            return JsonResponse(UNAUTHORIZED, status=401, content_type="application/scim+json")
        from oneclaw.scim import views

        answered: HttpResponse = getattr(views, name)(request, **arguments)
        return answered

    return called


urlpatterns = [
    path("ServiceProviderConfig", service("config")),
    path("Schemas", service("schemas")),
    path("ResourceTypes", service("resource_types")),
    *(path(kind, service("resources"), {"kind": kind}) for kind in KINDS),
    *(path(f"{kind}/<int:row_id>", service("resource"), {"kind": kind}) for kind in KINDS),
]
