"""A team's set-up: two webs, a worker and beat on one PostgreSQL over TCP and one Redis."""

import json
import signal
import uuid

import pytest

from oneclaw.demo import scripted
from oneclaw.demo.scripted import ScriptedModel
from tests.stage import team

# Beside the faults, because each start of all processes takes its seconds.
pytestmark = [pytest.mark.acceptance, pytest.mark.faults, pytest.mark.timeout(240)]


def test_a_conversation_is_the_same_on_both_webs():
    with ScriptedModel() as model, team(ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=model.url) as house:
        model.script(scripted.answer(scripted.text("Good morning.")))
        house.wait_until_ready()
        ada = house.sign_in("ada@example.org")
        session = str(uuid.uuid4())
        with house.socket(ada, web=0) as first, house.socket(ada, web=1) as second:
            second.say("open", session=session, last_seq=0)
            first.say("open", session=session, last_seq=0)
            second.hear("ready")
            first.say("send", client_id=str(uuid.uuid4()), session=session, text="Hello")
            assert first.hear("done", final=True)["status"] == "complete"
            assert second.hear("done", final=True)["status"] == "complete"
            assert any("Good morning." in frame.get("html", "") for frame in second.seen)
        house["postgres"].stop(signal.SIGINT)
        assert house.get("/healthz")[0] == 200
        status, said = house.get("/readyz")
        assert (status, json.loads(said)["database"]) == (503, False)
        house["postgres"].start()
        house.wait_until_ready()
        for name in ("beat", "worker", "web1", "web2"):
            assert house[name].stop(signal.SIGTERM) in (0, -signal.SIGTERM), name
