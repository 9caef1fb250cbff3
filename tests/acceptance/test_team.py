"""A team's set-up: two webs, a worker and beat on one PostgreSQL over TCP and one Redis."""

import json
import signal
import uuid

import pytest

from tests import scripted
from tests.scripted import ScriptedModel
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


SHARE = """
import django
django.setup()
from chat.conversations.shared import share
from chat.models import ChatSession
from oneclaw.models import Space, SpaceMember, User
ada, ed = (User.objects.get(email=f"{name}@example.org") for name in ("ada", "ed"))
space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Lighthouse")
for user, role in ((ada, "owner"), (ed, "editor")):
    SpaceMember.objects.create(space=space, user=user, role=role)
share.share(ada, ChatSession.objects.get(), space)
"""
LEAVE = """
import django
django.setup()
from oneclaw import pubsub
from oneclaw.models import SpaceMember
member = SpaceMember.objects.get(user__email="ed@example.org")
member.delete()
pubsub.notify(f"space:{member.space_id}", {"kind": "roles", "users": [member.user_id]})
"""


def test_two_people_share_a_conversation_over_both_webs():
    with ScriptedModel() as model, team(ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=model.url) as house:
        long = scripted.text(["One"] + [" more"] * 20, pace=0.2)
        model.script(*[scripted.answer(each) for each in (scripted.text("Hello."), long, scripted.text("To Ed."))])
        house.wait_until_ready()
        ada, ed = house.sign_in_all("ada@example.org", "ed@example.org")
        session = str(uuid.uuid4())
        with house.socket(ada, web=0) as first, house.socket(ed, web=1) as second:
            first.say("open", session=session, last_seq=0)
            first.hear("ready")
            first.say("send", client_id=str(uuid.uuid4()), session=session, text="Hello")
            first.hear("done", final=True)
            house._run("-c", SHARE)
            first.hear("notice", kind="shared")
            for socket in (first, second):
                socket.say("open", session=session, last_seq=2)
                socket.hear("ready", seq=2)
            while {each["name"] for each in first.hear("presence")["people"]} != {"ada@example.org", "ed@example.org"}:
                pass
            first.say("send", client_id=str(uuid.uuid4()), session=session, text="Count")
            first.hear("block")
            # The answer runs in the other process, and so does what waits for it.
            second.say("send", client_id=str(uuid.uuid4()), session=session, text="And I?")
            second.hear("queued")
            while not first.hear("queue")["waiting"]:
                pass
            while "To Ed." not in second.hear("message")["html"]:
                pass
            second.hear("done", final=True)
            house._run("-c", LEAVE)
            assert second.hear("error")["code"] == "not_found"
