"""What an app brings to the chat is one object; the chat runs without any, and without the app that brings memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from chat import extensions
from chat.context.prompt import build_request
from chat.extensions import (
    ContextItem,
    Detail,
    Extension,
    MessageContext,
    NoMemory,
    PromptSection,
    SearchResult,
    Tool,
    ToolCommand,
    ToolResult,
)
from chat.library import search
from chat.models import ChatSession, Message
from chat.rendering.details import details_of
from chat.rendering.shown import ShownMessage
from chat.turns import commands
from oneclaw.models import User
from tests.conversations import send, settle

ROLL = Tool("roll_dice", "Rolls.", {"type": "object"}, lambda call: ToolResult(4, "Four."), label="Roll a die")
RED = ContextItem(kind="dice", path="dice.md", revision=1, lines=[1, 1], text="red dice")
DICE = Extension(
    "dice",
    tools=[ROLL],
    prompt_sections=[
        PromptSection("dice", 900, lambda session, items: f"You may roll {items[0]['text']}.", lambda session: [RED])
    ],
    message_context=MessageContext(
        lambda session, message: [RED | {"heading": message.text}],
        lambda items: f"For “{items[0]['heading']}” there are {items[0]['text']}.",
    ),
    commands={"/roll": ToolCommand("roll_dice", "why", "Roll", "Rolled.")},
    search=lambda user, words, most: [SearchResult(" ".join(words), "", "/dice")][:most],
)


@pytest.fixture
def dice():
    yield extensions.register(DICE)
    extensions.unregister(DICE)


def test_one_object_brings_all_that_an_app_has_for_the_chat(ada, dice, client):
    said = send(ada, "Roll for me")
    request = build_request(said.turn)
    assert "You may roll red dice." in request.system[0]["text"]
    assert "roll_dice" in [tool["name"] for tool in request.tools]
    assert request.messages[0]["content"][0]["text"] == "For “Roll for me” there are red dice."
    said.message.refresh_from_db()
    assert said.message.meta["context"]["dice"] == [RED | {"heading": "Roll for me"}]
    assert ChatSession.objects.get().context["dice"] == [RED]
    assert commands.parse_call("/roll now") == (DICE.commands["/roll"], "now")
    assert search.extension_results(ada, "Red Dice")["dice"] == [SearchResult("red dice", "", "/dice")]
    assert extensions.tool_labels()["roll_dice"] == "Roll a die"
    client.force_login(ada)
    assert "/roll" in [each["name"] for each in client.get("/commands").json()["commands"]]


class DiceMemory(NoMemory):
    """Memory that has only what the dice need."""

    def prompt_condition(self, session):
        return session.title

    def details(self, session, message):
        return [Detail("Dice", message.text)]


@pytest.fixture
def dice_memory():
    before = extensions.install_memory(DiceMemory())
    yield
    extensions.install_memory(before)


def test_the_prompt_is_built_anew_when_its_condition_changes(ada, dice, dice_memory):
    said = send(ada)
    build_request(said.turn)
    session = said.message.session
    first, session.title = session.heads.get(), "Another title"
    first.system = "Old."
    first.save()
    session.save(update_fields=["title"])
    assert "You may roll red dice." in build_request(said.turn).system[0]["text"]


@pytest.mark.parametrize(
    "other", [Extension("dice"), Extension("other", tools=[ROLL]), Extension("other", commands=DICE.commands)]
)
def test_two_extensions_with_one_name_tool_or_command_are_refused(dice, other):
    with pytest.raises(ValueError, match="Two extensions bring"):
        extensions.register(other)
    assert other not in extensions.installed()


def test_what_is_unregistered_is_gone(ada, dice):
    extensions.unregister(DICE)
    try:
        assert "roll_dice" not in [tool["name"] for tool in build_request(send(ada).turn).tools]
        assert commands.parse_call("/roll now") is None
        assert extensions.tool_heading("roll_dice", "done") == "Roll dice"
    finally:
        extensions.register(DICE)


def test_what_memory_sent_is_among_the_details_of_an_answer(ada, dice_memory):
    settle(said := send(ada, "Roll for me"))
    details = details_of(ShownMessage(Message.objects.select_related("session", "turn").get(pk=said.answer.pk)))
    assert details.from_memory == [Detail("Dice", "Roll for me")]


# The chat in a process of its own, whose settings do not name the app memory.
WITHOUT_MEMORY = """
import asyncio, json, sys, uuid
from django.conf import settings
settings.INSTALLED_APPS.remove("memory")
settings.DATABASES["default"]["NAME"] = sys.argv[1]
settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, settings.TITLES = "test", sys.argv[2], False
settings.ALLOWED_HOSTS = ["*"]
import django
django.setup()
from django.test import Client
from chat.models import ChatSession, Message
from chat.live.frames import SendFrame, frame_of
from chat.live.handle import handle
from chat.turns.running import running_turns
from oneclaw.models import User
from oneclaw.threads import in_database

async def talk(ada):
    frame = frame_of(SendFrame, client_id=uuid.uuid4(), session=uuid.uuid4(), text="/remember Hello")
    stored = await handle(ada, frame)
    for running in list(running_turns):
        await running.task
    return stored.message.session_id

ada = User.objects.get()
session = asyncio.run(talk(ada))
client = Client()
client.force_login(ada)
pages = ("/", f"/c/{session}", "/search?q=hello", "/commands", "/agents/new", "/memory/")
print(json.dumps({
    "modules": [name for name in sys.modules if name.startswith("memory")],
    "answer": Message.objects.get(role="assistant").text,
    "details": client.get(f"/messages/{Message.objects.get(role='assistant').pk}/details").status_code,
    "statuses": [client.get(page).status_code for page in pages],
    "commands": [each["name"] for each in client.get("/commands").json()["commands"]],
}))
"""


@pytest.mark.django_db(transaction=True)
def test_without_the_app_memory_the_chat_runs(scripted):
    User.objects.create_user("ada@example.org", "correct horse battery")
    program = [sys.executable, "-c", WITHOUT_MEMORY, connection.settings_dict["NAME"], scripted.url]
    root = Path(__file__).parents[2]
    done = subprocess.run(program, capture_output=True, text=True, timeout=90, cwd=root, env=os.environ)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {
        "modules": [],
        "answer": said["answer"],
        "details": 200,
        "statuses": [200, 200, 200, 200, 200, 404],
        "commands": ["/new", "/reset", "/end", "/compact", "/undo-compact", "/context"],
    }
    assert said["answer"]
    (request,) = scripted.messages
    # Those of the chat itself.
    names = {tool["name"] for tool in request.body["tools"]}
    assert names == {"read_result", "schedule"}
    assert "memory" not in json.dumps(request.body["system"]).lower()
