"""The example of a bridge, as a process of its own, against the product over HTTP."""

import os
import subprocess
import sys

import pytest

from chat.models import ChatSession, SessionRoute
from chat.routes import identities
from oneclaw.people import keys
from tests import scripted as model
from tests.stage import ROOT

BRIDGE = ROOT / "docs" / "examples" / "bridge.py"


class Terminal:
    """A bridge whose lines the test writes and reads."""

    def __init__(self, address, key, channel):
        self.process = subprocess.Popen(
            [sys.executable, BRIDGE, "--channel", channel, "--peer", "ada"],
            env=os.environ | {"ONECLAW": address, "KEY": key},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=30)


@pytest.mark.timeout(120)
def test_two_peers_have_conversations_of_their_own_and_a_linked_one_shares_one(live, ada, scripted, settings):
    settings.DM_SCOPE, settings.TITLES = "per-peer", False
    scripted.default = lambda body: model.answer("Yes.")
    _, token = keys.make(ada, "Bridge", "never")
    with Terminal(live.url, token, "terminal") as terminal, Terminal(live.url, token, "phone") as phone:
        assert terminal.say("Hello") == "ada< Yes."
        assert terminal.say("bob> Hello from Bob") == "bob< Yes."
        assert {route.peer for route in SessionRoute.objects.all()} == {"ada", "bob"}
        for line, bridge in (("/link {}", terminal), ("a.l> /link {}", phone)):
            code = identities.new_code(ada, "Ada Lovelace")
            assert "Linked." in bridge.say(line.format(code))
        assert terminal.say("One") == "ada< Yes."
        assert phone.say("a.l> Two") == "a.l< Yes."
        assert phone.say("a.l> /link AAAA-AAAA").startswith("a.l< ! This code is not valid")
    shared = SessionRoute.objects.get(key__endswith="dm:Ada%20Lovelace").session
    assert list(shared.messages.filter(role="user").order_by("seq").values_list("text", flat=True)) == ["One", "Two"]
    assert ChatSession.objects.count() == 3
