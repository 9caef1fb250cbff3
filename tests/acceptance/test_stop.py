"""A stop in the middle of an answer keeps what was said."""

import signal
import uuid

import pytest

from tests import scripted
from tests.scripted import ScriptedModel
from tests.stage import embedded, open_folder

# Beside the faults, because each start of all processes takes its seconds.
pytestmark = [pytest.mark.acceptance, pytest.mark.faults, pytest.mark.timeout(240)]


def test_stopping_in_mid_stream_saves_the_answer_so_far():
    with ScriptedModel() as model, open_folder() as folder:
        model.script(scripted.answer(scripted.text("one two three four " * 500, pace=0.02)))
        key = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with embedded(folder, **key) as one:
            one.wait_until_ready()
            ada, session = one.sign_in("ada@example.org"), str(uuid.uuid4())
            with one.socket(ada) as talk:
                talk.say("send", client_id=str(uuid.uuid4()), session=session, text="Count.")
                while "three" not in talk.hear("block")["html"]:
                    pass
                assert one["serve"].stop(signal.SIGTERM) == 0
        with embedded(folder, **key) as again:
            again.wait_until_ready()
            with again.database() as database:
                rows = "SELECT status, text FROM chat_message WHERE role = 'assistant'"
                [(status, text)] = database.execute(rows).fetchall()
            assert status == "interrupted"
            assert text.startswith("one two three")
            with again.socket(ada) as talk:
                talk.say("open", session=session, last_seq=0)
                assert "one two three" in talk.hear("message", seq=2)["html"]
