"""A bridge between a terminal and OneClaw, over the public API alone and with nothing but Python's standard library.

    ONECLAW=http://127.0.0.1:8000 KEY=oc_… python bridge.py --channel terminal --peer ada

Each line of standard input is a message, and the answer is written to standard output. A line may name who wrote it:
`bob> Hello`. With ONECLAW_DM_SCOPE=per-peer, each peer has a conversation of their own, and linked peers share one: get
a code at Settings → Channels, and write `/link CODE` here. A bridge to a messenger does the same with the messages that
the messenger delivers; its peer is the messenger's id of the sender.
"""

import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

WAIT_SECONDS = 60
ATTEMPTS = 8
# A line with its writer.
NAMED_LINE = re.compile(r"(?P<peer>[\w.@+-]{1,128})> (?P<text>.*)")
# Refusals that pass by themselves: another answer is running, too many requests, the server starts again.
PASSING_STATUSES = {429, 500, 502, 503, 504}


class BridgeError(Exception):
    """The server refused a message, or could not be reached."""


class Bridge:
    """Sends the messages of a channel to the server at `address` with an API key."""

    def __init__(self, address: str, key: str, channel: str, account: str = "") -> None:
        self.address, self.key = address.rstrip("/"), key
        self.channel, self.account = channel, account

    def send(self, peer: str, text: str) -> str:
        """Send `text` of `peer` and return the answer. Raise BridgeError."""
        # Made once: however often the message is sent again, it is stored once.
        message = {
            "client_id": str(uuid.uuid4()),
            "text": text,
            "route": {"channel": self.channel, "account": self.account, "peer": peer},
        }
        for attempt in range(ATTEMPTS):
            try:
                sent = self._post(f"/api/v1/messages?wait={WAIT_SECONDS}", message)
            except PassingError as passing:
                time.sleep(max(passing.seconds, min(0.2 * 2**attempt, 10)))
                continue
            answer = sent["answer"]
            if answer and answer["status"] != "running":
                return str((answer["error"] or {}).get("text") or answer["text"])
            if not sent["message"]:
                return str(sent["notice"] or "A new conversation begins.")
        raise BridgeError("The server did not answer.")

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 30) as response:  # noqa: S310
                found: dict[str, Any] = json.load(response)
                return found
        except urllib.error.HTTPError as error:
            told = json.loads(error.read() or b"{}") if error.code < 500 else {}
            if error.code in PASSING_STATUSES or told.get("code") == "busy":
                raise PassingError(float(error.headers.get("Retry-After") or 0)) from error
            raise BridgeError(told.get("text", str(error))) from error
        except OSError as error:
            raise PassingError(0) from error


class PassingError(Exception):
    """The server cannot take the message now: send it again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def main() -> None:
    options = argparse.ArgumentParser(description="A bridge between a terminal and OneClaw.")
    options.add_argument("--channel", default="terminal")
    options.add_argument("--account", default="")
    options.add_argument("--peer", default=os.environ.get("USER", "somebody"))
    chosen = options.parse_args()
    bridge = Bridge(os.environ["ONECLAW"], os.environ["KEY"], chosen.channel, chosen.account)
    for line in sys.stdin:
        named = NAMED_LINE.fullmatch(line.rstrip("\n"))
        peer, text = (named["peer"], named["text"]) if named else (chosen.peer, line.rstrip("\n"))
        if not text.strip():
            continue
        try:
            answer = bridge.send(peer, text)
        except BridgeError as error:
            answer = f"! {error}"
        print(f"{peer}< {answer}", flush=True)


if __name__ == "__main__":
    main()
