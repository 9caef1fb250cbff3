"""Programs at /mcp while processes end: nothing is saved twice or lost, and each web process says the same."""

import concurrent.futures
import json
import signal
import urllib.error
import urllib.request
import uuid

import pytest

from tests.faults.site import ADA, Site, Team
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]

MAKE_KEY = """
from oneclaw.models import User
from oneclaw.people import keys
from oneclaw.people.programs.grants import access_of
person = User.objects.get(email="{person}")
print(keys.make(person, "Agent", "year", access_of("propose", {{}}, conversations=False))[1])
"""


def key_of(site: Site) -> str:
    """A key of Ada's with which a program reads, and saves after a yes."""
    said = site.commands.run("shell", "-v0", "-c", MAKE_KEY.format(person=ADA))
    return next(word for word in said.split() if word.startswith("oc_"))


def call(url: str, token: str, tool: str, **arguments: object) -> dict[str, object]:
    """Call a tool over the older protocol, and return its structured result."""
    params = {"name": tool, "arguments": arguments}
    request = urllib.request.Request(
        f"{url}/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["result"]["structuredContent"]
    except urllib.error.HTTPError as refused:
        # It holds the connection.
        refused.close()
        raise


def test_a_save_that_was_cut_off_and_sent_again_waits_once(site: Site):
    token, text, again = key_of(site), f"The boat {uuid.uuid4()} is blue.", str(uuid.uuid4())
    call(site.house.url, token, "memory_briefing")
    with site.house.database() as connection, concurrent.futures.ThreadPoolExecutor(1) as threads:
        # The row of the key is written last: the save waits for it with everything done.
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE memory_programsave IN ACCESS EXCLUSIVE MODE")
        cut = threads.submit(call, site.house.url, token, "save_memory", content=text, request_id=again)
        site.until_waiting()
        site.strike("web", signal.SIGKILL)
        with pytest.raises((urllib.error.URLError, ConnectionError, json.JSONDecodeError)):
            cut.result()
        connection.execute("ROLLBACK")
    site.back("web")
    for _ in range(3):
        saved = call(site.house.url, token, "save_memory", content=text, request_id=again)
        assert saved["state"] == "waiting"
    assert site.rows("SELECT count(*) FROM memory_suggestion WHERE text = %s", text) == [(1,)]
    assert site.rows("SELECT count(*) FROM memory_programsave WHERE request_id = %s", again) == [(1,)]


def test_each_web_process_says_the_same(team_site: Team):
    token = key_of(team_site)
    urls = team_site.house.urls
    assert len(urls) == 2
    for number in range(4):
        text = f"The kettle {uuid.uuid4()} is red."
        states = [call(url, token, "save_memory", content=text, request_id=text)["state"] for url in urls]
        assert states == ["waiting", "waiting"], number
        assert team_site.rows("SELECT count(*) FROM memory_suggestion WHERE text = %s", text) == [(1,)]
    found = [call(url, token, "memory_search", query="kettle")["results"] for url in urls]
    assert found[0] == found[1]
    team_site.rows("UPDATE oneclaw_apikey SET expires_at = now() WHERE ending = %s RETURNING id", token[-4:])
    for url in urls:
        with pytest.raises(urllib.error.HTTPError) as refused:
            call(url, token, "memory_search", query="kettle")
        assert refused.value.code == 401


def test_while_the_database_is_away_a_program_is_told_so_and_goes_on_afterwards(embedded_site: Site):
    token = key_of(embedded_site)
    url = embedded_site.house.url
    call(url, token, "memory_search", query="kettle")
    # What PostgreSQL calls an immediate shutdown.
    embedded_site.strike("postgres", signal.SIGQUIT)
    codes = set()

    def asks_again() -> bool:
        try:
            call(url, token, "memory_search", query="kettle")
        except urllib.error.HTTPError as error:
            codes.add(error.code)
            return False
        return True

    until(asks_again, 60, "the memory answers again")
    assert codes <= {503}
    embedded_site.back("postgres")
