"""Each address of the product and each kind of person: who may, and who gets the same as for what is not there.

The addresses are those of the code, so that a new one fails here until tests/access/table.py says for whom it is.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from django.urls import get_resolver

from tests.access import table
from tests.access.addresses import REFUSED, Address, Answer, Asking, operations, pages, patterns
from tests.access.cast import Cast, with_people
from tests.access.fingerprint import BY_ASKING, BY_READING, fingerprint
from tests.access.roles import MAY, PEERS, ROLES, rules_of

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
# Where no row of the space is asked for, these people stand for the others.
SOME = ("owner", "author", "former", "staff", "outsider")
# A test question of a space, which only a command asks; and the title of a sub-session in which nothing was said.
NOT_ON_PAGES = {"zqsharedquestion", "zqbelow"}


def test_every_page_is_for_those_whom_the_table_names(cast):
    rules, found = rules_of(table.PAGES), [each for each in pages() if each.method == "get"]
    assert rules.keys() == {each.name for each in found}
    read = assert_matrix(cast, [(each, rules[each.name][0]) for each in found], BY_READING)
    # A page that shows nothing would let everything pass.
    assert {word for word, readers in cast.words.items() if readers} - read == NOT_ON_PAGES


def test_every_action_of_a_page_is_for_those_whom_the_table_names(cast):
    rules, found = rules_of(table.PAGES), [each for each in pages() if each.method == "post"]
    assert_matrix(cast, [(each, rules[each.name][1]) for each in found], BY_ASKING)


def test_every_operation_of_the_api_is_for_those_whom_the_table_names(cast):
    rules, found = rules_of(table.OPERATIONS), operations()
    assert sorted(rules) == sorted(each.name for each in found)
    ways = [(each, rules[each.name][0]) for each in found]
    assert_matrix(cast, [(each, word) for each, word in ways if each.method != "get"], BY_ASKING)
    assert_matrix(cast, [(each, word) for each, word in ways if each.method == "get"], BY_READING)


def assert_matrix(cast: Cast, ways: Iterable[tuple[Address, str]], uncounted: Collection[str]) -> set[str]:
    """Ask each of `ways` as each person, by its word of the table: nobody gets further or reads more than it says, and
    nothing has changed by asking but what is `uncounted`. Return the words that were read."""
    asking = Asking(cast)
    before = fingerprint(uncounted)
    wrong = [f"{address}: {how}" for address, word in ways for how in unlike(cast, asking, address, word)]
    wrong += [f"{name} has changed" for name, value in fingerprint(uncounted).items() if value != before[name]]
    assert not wrong, "\n".join(wrong)
    return asking.read


def unlike(cast: Cast, asking: Asking, address: Address, word: str) -> Iterator[str]:
    """Yield how the answers at `address` differ from what the table says."""
    if word == "-":
        if (status := asking.direct(address, cast.shared_ids)) != 405:
            yield f"is there ({status})"
        return
    may, shared = MAY[word], {}
    for role in asked_as(cast, address, word):
        shared[role] = told = asking.answer(role, address, cast.shared_ids)
        if words := cast.beyond(told.text, role) - MORE_WORDS.get(address.name, set()):
            yield f"{role} reads {words}"
        is_refusal = told.is_refusal or (told.status == 302 and address.name in SAID_BY_A_TOAST)
        if is_refusal == (role in may):
            yield f"{role} gets {told.status}"
    if address.parameters and word not in ("everybody", "persons", "staff"):
        stranger = shared.get("stranger") or asking.answer("stranger", address, cast.shared_ids)
        yield from told_of_rows(cast, asking, address, word, stranger)


def asked_as(cast: Cast, address: Address, word: str) -> list[str]:
    """Return the people as whom the address is asked at a row of the space, or without a row."""
    may, reads = MAY[word], address.method == "get"
    if not address.parameters & cast.of_space:
        asked = {*SOME, *(PEERS if address.parameters else ())}
    else:
        # What every member reads, an editor reads too; and a group gives no other roles than a membership.
        asked = {*ROLES} - ({"editor"} if reads and word == "members" else {"grouped"} if not reads else set())
    # What those who may change is the subject of other tests.
    return sorted(asked if reads else asked - may)


def told_of_rows(cast: Cast, asking: Asking, address: Address, word: str, shared: Answer) -> Iterator[str]:
    """Yield what a stranger learns of rows at `address`, of which they were told `shared`, and what members of the
    space get at a private one."""
    nothing = without_what_was_said(asking.answer("stranger", address, cast.missing_ids), address, cast.missing_ids)
    if learnt := difference(without_what_was_said(shared, address, cast.shared_ids), nothing):
        yield f"a stranger learns that it is there: {learnt}"
    yield from of_other_space(cast, asking, address)
    if word == "any-id":
        # Which changes nothing, as the fingerprint says.
        for role in PEERS:
            if words := cast.beyond(asking.answer(role, address, cast.private_ids).text, role):
                yield f"{role} reads {words} of what is private"
        return
    if ids_in(address, cast.private_ids) == ids_in(address, cast.shared_ids):
        return
    private = asking.answer("stranger", address, cast.private_ids)
    if learnt := difference(without_what_was_said(private, address, cast.private_ids), nothing):
        yield f"a stranger learns that there is something private: {learnt}"
    for role in ("owner", "staff", *PEERS):
        told = asking.answer(role, address, cast.private_ids)
        if words := cast.beyond(told.text, role):
            yield f"{role} reads {words} of what is private"
        if not told.is_refusal:
            yield f"{role} gets {told.status} at what is private"
    if address.method == "get" and word != "nobody":
        own = asking.answer("author", address, cast.private_ids)
        if own.is_refusal:
            yield f"the author gets {own.status} at what is private"


def of_other_space(cast: Cast, asking: Asking, address: Address) -> Iterator[str]:
    """Yield what the owner of another space gets of rows of the space when they name their own space."""
    # A path names a document of each space.
    if not {"space_id", "space"} & address.parameters or not address.parameters - {"space_id", "space", "path"}:
        return
    told = asking.answer("neighbour", address, cast.mixed_ids)
    if words := cast.beyond(told.text, "neighbour"):
        yield f"neighbour reads {words} by another space"
    if not told.is_refusal:
        yield f"neighbour gets {told.status} by another space"


def ids_in(address: Address, ids: Mapping[str, object]) -> dict[str, object]:
    """Return those of `ids` that are in the address."""
    return {name: ids.get(name) for name in address.parameters}


def without_what_was_said(told: Answer, address: Address, ids: Mapping[str, object]) -> str:
    """Return an answer without what the person has said themselves, and without what differs each time."""
    text = told.text.replace(address.url(ids), "")
    for said in ids_in(address, ids).values():
        text = text.replace(said, "") if isinstance(said, str) and len(said) > 5 else text
    return f"{told.status} {VARYING.sub('', text)}"


def difference(one: str, other: str) -> str:
    """Return where the first text begins to differ from the other one; "" where it does not."""
    begins = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), len(one))
    return "" if one == other else f"…{one[begins - 20 :][:80]!r}, not …{other[begins - 20 :][:80]!r}"


def test_the_administration_is_for_staff_alone(db):
    cast = with_people()
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
