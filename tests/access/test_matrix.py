"""Each address of the product and each kind of person: who may, and who gets the same as for what is not there.

The addresses are those of the code, so that a new one fails here until tests/access/table.py says for whom it is.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from django.urls import get_resolver

from tests.access import table
from tests.access.addresses import REFUSED, Address, Asking, operations, pages, patterns
from tests.access.cast import Cast
from tests.access.fingerprint import BY_ASKING, BY_READING, fingerprint
from tests.access.roles import MAY, ROLES, rules_of

# What differs between two answers about nothing: ids, tokens of forms, and times.
VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|csrf\w*\" value=\"\w+|X-CSRFToken\": \"\w+|\d{6,}|nonce-?=?\"?[\w=+/-]+"
)
# What others than those of a rule read at an address: names for those who keep groups or read the audit log, and what
# the author has shared by a link.
MORE_WORDS = {
    "group": {"zqspace"},
    "team_keeping": {"zqspace"},
    "team_audit": {"zqspace"},
    "memory_forget": {"zqspace"},
    "memory_forgotten": {"zqspace"},
    "memory_receipt": {"zqspace"},
    "shared": {f"zqprivate{each}" for each in ("title", "firstasked", "firstanswer", "secondasked", "secondanswer")},
    "copy_shared": {"zqprivatetitle"},
}


# A request of a member who may not do this is answered by the conversation again, with a toast that says so.
SAID_BY_A_TOAST = {"message_show", "message_retry", "message_continue"}
# Where no row of the space is asked for, these people stand for the others; of a row, everybody is asked.
SOME = ("owner", "former", "staff", "outsider")


def test_every_page_is_for_those_whom_the_table_names(cast):
    rules, found = rules_of(table.PAGES), pages()
    assert rules.keys() == {each.name for each in found}
    assert_matrix(cast, [(each, rules[each.name][each.method == "post"]) for each in found])


def test_every_operation_of_the_api_is_for_those_whom_the_table_names(cast):
    rules, found = rules_of(table.OPERATIONS), operations()
    assert rules.keys() == {each.name for each in found}
    assert_matrix(cast, [(each, rules[each.name][0]) for each in found])


def assert_matrix(cast: Cast, ways: Collection[tuple[Address, str]]) -> None:
    """Ask each of `ways` as each person, by its word of the table: nobody gets further or reads more than it says, and
    nothing has changed by asking."""
    asking, wrong = Asking(cast), []
    # First what changes something for those who may, of whom none asks.
    for reads in (False, True):
        before = fingerprint(BY_READING if reads else BY_ASKING)
        for address, word in ways:
            if (address.method == "get") == reads:
                wrong += [f"{address}: {how}" for how in unlike(cast, asking, address, word)]
        after = fingerprint(BY_READING if reads else BY_ASKING)
        wrong += [f"{name} has changed" for name, value in after.items() if value != before[name]]
    assert not wrong, "\n".join(wrong)


def unlike(cast: Cast, asking: Asking, address: Address, word: str) -> Iterator[str]:
    """Yield how the answers at `address` differ from what the table says."""
    if word == "-":
        if (status := asking.direct(address, cast.shared_ids)) != 405:
            yield f"is there ({status})"
        return
    may = MAY[word]
    for role in ROLES if address.parameters & cast.of_space else sorted({*SOME, *may} if len(may) < 2 else SOME):
        # What those who may change is the subject of other tests.
        if address.method == "get" or role not in may:
            told = asking.answer(role, address, cast.shared_ids)
            if words := cast.beyond(told.text, role) - MORE_WORDS.get(address.name, set()):
                yield f"{role} reads {words}"
            is_refusal = told.is_refusal or (told.status == 302 and address.name in SAID_BY_A_TOAST)
            if is_refusal == (role in may):
                yield f"{role} gets {told.status}"
    if address.parameters and word not in ("everybody", "persons", "staff"):
        yield from told_of_rows(cast, asking, address, word)


def told_of_rows(cast: Cast, asking: Asking, address: Address, word: str) -> Iterator[str]:
    """Yield what a stranger learns of rows at `address`, and what members of the space get at a private one."""
    nothing = as_said_of_nothing(asking, address, cast.missing_ids)
    if learnt := difference(as_said_of_nothing(asking, address, cast.shared_ids), nothing):
        yield f"a stranger learns that it is there: {learnt}"
    if word == "any-id" or ids_in(address, cast.private_ids) == ids_in(address, cast.shared_ids):
        return
    if learnt := difference(as_said_of_nothing(asking, address, cast.private_ids), nothing):
        yield f"a stranger learns that there is something private: {learnt}"
    for role in ("owner", "staff"):
        private = asking.answer(role, address, cast.private_ids)
        if words := cast.beyond(private.text, role):
            yield f"{role} reads {words} of what is private"
        if not private.is_refusal:
            yield f"{role} gets {private.status} at what is private"
    if address.method == "get" and word != "nobody":
        own = asking.answer("author", address, cast.private_ids)
        if own.is_refusal:
            yield f"the author gets {own.status} at what is private"


def ids_in(address: Address, ids: Mapping[str, object]) -> dict[str, object]:
    """Return those of `ids` that are in the address."""
    return {name: ids.get(name) for name in address.parameters}


def as_said_of_nothing(asking: Asking, address: Address, ids: Mapping[str, object]) -> str:
    """Return what a stranger is told, without what they have said themselves and what differs each time."""
    told = asking.answer("stranger", address, ids)
    text = told.text.replace(address.url(ids), "")
    for said in ids_in(address, ids).values():
        text = text.replace(said, "") if isinstance(said, str) and len(said) > 5 else text
    return f"{told.status} {VARYING.sub('', text)}"


def difference(one: str, other: str) -> str:
    """Return where the first text begins to differ from the other one; "" where it does not."""
    begins = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), len(one))
    return "" if one == other else f"…{one[begins - 20 :][:80]!r}, not …{other[begins - 20 :][:80]!r}"


def test_the_administration_is_for_staff_alone(cast):
    asking, wrong = Asking(cast), []
    for name, route in patterns(get_resolver()):
        if name.startswith("admin:") and name not in ("admin:login", "admin:logout", "admin:jsi18n"):
            address = Address(name, "get", route.replace("(?P<url>.*)$", "x"))
            wrong += [
                f"{role}: {name}"
                for role in ("owner", "outsider")
                if asking.answer(role, address, cast.shared_ids).status not in (*REFUSED, 302)
            ]
    assert wrong == []
