"""The whole line: a conversation over a real socket is remembered after a switch, in both set-ups."""

import datetime as dt
import json
import uuid

import pytest

from tests import scripted
from tests.scripted import ScriptedModel
from tests.stage import House, Talk, embedded_again, team, until

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

NOTES = "- Ada planted a quince tree behind the boathouse."


def brain(body):
    """Answers a person; writes notes when it is shown a transcript."""
    shown = json.dumps(body["messages"])
    if "<transcript" in shown:
        return scripted.answer(NOTES)
    if "remember" in shown.lower() and "tool_result" not in shown:
        return scripted.answer(scripted.tool_use("save_memory", {"content": "Ada is allergic to walnuts."}))
    return scripted.answer("Noted.")


def ask(talk: Talk, session: str, text: str) -> dict:
    talk.say("send", client_id=str(uuid.uuid4()), session=session, text=text)
    talk.hear("ack")
    return talk.hear("done", final=True)


def opened(talk: Talk, session: str | None = None) -> str:
    talk.say("open", session=session, last_seq=0)
    return talk.hear("ready")["session"]


def search(one: House, query: str, email: str) -> list[dict]:
    return json.loads(one.manage("memory", "search", query, "--user", email, "--json"))


def search_all(one: House, *queries: str) -> list[list[dict]]:
    """What Ada finds by each query, in one process."""
    asked = one.folder / "queries"
    asked.write_text("".join(json.dumps({"id": query, "query": query}) + "\n" for query in queries))
    found = one.manage("memory", "search", "--queries", str(asked), "--user", "ada@example.org", "--json")
    return [json.loads(line)["results"] for line in found.splitlines()]


def is_indexed(one: House, text: str) -> bool:
    with one.database() as database:
        return bool(database.execute("SELECT 1 FROM memory_memorychunk WHERE text LIKE %s", [f"%{text}%"]).fetchone())


def remembered_after_a_switch(one: House, model: ScriptedModel) -> None:
    one.wait_until_ready()
    ada, stranger = one.sign_in_all("ada@example.org", "stranger@example.org")
    with one.socket(ada) as talk:
        first = opened(talk)
        assert ask(talk, first, "We planted a quince behind the boathouse today.")["status"] == "complete"
        assert ask(talk, first, "Remember that I am allergic to walnuts.")["status"] == "complete"
        card = next(frame for frame in talk.seen if frame["type"] == "tool" and frame["state"] == "done")
        assert "walnuts" in card["html"]
        second = opened(talk)
        ask(talk, second, "Something else.")
        opened(talk, first)
        opened(talk, second)
        until(lambda: is_indexed(one, "quince tree behind the boathouse"), 60, "the flushed line is in the index")

    (found, *_), (first_of_walnuts, *_) = search_all(one, "quince boathouse", "walnuts")
    assert found["path"].startswith(f"memory/{dt.date.today().year}-")
    assert "quince tree behind the boathouse" in found["snippet"]
    assert first_of_walnuts["path"] == "MEMORY.md"
    assert search(one, "quince boathouse walnuts", "stranger@example.org") == []
    assert one.get(f"/c/{first}", stranger)[0] == 404
    assert "quince" in one.get(f"/c/{first}", ada)[1]

    # What was saved stands in the files, and in the prompt of the next conversation.
    (workspace,) = [path.parent for path in (one.home / "workspaces").glob("*/MEMORY.md")]
    assert "allergic to walnuts" in (workspace / "MEMORY.md").read_text()
    until(lambda: NOTES in (workspace / found["path"]).read_text(), 20, "the daily log is on disk")
    with one.socket(ada) as talk:
        ask(talk, opened(talk), "What may I eat?")
    assert "allergic to walnuts" in json.dumps(model.messages[-1].body["system"])


def test_the_embedded_set_up_remembers():
    with ScriptedModel(default=brain) as model:
        settings = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with embedded_again(**settings) as one:
            remembered_after_a_switch(one, model)


# Beside the faults, because each start of all processes takes its seconds.
@pytest.mark.faults
def test_the_set_up_of_a_team_remembers():
    with ScriptedModel(default=brain) as model:
        settings = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with team(webs=2, **settings) as one:
            remembered_after_a_switch(one, model)
