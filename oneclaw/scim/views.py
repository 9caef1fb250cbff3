"""The service of SCIM 2.0: its messages, and one view for each address. `urls.py` checks the token.

scim2-models parses and checks messages, filters and patches; people.py and groups.py have what they change.
"""

import json
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import scim2_models as scim
from django.db import DataError, transaction
from django.http import HttpRequest, HttpResponse
from pydantic import ValidationError
from scim2_models.path.expressions import Comparison

from oneclaw.scim import groups, people

LIST_MAX_ROWS = 200
# Generic in the resource, which the address names: types for mypy cannot be chosen while running.
FILTER: Any = scim.ScimFilter
LIST: Any = scim.ListResponse
PATCH: Any = scim.PatchOp
Context = scim.Context
# For each address its resource, its module, and its rows.
KINDS: dict[str, tuple[Any, ModuleType, Callable[[], Any]]] = {
    "Users": (scim.User, people, people.people),
    "Groups": (scim.Group, groups, groups.groups),
}
PROVIDER = scim.ScimProvider(
    models=[scim.User, scim.Group],
    config=scim.ServiceProviderConfig(
        patch=scim.Patch(supported=True),
        bulk=scim.Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=scim.Filter(supported=True, max_results=LIST_MAX_ROWS),
        change_password=scim.ChangePassword(supported=False),
        sort=scim.Sort(supported=False),
        etag=scim.ETag(supported=False),
        authentication_schemes=[
            scim.AuthenticationScheme(
                type=scim.AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="The token of ONECLAW_SCIM_TOKEN",
            )
        ],
    ),
)

View = Callable[..., HttpResponse]


def service(view: View) -> View:
    """Return `view` as one that says refusals as SCIM does."""

    @wraps(view)
    def called(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except scim.SCIMException as refused:
            return answer(refused.to_error(), refused.status)
        except ValidationError as invalid:
            return refusal(invalid)
        except DataError:
            # Too long for its column, or a NUL in it. The transaction is rolled back by then.
            detail = "A value is too long, or has a character that cannot be stored."
            return answer(scim.InvalidValueException(detail=detail).to_error(), 400)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            # RecursionError: it is nested too deep.
            return answer(scim.InvalidSyntaxException().to_error(), 400)

    return called


def answer(message: Any, status: int = 200, context: Context = Context.RESOURCE_QUERY_RESPONSE) -> HttpResponse:
    """Return `message` as a response."""
    body = json.dumps(message.model_dump(scim_ctx=context))
    return HttpResponse(body, content_type="application/scim+json", status=status)


def refusal(invalid: ValidationError) -> HttpResponse:
    """Return the first mistake of a message as a response."""
    found = invalid.errors(include_url=False)[0]
    kind = found.get("ctx", {}).get("scim_type") or "invalidValue"
    return answer(scim.Error(status=400, scim_type=kind, detail=found["msg"]), 400)


@service
def resources(request: HttpRequest, kind: str) -> HttpResponse:
    """List the resources of a kind, or make one."""
    model, module, rows = KINDS[kind]
    if request.method == "POST":
        resource = model.model_validate(json.loads(request.body), scim_ctx=Context.RESOURCE_CREATION_REQUEST)
        made = module.resource_of(module.create(resource))
        response = answer(made, 201, Context.RESOURCE_CREATION_RESPONSE)
        response["Location"] = made.meta.location
        return response
    if request.method != "GET":
        return answer(scim.Error(status=405, detail="Use GET or POST."), 405)
    found = rows()
    if text := request.GET.get("filter"):
        condition = FILTER[model](text)
        every = [each for each in map(module.resource_of, narrowed(found, condition)) if condition.match(each)]
        total = len(every)
        start, count = page_of(request)
        page = every[start : start + count]
    else:
        total = found.count()
        start, count = page_of(request)
        page = [module.resource_of(row) for row in found[start : start + count]]
    if "members" in request.GET.get("excludedAttributes", ""):
        for each in page:
            each.members = None
    listed = LIST[model](total_results=total, start_index=start + 1, items_per_page=len(page), resources=page)
    return answer(listed)


def narrowed(rows: Any, condition: Any) -> Any:
    """Return the rows that `condition` can match: those with the userName for which directories look mostly."""
    asked = condition.ast
    is_name = isinstance(asked, Comparison) and str(asked.attr_path).lower() == "username" and asked.op == "eq"
    return rows.filter(email__iexact=asked.value) if is_name and isinstance(asked.value, str) else rows


def page_of(request: HttpRequest) -> tuple[int, int]:
    """Return the first index, from 0, and the number of resources that are asked for."""
    try:
        start, count = int(request.GET.get("startIndex", 1)), int(request.GET.get("count", LIST_MAX_ROWS))
    except ValueError:
        raise scim.InvalidValueException(detail="startIndex and count are whole numbers.") from None
    return max(start, 1) - 1, min(max(count, 0), LIST_MAX_ROWS)


@service
@transaction.atomic
def resource(request: HttpRequest, kind: str, row_id: int) -> HttpResponse:
    """Return, replace, patch or delete one resource."""
    model, module, rows = KINDS[kind]
    # Locked, so that of two patches at once neither is lost.
    found = rows().select_for_update() if request.method != "GET" else rows()
    row = found.filter(pk=row_id).first()
    if row is None:
        raise scim.NotFoundException
    if request.method == "DELETE":
        module.delete(row)
        return HttpResponse(status=204)
    if request.method == "PUT":
        wanted = model.model_validate(json.loads(request.body), scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST)
        module.store(row, wanted)
    elif request.method == "PATCH":
        patch = PATCH[model].model_validate(json.loads(request.body), scim_ctx=Context.RESOURCE_PATCH_REQUEST)
        wanted = module.resource_of(row)
        patch.patch(wanted)
        module.store(row, wanted)
    elif request.method != "GET":
        return answer(scim.Error(status=405, detail="Use GET, PUT, PATCH or DELETE."), 405)
    return answer(module.resource_of(row))


@service
def config(request: HttpRequest) -> HttpResponse:
    """Return what the service can do."""
    assert PROVIDER.config is not None
    return answer(PROVIDER.config)


@service
def schemas(request: HttpRequest) -> HttpResponse:
    """Return the schemas of people and groups."""
    return listed_all(scim.Schema, list(PROVIDER.schemas))


@service
def resource_types(request: HttpRequest) -> HttpResponse:
    """Return the two kinds of resources."""
    return listed_all(scim.ResourceType, list(PROVIDER.resource_types))


def listed_all(model: Any, found: list[Any]) -> HttpResponse:
    """Return `found` as one page."""
    return answer(LIST[model](total_results=len(found), start_index=1, items_per_page=len(found), resources=found))
