"""Values that Schemathesis makes from the API's own description, sent by two people: no operation fails, and none tells
one of what is the other's."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import pytest
import schemathesis

# Otherwise imported when it is first used, in the middle of other tests, whose garbage is collected meanwhile; CPython
# 3.11 then fails to parse it ("AST constructor recursion depth mismatch").
import schemathesis.specs.openapi.schemas
from asgiref.sync import async_to_sync
from django.http import HttpResponse, StreamingHttpResponse
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode

import oneclaw.urls  # noqa: F401 - adds the routers of all apps to the API
from oneclaw.web.api import api
from tests.programs import Program

# Cases of one operation and person; each is sent with its own ids and with those of rows that are there.
CASES_COUNT = 2
PATH_PREFIX = "/api/v1/"
BOUNDED = settings(
    max_examples=CASES_COUNT,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# Ends everything at once; its own tests have it. The others are asked in the order of the description.
LEFT_OUT = {"send"}


@pytest.mark.soak
@pytest.mark.parametrize("who", ["stranger", "author"])
def test_no_operation_fails_or_tells_of_another_person(cast, settings, who):
    settings.API_REQUESTS_PER_MINUTE = 0
    person = Program(cast.people[who])
    wrong: list[str] = []
    asked: set[str] = set()
    for label, operation in operations():
        asked.add(label)
        for case in cases_of(operation):
            for ids in ({}, cast.private_ids, cast.shared_ids):
                status, text = answer_of(person, case, ids)
                if status >= 500:
                    wrong.append(f"{label} answers {status}: {case.body!r}"[:300])
                if words := cast.beyond(text, who):
                    wrong.append(f"{label} tells {words}")
    assert not wrong, "\n".join(wrong)
    assert len(asked) > 50


def cases_of(operation: schemathesis.schemas.APIOperation) -> list[Case]:
    """Return some requests as the description of `operation` has them, the same each time."""
    found: list[Case] = []

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    def draw(case: Case) -> None:
        found.append(case)

    draw()
    return found


def operations() -> Iterator[tuple[str, schemathesis.schemas.APIOperation]]:
    """Yield the operations of the API, with their names."""
    described = json.loads(json.dumps(api.get_openapi_schema(path_prefix=PATH_PREFIX), default=str))
    for found in schemathesis.openapi.from_dict(described).get_all_operations():
        operation = found.ok()
        name = operation.definition.raw["operationId"]
        if name not in LEFT_OUT:
            yield name, operation


def answer_of(person: Program, case: Case, ids: Mapping[str, object]) -> tuple[int, str]:
    """Return status and text of the answer to `case`, with those of `ids` that its path has in place of its own."""
    drawn = case.path_parameters or {}
    path = case.path
    for name, value in drawn.items():
        path = path.replace(f"{{{name}}}", urlencode({"": ids.get(name, value)})[1:])
    query = urlencode(case.query or {}, doseq=True)
    has_body = isinstance(case.body, dict | list | str | int | float | bool)
    response = person.client.generic(
        case.method,
        f"{path}?{query}",
        json.dumps(case.body) if has_body else "",
        content_type="application/json",
    )
    return response.status_code, content_of(response).decode(errors="replace")


def content_of(response: HttpResponse | StreamingHttpResponse) -> bytes:
    """Return all bytes of an answer."""
    if not isinstance(response, StreamingHttpResponse):
        return response.content
    if not response.is_async:
        return b"".join(response.streaming_content)

    async def joined() -> bytes:
        return b"".join([chunk async for chunk in response])

    return async_to_sync(joined)()
