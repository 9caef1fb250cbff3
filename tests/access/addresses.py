"""The addresses of the resolver, the operations of the API's own description, and asking them as each person."""

import inspect
import io
import json
import re
import uuid
import zipfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver, resolve

from oneclaw.urls import api
from tests.access.cast import COMMON, Cast
from tests.programs import Program

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# Pages about the own sign-in, which take no id of anybody's rows; and the administration, which has its own test.
APART = ("admin", "account", "mfa", "sso", "saml", "socialaccount", "idp")
# Parameters that are ids under other names.
OTHER_IDS = {
    "unlink": {"link_id": "linked_id"},
    "message_edit": {"message_id": "question"},
    "skill": {"name": "folder"},
    "remove_group": {"group_id": "held_id"},
}
# Queries without which a page has nothing to show.
QUERIES = {
    "search": f"?q={COMMON}",
    "memory_search": f"?q={COMMON}",
    "memory_diary": f"?q={COMMON}",
    "memory_past": f"?q={COMMON}",
    "memory_lab": f"?q={COMMON}",
    "chosen_documents": f"?words={COMMON}",
    "older_sessions": "?after=2100-01-01T00:00:00.000000Z_00000000-0000-4000-8000-000000000000",
}
# What an operation needs before it looks for a row.
BODIES: dict[str, dict[str, object]] = {
    "change_round": {"summary": "x"},
    "change_member": {"role": "reader"},
    "share_session": {"space": 1},
    "answer_suggestion": {"answer": "accept"},
    "propose": {"text": "x"},
    "answer_proposal": {"answer": "accept"},
    "replace_document": {"text": "x", "base_version": 0},
    "append_to_document": {"text": "x"},
}
# What a form needs before that.
FORMS: dict[str, Callable[[], dict[str, object]]] = {
    "send": lambda: {"client_id": str(uuid.uuid4()), "text": "Hello"},
    "attach": lambda: {"file": SimpleUploadedFile("a.txt", b"Hello")},
    "read": lambda: {"seq": "1"},
}
SIGN_IN = "sign in"
# Statuses of who gets no further.
REFUSED = (401, 403, 404, 405, 409, 410, SIGN_IN)


@dataclass(frozen=True)
class Address:
    """One way into the product by HTTP; the table knows it by `name`."""

    name: str
    method: str
    route: str
    is_api: bool = False
    # Parameters of an operation's query, by name.
    query: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.method} {self.name}"

    @property
    def parameters(self) -> set[str]:
        """Return the names of the ids in the address."""
        return {*PARAMETER.findall(self.route), *({"space"} & set(self.query))}

    def url(self, ids: Mapping[str, object]) -> str:
        """Return the URL with these ids."""
        others = {name: ids[other] for name, other in OTHER_IDS.get(self.name, {}).items()}
        path = PARAMETER.sub(lambda found: str({**ids, **others}.get(found[1], "zz-nothing")), self.route)
        asked = {"space": ids["space"], "q": COMMON, "query": COMMON}
        query = "&".join(f"{name}={value}" for name, value in asked.items() if name in self.query)
        return f"/{path}{QUERIES.get(self.name, '') if not self.is_api else ''}{'?' if query else ''}{query}"


def pages() -> list[Address]:
    """Return the patterns of the resolver, each with both methods that a page may be asked by."""
    found = []
    for name, route in patterns(get_resolver()):
        name = name or route
        is_apart = name.startswith(tuple(f"{each}_" for each in APART)) or name.partition(":")[0] in APART
        if not route.startswith(("accounts/", "^", "api/v1/sessions")) and not is_apart and not name.startswith("api:"):
            found += [Address(name, method, route) for method in ("get", "post")]
    return list(dict.fromkeys(found))


def operations() -> list[Address]:
    """Return the operations of the API's own description."""
    paths = api.get_openapi_schema(path_prefix="/api/v1/")["paths"]
    return [
        Address(
            operation["operationId"],
            method,
            re.sub(r"{(\w+)}", r"<\1>", path).lstrip("/"),
            is_api=True,
            query=tuple(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"),
        )
        for path, methods in paths.items()
        for method, operation in methods.items()
    ]


def patterns(resolver: URLResolver, prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the route of each pattern."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            inner = f"{space}{each.namespace}:" if each.namespace else space
            yield from patterns(each, prefix + str(each.pattern), inner)
        else:
            yield f"{space}{each.name or ''}", prefix + str(each.pattern)


@dataclass(frozen=True)
class Answer:
    """What somebody is told: a status, or SIGN_IN, and all that they can read of it."""

    status: int | str
    text: str

    @property
    def is_refusal(self) -> bool:
        """Return whether they got no further."""
        return self.status in REFUSED


class Asking:
    """Asks as each of the people, by one browser or one program for each."""

    def __init__(self, cast: Cast) -> None:
        self.browsers, self.programs = {"outsider": Client()}, {"outsider": Client()}
        self.cast, self.staff = cast, cast.people["staff"]
        # The words that anybody was told.
        self.read: set[str] = set()
        for name, user in cast.people.items():
            self.browsers[name] = Client()
            self.browsers[name].force_login(user)
            self.programs[name] = Program(user).client

    def answer(self, role: str, address: Address, ids: Mapping[str, object]) -> Answer:
        """Return what `role` is told at `address` with these ids."""
        client = (self.programs if address.is_api else self.browsers)[role]
        body: dict[str, Any] = {"data": FORMS[address.name]()} if address.name in FORMS and not address.is_api else {}
        if address.is_api and address.method != "get":
            body = {"data": json.dumps(BODIES.get(address.name, {})), "content_type": "application/json"}
        response = getattr(client, address.method)(address.url(ids), **body)
        is_led_away = response.status_code == 302 and "/accounts/login/" in response["Location"]
        text = text_of(response)
        self.read |= self.cast.words_in(text)
        return Answer(SIGN_IN if is_led_away else response.status_code, text)

    def direct(self, address: Address, ids: Mapping[str, object]) -> int:
        """Return the status that the view itself gives to staff, without all that stands before a view."""
        path = address.url(ids).partition("?")[0]
        request = getattr(RequestFactory(), address.method)(path)
        request.user, request.auser = self.staff, sync_to_async(lambda: self.staff)
        view, arguments, named = resolve(path)
        answered = view(request, *arguments, **named)
        return int((async_to_sync(awaited)(answered) if inspect.isawaitable(answered) else answered).status_code)


async def awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def text_of(response: Any) -> str:
    """Return what stands in a response, also in a stream, and in the files of an archive."""
    if not response.streaming:
        told = response.content
    elif response.is_async:
        told = async_to_sync(whole)(response)
    else:
        told = b"".join(response.streaming_content)
    if told.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(told)) as archive:
            told = b"\n".join(name.encode() + b"\n" + archive.read(name) for name in archive.namelist())
    return told.decode(errors="replace")


async def whole(response: Any) -> bytes:
    return b"".join([part async for part in response.streaming_content])
