"""Names of timezones: those of the tz database, with the older ones that browsers still say.

Python reads the system's database, and the package tzdata for what that lacks: Asia/Calcutta is known everywhere.
"""

import zoneinfo
from functools import cache
from importlib import resources


def is_known(name: str) -> bool:
    """Return whether `name` is a timezone, such as Europe/Zurich or Asia/Calcutta."""
    return name in zoneinfo.available_timezones()


def are_one(name: str, other: str) -> bool:
    """Return whether two names are of one timezone, such as Europe/Kiev and Europe/Kyiv: they have one clock."""
    return _target_of(name) == _target_of(other)


def _target_of(name: str) -> str:
    return _targets().get(name, name)


@cache
def _targets() -> dict[str, str]:
    """Return for each name that is a link in the tz database its target."""
    links: dict[str, str] = {}
    for line in resources.files("tzdata.zoneinfo").joinpath("tzdata.zi").read_text().splitlines():
        if line.startswith("L "):
            _, target, name = line.split()
            links[name] = target
    return {name: links.get(target, target) for name, target in links.items()}
