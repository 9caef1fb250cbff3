"""The people around a space, the ids of its rows, and who may read which word.

Each row has a word that stands nowhere else, so that a page, an answer, a frame or a file tells by its words what it
shows. rows.py makes the rows.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from chat.models import ChatSession
from chat.schedules.planning import heartbeat_of
from memory.walk import progress
from oneclaw.models import Group, GroupMember, Space, SpaceGroup, SpaceMember, User
from tests.access.roles import MAY, PEOPLE

WORD = re.compile(r"zq[a-z]+")
# In everything that can be searched.
COMMON = "camomile"
# Parameters of rows that only a space has.
SPACE_ONLY = {"space_id", "member_id", "held_id", "proposal_id"}
AUTHOR, MEMBERS, STAFF = MAY["author"], MAY["members"], MAY["staff"]


@dataclass
class Cast:
    """The people by name; the ids of private, shared and missing rows by the parameter of an address; and whose words
    are whose."""

    people: dict[str, User] = field(default_factory=dict)
    space: Space = field(default_factory=Space)
    # The neighbour's.
    other_space: Space = field(default_factory=Space)
    sessions: dict[str, ChatSession] = field(default_factory=dict)
    private: dict[str, object] = field(default_factory=dict)
    shared: dict[str, object] = field(default_factory=dict)
    words: dict[str, frozenset[str]] = field(default_factory=dict)

    def word(self, name: str, readers: frozenset[str]) -> str:
        """Return a new word that only `readers` may see."""
        assert f"zq{name}" not in self.words
        self.words[f"zq{name}"] = readers
        return f"zq{name}"

    def words_in(self, text: str) -> set[str]:
        """Return the words of rows that stand in `text`."""
        return set(WORD.findall(text)) & self.words.keys()

    def beyond(self, text: str, role: str) -> set[str]:
        """Return the words of `text` that `role` may not see."""
        return {word for word in self.words_in(text) if role not in self.words[word]}

    @property
    def private_ids(self) -> dict[str, object]:
        """Return the ids of what belongs to the author alone."""
        return self.shared | self.private

    @property
    def shared_ids(self) -> dict[str, object]:
        """Return the ids of what the space has, and of what nobody shares, for the parameters that only that has."""
        return self.private | self.shared

    @property
    def mixed_ids(self) -> dict[str, object]:
        """Return the ids of what the space has, with the id of the neighbour's space."""
        return self.shared_ids | {"space_id": self.other_space.pk, "space": self.other_space.pk}

    @property
    def of_space(self) -> set[str]:
        """Return the parameters whose rows can be the space's."""
        return {name for name in self.shared if name in self.private or name in SPACE_ONLY}

    @property
    def missing_ids(self) -> dict[str, object]:
        """Return ids of the same kinds that nothing has."""
        return {name: missing(value) for name, value in self.shared_ids.items()} | {
            # Whoever is told that this is not there does not begin it.
            "session_id": self.sessions["deleted"].pk,
            "path": "memory/2001-01-01.md",
            "name": self.shared["name"],
        }


def missing(value: object) -> object:
    """Return an id of the kind of `value` that nothing has."""
    if isinstance(value, uuid.UUID):
        return uuid.uuid4()
    return 2**40 + 7 if isinstance(value, int) else "zz-nothing"


def with_people() -> Cast:
    """Return a cast of the people and their space, without any rows that could be theirs."""
    cast = Cast()
    for name in PEOPLE:
        make = User.objects.create_superuser if name == "staff" else User.objects.create_user
        cast.people[name] = make(f"{name}@example.org", "correct horse battery", first_name=name.title())
    cast.space = Space.objects.create(
        owner=cast.people["owner"],
        kind=Space.Kind.TEAM,
        name=cast.word("space", MEMBERS),
        description=cast.word("about", MEMBERS),
    )
    cast.other_space = Space.objects.create(owner=cast.people["neighbour"], kind=Space.Kind.TEAM, name="Next door")
    SpaceMember.objects.create(space=cast.other_space, user=cast.people["neighbour"], role="owner")
    for name, role in {"owner": "owner", "author": "editor", "editor": "editor", "reader": "reader"}.items():
        SpaceMember.objects.create(space=cast.space, user=cast.people[name], role=role)
    SpaceMember.objects.create(space=cast.space, user=cast.people["former"], role="editor").delete()
    group = Group.objects.create(name=cast.word("group", MEMBERS | STAFF))
    GroupMember.objects.create(group=group, user=cast.people["grouped"])
    held = SpaceGroup.objects.create(space=cast.space, group=group, role="reader")
    cast.shared |= {
        "space_id": cast.space.pk,
        # In the query of an operation.
        "space": cast.space.pk,
        "member_id": cast.space.members.get(user=cast.people["reader"]).pk,
        "held_id": held.pk,
        "group_id": group.pk,
    }
    for user in cast.people.values():
        make_first_rows(user)
    return cast


def make_first_rows(user: User) -> None:
    """Make what a person gets with the first page that asks for it, so that no page makes it later."""
    Space.objects.own_of(user)
    heartbeat_of(user)
    progress.close(progress.walk_of(user))


def ids_of(cast: Cast, kind: str) -> Mapping[str, object]:
    """Return the ids of `kind`: "private", "shared" or "missing"."""
    ids: Mapping[str, object] = getattr(cast, f"{kind}_ids")
    return ids
