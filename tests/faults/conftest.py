"""Two houses for all faults: what one fault breaks must be whole again for the next."""

from collections.abc import Iterator

import pytest

from tests.faults.site import SHORT, Embedded, Site, Team, Upstream
from tests.stage import embedded_again, team


@pytest.fixture(scope="session")
def embedded_house() -> Iterator[Embedded]:
    upstream = Upstream()
    with upstream.server, embedded_again(**upstream_of(upstream), **SHORT) as house:
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
