"""The request of a turn has the same bytes in every process: after a restart, a migration, and on another node."""

import datetime as dt
import hashlib
import json
import os
import subprocess
import sys
import uuid

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.db.models import F

from chat import extensions
from chat.compaction import make, planning, room
from chat.context.prompt import build_request
from chat.context.rounds import rounds_in_view
from chat.conversations import transcript
from chat.extensions import Extension, Tool, ToolResult
from chat.models import Turn
from memory.documents.write import Append, Author, Source, apply
from oneclaw.llm.facts import cached_facts
from oneclaw.llm.request import parts_of
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.scripted import answer, text, tool_use
from tests.summaries import is_summary, summary
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

# A model whose results are shortened early.
MODEL = "claude-sonnet-5"
# What another process does: it prints the bytes of the request of a turn, and changes nothing.
BUILD = """
import sys, django
django.setup()
from tests.acceptance.test_same_request import bytes_of_request
print(bytes_of_request(int(sys.argv[1])).hexdigest())
"""
MIGRATE = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
"""


def bytes_of_request(turn_id):
    """Return the SHA-256 of the body of the request of a turn, which is built anew and not kept."""
    with transaction.atomic():
        request = build_request(Turn.objects.select_related("prompt").get(pk=turn_id))
        transaction.set_rollback(True)
    body = parts_of(request, cached_facts(request.model))
    return hashlib.sha256(json.dumps(body, ensure_ascii=False).encode())


def in_another_process(turn_id, code=BUILD, **environment):
    """Return what `code` prints in a process of its own."""
    database = connection.settings_dict
    own = {
        "DJANGO_SETTINGS_MODULE": "tests.acceptance.subprocess_settings",
        "TEST_DATABASE": json.dumps({name: database[name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}),
        "ONECLAW_MODEL": MODEL,
        "ONECLAW_CONTEXT": "40000",
        "ONECLAW_COMPACTION_BY": "model",
        "ONECLAW_COMPACT_RESULTS": "no",
        "ANTHROPIC_BASE_URL": django_settings.ANTHROPIC_BASE_URL,
        "ANTHROPIC_API_KEY": "test",
    }
    command = [sys.executable, "-c", code, str(turn_id)]
    done = subprocess.run(
        command, env={**os.environ, **own, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture
def talk(ada, scripted, settings):
    settings.MODEL, settings.CONTEXT, settings.TITLES = MODEL, 40_000, False
    settings.COMPACTION_BY, settings.COMPACT_RESULTS = "model", False
    scripted.default = lambda body: answer(text(summary("They talked."))) if is_summary(body) else answer("Fine.")
    look = Tool("look", "Looks.", {"type": "object"}, lambda call: ToolResult("Seen. " * 3_500, "Seen."))
    extension = extensions.register(Extension("look", tools=[look]))
    yield Talk(ada, scripted)
    extensions.unregister(extension)


async def test_the_next_request_is_the_same_in_every_process(talk):
    space = await in_database(Space.objects.own_of, talk.user)
    await in_database(apply, space, "MEMORY.md", Append("- The cat is called Miso.\n"), Author(Source.PAGE, talk.user))
    for words in (
        "My cat is called Miso, as of 2031-05-17. " * 40,
        "From now on, answer in rhymes. " * 40,
        "And so on.",
    ):
        await talk.say(words)
    asked = await in_database(planning.ask, await in_database(lambda: talk.session))
    await in_database(make.run, asked.pk, is_urgent=True)
    for number in range(3):
        talk.scripted.script(answer(tool_use("look", {}, id=f"toolu_{number}")))
        await talk.say(f"Look {number}.")
    for number in range(3):
        await talk.say(f"And so on {number}.")
    passed = dt.timedelta(seconds=4_000)
    await in_database(
        lambda: talk.messages().update(created_at=F("created_at") - passed, finished_at=F("finished_at") - passed)
    )

    def begun():
        accepted = transcript.accept(talk.user, talk.session_id, uuid.uuid4(), "What is my cat called?")
        room.begin(accepted.turn)
        build_request(accepted.turn)
        return accepted

    accepted = await in_database(begun)
    rounds = await in_database(lambda: rounds_in_view(talk.session))
    assert rounds.compact is not None
    assert rounds.decisions
    digest = (await in_database(bytes_of_request, accepted.turn.pk)).hexdigest()
    for seed in ("1", "4711"):
        assert await in_database(in_another_process, accepted.turn.pk, PYTHONHASHSEED=seed) == digest
    await in_database(in_another_process, accepted.turn.pk, MIGRATE)
    assert await in_database(in_another_process, accepted.turn.pk) == digest
    await in_database(transcript.finish_turn, accepted.turn, accepted.answer, [], "stopped")
