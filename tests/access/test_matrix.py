"""Each address of the product and each kind of person: who may, and who gets the same as for what is not there.

The addresses are those of Django's resolver, so that a new one fails here until
tests/access/table.py says for whom it is.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLResolver, get_resolver

from oneclaw.models import AuditEvent
from oneclaw.urls import api
from tests.access import table
from tests.access.cast import PEOPLE, Cast, gone_ids, make_cast
from tests.programs import Program

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# What differs between two answers about nothing: ids, tokens of forms, and times.
VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|csrf\w*\" value=\"\w+|X-CSRFToken\": \"\w+|\d{6,}|nonce-?=?\"?[\w=+/-]+"
)
REFUSED = (401, 403, 404, 405, 409, 410, "sign in")
ROLES = (*PEOPLE, "outsider")
# What asking itself writes.
UNCOUNTED = ("Presence", "ApiKey", "SignInAttempt", "SessionMember")


@dataclass(frozen=True)
class Address:
    """One way into the product: `name` and `method` are what the table calls it."""

    name: str
    method: str
    route: str
    is_api: bool = False

    @property
    def parameters(self) -> list[str]:
        return PARAMETER.findall(self.route)

    def url(self, ids):
        """Return the URL with these ids."""
        meant = {
            **ids,
            **{name: ids[other] for name, other in table.OTHER_IDS.get(self.name, {}).items() if other in ids},
        }
        return "/" + PARAMETER.sub(lambda found: str(meant.get(found[1], "zz-nothing")), self.route)


def pages() -> list[Address]:
    """Return the patterns of the resolver, each with both methods that a page may be asked by."""
    found = []
    for name, route in patterns(get_resolver()):
        name = name or route
        is_apart = name.startswith(tuple(f"{each}_" for each in table.APART)) or name.partition(":")[0] in table.APART
        if not route.startswith(("accounts/", "^", "api/v1/sessions")) and not is_apart and not name.startswith("api:"):
            found += [Address(name, method, route) for method in ("get", "post")]
    return list(dict.fromkeys(found))


def operations() -> list[Address]:
    """Return the operations of the API's own description."""
    paths = api.get_openapi_schema(path_prefix="/api/v1/")["paths"]
    return [
        Address(operation["operationId"], method, re.sub(r"{(\w+)}", r"<\1>", path).lstrip("/"), is_api=True)
        for path, methods in paths.items()
        for method, operation in methods.items()
    ]


