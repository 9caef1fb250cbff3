"""Redis is killed with all that it held: hints are lost, and nothing else."""

import uuid

import pytest

from tests.faults.site import Team
from tests.scripted import answer
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(240)]


@pytest.mark.parametrize("site", ["team"], indirect=True)
def test_without_redis_people_are_answered_and_what_waited_is_done_afterwards(site: Team):
    word = uuid.uuid4().hex
    site.upstream.notes = lambda transcript: answer(f"- Noted: {word}." if word in transcript else "- Else.")
    hinted, other = site.ask(f"One thing about {word}."), site.ask("Something else.")
    with site.frozen("worker"):
        # This hint reaches Redis, and is lost with it.
        site.open_after_another(hinted, other)
        site.strike("redis")
    # This one never reaches it.
    unhinted = site.ask(f"Another thing about {word}.", answer("I am here."))
    assert site.agreed(unhinted)[-1].text == "I am here."
    site.open_after_another(unhinted, other)
    site.house["redis"].start()
    done = "SELECT count(*) FROM memory_flush WHERE session_id IN (%s, %s) AND status = 'done'"
    until(lambda: site.rows(done, hinted, unhinted)[0][0] == 2, 120, "beat's sweep has found both")
    assert site.memory("memory/____-__-__.md").count(f"- Noted: {word}.") == 2
