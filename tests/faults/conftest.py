"""Two houses for all faults: what one fault breaks must be whole again for the next."""

from collections.abc import Iterator

import pytest

from tests.faults.site import SHORT, Embedded, Site, Team, Upstream
from tests.stage import embedded, team


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave each set-up to one worker (`-n 2 --dist loadgroup`): it starts its processes once, and they share nothing
    with those of the other. xdist reads the marks in a hook of this name too, hence first."""
    for item in items:
        if "tests/faults/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group(set_up_of(item)))


def set_up_of(item: pytest.Item) -> str:
    chosen = getattr(item, "callspec", None)
    if chosen and "site" in chosen.params:
        return chosen.params["site"]
    return "team" if "team_site" in item.fixturenames else "embedded"


@pytest.fixture(scope="session")
def embedded_house() -> Iterator[Embedded]:
    upstream = Upstream()
    with upstream.server, embedded(**upstream_of(upstream), **SHORT) as house:
        site = Embedded(house, upstream)
        yield site
        site.commands.end()


@pytest.fixture(scope="session")
def team_house() -> Iterator[Team]:
    upstream = Upstream()
    with upstream.server, team(webs=2, **upstream_of(upstream), **SHORT) as house:
        site = Team(house, upstream)
        yield site
        site.commands.end()


@pytest.fixture
def embedded_site(embedded_house: Embedded) -> Iterator[Embedded]:
    embedded_house.upstream.forget()
    yield embedded_house
    embedded_house.check()


@pytest.fixture
def team_site(team_house: Team) -> Iterator[Team]:
    team_house.upstream.forget()
    yield team_house
    team_house.check()


@pytest.fixture(params=["embedded", "team"])
def site(request: pytest.FixtureRequest) -> Site:
    """Each set-up in turn."""
    return request.getfixturevalue(f"{request.param}_site")


def upstream_of(upstream: Upstream) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": upstream.server.url}
