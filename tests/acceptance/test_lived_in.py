"""Weeks of a team are lived through the real processes, in minutes: what was promised holds at their end.

CI lives a shortened life, of two people in two weeks. `./oneclaw.sh week` lives the long one: five people, three weeks.
"""

import datetime as dt
import os
import re
from pathlib import Path

import pytest

from tests.acceptance.lived_in.acts import Team
from tests.acceptance.lived_in.household import Household, alone, together
from tests.acceptance.lived_in.life import ZONE, Life, Moment, shortened, three_weeks
from tests.acceptance.lived_in.model import LifeModel
from tests.acceptance.lived_in.truths import Ending

IS_LONG = os.environ.get("TEST_LIFE") == "long"
pytestmark = [pytest.mark.acceptance, pytest.mark.soak, pytest.mark.timeout(3600 if IS_LONG else 900)]
# The evening at which everything is looked at, and when the accounts are made.
LAST = Moment(21, "18:00") if IS_LONG else Moment(12, "18:00")
FIRST_LINK = re.compile(r"Make the first account: (\S+)")


@pytest.fixture
def life() -> Life:
    return three_weeks() if IS_LONG else shortened()


@pytest.fixture
def monday() -> dt.date:
    """The first Monday after today."""
    today = dt.datetime.now(ZONE).date()
    return today + dt.timedelta(days=7 - today.weekday())


@pytest.fixture
def begin(monday: dt.date) -> dt.datetime:
    return Moment(1, "08:00").after(monday)


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("life")


def test_weeks_with_nothing_set(life: Life, begin: dt.datetime, monday: dt.date, kept: Path):
    with alone(begin, from_nothing=IS_LONG) as household:
        lived_through(household, life, monday, kept, None)


def test_weeks_of_a_team(life: Life, begin: dt.datetime, monday: dt.date, kept: Path):
    model = LifeModel(life)
    with model.server, together(begin, model.server.url) as household:
        model.api.clock.clock = household.clock
        lived_through(household, life, monday, kept, model)


def lived_through(household: Household, life: Life, monday: dt.date, kept: Path, model: LifeModel | None) -> None:
    """Live, and look at everything at the end."""
    team = Team(household, life, kept, monday)
    serve = household.house.running.get("serve")
    link = FIRST_LINK.search(serve.said()) if serve else None
    team.move_in(link[1] if link else "")
    team.live()
    household.pass_to(LAST.after(monday))
    household.settle()
    problems = Ending(household, team, model).problems()
    print(*problems, sep="\n", flush=True)
    assert not problems, "\n".join(problems)
