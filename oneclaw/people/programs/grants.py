"""Decide what a program may read and write of a person's memory.

grant = Grant.of(key)
grant.level_in(space)        # Level.PROPOSE: it may read and propose there; None: nothing

The person's own roles and switches count besides: a program may never more than its person may now.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oneclaw import runtime_settings
from oneclaw.models import ApiKey, Space, User


class Level(enum.IntEnum):
    """What a program may do with a memory; each level includes those before it."""

    READ = 1
    # What it saves waits for a person's yes.
    PROPOSE = 2
    # It saves without asking.
    WRITE = 3

    @property
    def scope(self) -> str:
        """Return the name of the OAuth scope."""
        return f"memory:{self.name.lower()}"


# The OAuth scope of reading past conversations.
CONVERSATIONS_SCOPE = "conversations:read"
SCOPES = (*(level.scope for level in Level), CONVERSATIONS_SCOPE)


class ScopeError(Exception):
    """The grant does not include `scope`, which this needs."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs the scope {scope}.")
        self.scope = scope


@dataclass(frozen=True)
class Grant:
    """What the program with `key` may do for its person `user`: in their own memory, in each space, and whether it
    finds what was said in conversations. A whole grant has everything that the person may do, except the
    administration."""

    key: ApiKey
    own: Level | None
    spaces: Mapping[int, Level]
    conversations: bool
    is_whole: bool = False

    @classmethod
    def of(cls, key: ApiKey) -> "Grant":
        """Return the grant of `key`, no more than the installation allows to programs."""
        most = most_level()
        if key.access is None:
            return cls(key, most, {}, most is not None, is_whole=most == Level.WRITE)
        named = {int(pk): _level(name, most) for pk, name in key.access.get("spaces", {}).items()}
        said = bool(key.access.get("conversations")) and most is not None
        return cls(key, _level(key.access.get("own"), most), {pk: level for pk, level in named.items() if level}, said)

    @property
    def user(self) -> User:
        """Return the person for whom the program acts."""
        return self.key.user

    def level_in(self, space: Space) -> Level | None:
        """Return what the program may do in `space`; None: nothing. An agent's own memory is for that agent alone,
        unless the grant is that of a key from before there were grants."""
        if self.key.access is None:
            return self.own
        if space.is_private:
            return self.own if space.kind == Space.Kind.OWN and space.owner_id == self.user.pk else None
        return self.spaces.get(space.pk)

    def readable(self, spaces: "list[Space]") -> list[Space]:
        """Return those of `spaces` that the program may read."""
        return [space for space in spaces if self.level_in(space) is not None]

    @property
    def highest(self) -> Level | None:
        """Return the highest level that it has anywhere."""
        return max((level for level in (self.own, *self.spaces.values()) if level), default=None)

    def check(self, level: Level) -> None:
        """Raise ScopeError unless the program has `level` anywhere."""
        if self.highest is None or self.highest < level:
            raise ScopeError(level.scope)


def most_level() -> Level | None:
    """Return the highest level that this installation allows to programs; None: they are switched off."""
    return _level(runtime_settings.value("programs"), Level.WRITE)


def access_of(own: str, spaces: Mapping[int, str], conversations: bool) -> dict[str, Any]:
    """Return what `ApiKey.access` stores: names of levels, "" for none."""
    return {
        "own": own,
        "spaces": {str(pk): name for pk, name in spaces.items() if name},
        "conversations": conversations,
    }


def _level(name: object, most: Level | None) -> Level | None:
    """Return the level called `name`, at most `most`; None for another word."""
    found = next((level for level in Level if level.name.lower() == name), None)
    return min(found, most) if found and most else None