def patterns(resolver: URLResolver, prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            inner = f"{space}{each.namespace}:" if each.namespace else space
            yield from patterns(each, prefix + str(each.pattern), inner)
        else:
            yield f"{space}{each.name or ''}", prefix + str(each.pattern)


class Asking:
    """Asks as each of the people, by a browser or by a program."""

    def __init__(self, cast: Cast) -> None:
        self.cast, self.browsers, self.programs = cast, {"outsider": Client()}, {"outsider": Client()}
        for name, user in cast.people.items():
            self.browsers[name] = Client()
            self.browsers[name].force_login(user)
            self.programs[name] = Program(user).client

    def status(self, role, address, ids):
        return self.answer(role, address, ids)[0]

    def answer(self, role, address, ids):
        """Return (status, text) of what `role` is told; the status of who is led to sign in is "sign in"."""
        client = (self.programs if address.is_api else self.browsers)[role]
        body = (
            {"data": json.dumps(table.BODIES.get(address.name, {})), "content_type": "application/json"}
            if address.is_api and address.method != "get"
            else {}
        )
        response = getattr(client, address.method)(address.url(ids) + table.QUERIES.get(address.name, ""), **body)
        told = b"" if response.streaming else response.content
        status = response.status_code
        if status == 302 and "/accounts/login/" in response["Location"]:
            status = "sign in"
        return status, told.decode(errors="replace")


def without_ids(text: str) -> str:
    return VARYING.sub("", text)


@pytest.fixture
def cast(transactional_db, scripted):
    return make_cast()


@pytest.mark.parametrize("kind", ["get", "post", "api"])
def test_every_address_is_for_those_whom_the_table_names(cast, kind):
    asking, wrong = Asking(cast), []
    rules = table.by_name({"get": table.GET, "post": table.POST, "api": table.API}[kind])
    found = operations() if kind == "api" else [each for each in pages() if each.method == kind]
    before, events = fingerprint(), AuditEvent.objects.count()
    for address in found:
        if address.name in rules:
            wrong += list(unlike(asking, address, rules[address.name]))
        elif (status := asking.status("owner", address, cast.private | cast.shared)) != 405:
            # Each page has one method at least; the other one must not be there.
            wrong.append(f"{address.method} {address.name}: not in the table ({status})")
    assert not wrong, "\n".join(wrong)
    assert set(rules) <= {each.name for each in found}
    if kind == "api":
        # Whoever may not has changed nothing; everybody may make a space. Pages make more rows for those who may.
        # Exports are recorded, of those alone who may.
        after, made = fingerprint(), {"Space", "SpaceMember", "AuditEvent", "AuditLink"}
        assert {name for name in after if after[name] != before[name]} <= made
        who = {cast.people[name].pk for name in table.SEES}
        recorded = set(AuditEvent.objects.order_by("pk").values_list("kind", "actor")[events:])
        assert recorded == {("export", each) for each in who}


def unlike(asking, address, rule):
    """Yield how the answers at `address` differ from `rule`."""
    cast = asking.cast
    private, shared = cast.shared | cast.private, cast.private | cast.shared
    gone = gone_ids(shared)
    may = table.PERSONS if rule == table.ALIKE else rule
    is_of_one = not set(address.parameters) & set(cast.shared)
    for role in ["stranger"] if "stranger" not in may or rule == table.ALIKE else []:
        told, none = asking.answer(role, address, shared), asking.answer(role, address, gone)
        if (
            address.parameters
            and address.name not in ("attach", "revision_list", "document")
            and (told[0], without_ids(told[1])) != (none[0], without_ids(none[1]))
        ):
            yield f"{address.method} {address.name}: {role} learns that it is there ({told[0]}, not {none[0]})"
    if (
        address.parameters
        and set(address.parameters) & set(cast.private)
        and not is_of_one
        and rule not in (table.PERSONS, table.EVERYBODY, table.STAFF, table.ALIKE)
    ):
        for role in ("owner", "stranger"):
            status, text = asking.answer(role, address, private)
            if status not in REFUSED or beyond(cast, address, text, role):
                yield f"{address.method} {address.name}: {role} gets at what is private ({status})"
    # At a page without a row there are no roles to tell apart.
    for role in ROLES if address.parameters else ("owner", "former", "stranger", "staff", "outsider"):
        if address.method != "get" and role in may:
            continue
        status, text = asking.answer(role, address, shared)
        if words := beyond(cast, address, text, role):
            yield f"{address.method} {address.name}: {role} reads {words}"
        if (status not in REFUSED) != (role in may):
            yield f"{address.method} {address.name}: {role} gets {status}"


def beyond(cast, address, text, role):
    return cast.beyond(text, role) - table.MORE_WORDS.get(address.name, set())


def fingerprint():
    """Return what those who may not could have changed: how many rows there are, and what stands in them."""
    models = [
        each
        for each in apps.get_models()
        if each._meta.app_label in ("chat", "memory", "oneclaw") and each._meta.managed
    ]
    return {each.__name__: each.objects.count() for each in models if each.__name__ not in UNCOUNTED}


def test_the_administration_is_for_staff_alone(cast):
    asking, wrong = Asking(cast), []
    for name, route in patterns(get_resolver()):
        if name.startswith("admin:") and name not in ("admin:login", "admin:logout", "admin:jsi18n"):
            address = Address(name, "get", route.replace("(?P<url>.*)$", "x"))
            wrong += [
                f"{role}: {name}"
                for role in ("owner", "outsider")
                if asking.status(role, address, {}) not in (*REFUSED, 302)
            ]
    assert wrong == []
