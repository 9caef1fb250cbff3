"""A link to a conversation: what it shows to everybody, for how long, and what it never shows."""

import datetime as dt
import json
import re

import pytest
from django.utils import timezone

from chat.conversations import lifecycle, transcript
from chat.library import organise
from chat.models import ChatSession, Message, SharedLink
from chat.transfer import share
from tests.conversations import FINISHED, TOOL_USE, send, settle

RESULT = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"saved": "Secretly likes tea."}'}]
CARDS = {"toolu_1": {"state": "done", "summary": "MEMORY.md", "lines": ["Secretly likes tea."]}}
CALL = {**TOOL_USE, "input": {"content": "Secretly likes tea."}}


@pytest.fixture
def session(ada):
    """A conversation in which memory has had a part, and something of each kind that is not shown to others."""
    first = send(ada, "Remember <b>that</b>")
    results = transcript.finish_round(first.turn, first.answer, [{"type": "text", "text": "Saving."}, CALL], **FINISHED)
    following = transcript.finish_tools(first.turn, first.answer, results, RESULT, CARDS)
    transcript.finish_turn(first.turn, following, [{"type": "text", "text": "**Done.**"}], "complete", **FINISHED)
    session = ChatSession.objects.get()
    second = send(ada, "What do I like?", session.pk)
    thought = {"type": "thinking", "thinking": "Secretly likes tea.", "signature": "x"}
    unknown = {**CALL, "id": "toolu_2", "name": "gone_tool"}
    settle(second, "You know.")
    Message.objects.filter(pk=second.message.pk).update(meta={"context": {"memory": [{"text": "Secretly likes tea."}]}})
    content = [thought, {"type": "text", "text": "You know."}, unknown, {"type": "novelty", "data": "Secretly"}]
    Message.objects.filter(pk=second.answer.pk).update(content=content)
    third = send(ada, "See", session.pk)
    file = {"type": "attachment", "id": "x", "name": "Secretly.pdf", "kind": "pdf", "size": 3}
    Message.objects.filter(pk=third.message.pk).update(content=[file, {"type": "text", "text": "See"}])
    return session


@pytest.fixture
def shared(session):
    """The link and its address."""
    link, token = share.share(session.owner, session, "week")
    return link, f"/s/{token}"


def test_what_came_from_memory_is_left_out_and_said_so(session):
    left_out = {"left_out": "memory"}
    shown = [(each["role"], each["parts"]) for each in share.snapshot(session)]
    assert shown == [
        ("user", [{"text": "Remember <b>that</b>"}]),
        ("assistant", [{"html": "<p>Saving.</p>"}, left_out, {"html": "<p><strong>Done.</strong></p>"}]),
        ("user", [{"text": "What do I like?"}, left_out]),
        ("assistant", [{"html": "<p>You know.</p>"}, {"left_out": "tool"}]),
        ("user", [{"left_out": "file"}, {"text": "See"}]),
    ]
    assert "Secretly" not in json.dumps(share.snapshot(session))


def test_only_the_branch_that_is_shown_is_shared(session):
    session.messages.filter(seq__gt=2).update(active=False)
    assert [each["role"] for each in share.snapshot(session)] == ["user", "assistant"]


def test_anybody_with_the_link_reads_it_as_it_was(client, ada, session, shared):
    _, address = shared
    Message.objects.filter(session=session).update(text="Changed", content=[{"type": "text", "text": "Changed"}])
    response = client.get(address)
    page = response.content.decode()
    assert response.status_code == 200
    assert "Remember &lt;b&gt;that&lt;/b&gt;" in page
    assert "<strong>Done.</strong>" in page
    assert "Changed" not in page
    assert "Secretly" not in page
    assert page.count("Content from memory was left out.") == 2
    assert ("A file was left out." in page, "A tool call was left out." in page) == (True, True)
    assert "Made with OneClaw" in page
    assert ada.email not in page
    # Nothing on it leads into the app.
    assert re.findall(r'<(?:a|form)\b[^>]*(?:href|action)="(?!#main)[^"]*"', page) == []
    assert re.findall(r"<script[^>]*>", page) == ['<script type="module" src="/static/js/shared.js">']
    assert client.cookies == {}
    assert client.post(address).status_code == 405


@pytest.mark.parametrize("opens", [True, False])
def test_no_machine_is_to_keep_it(client, shared, opens):
    response = client.get(shared[1] if opens else "/s/nothing")
    assert response["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert '<meta name="robots" content="noindex' in response.content.decode()
    policy = response["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") or "; default-src 'none'" in policy
    assert "script-src 'self';" in policy + ";"
    assert "connect-src" not in policy
    assert "frame-ancestors 'none'" in policy


def test_the_token_is_long_and_not_in_the_database(session, shared):
    _, address = shared
    token = address.removeprefix("/s/")
    assert len(token) >= 128 / 6
    assert token not in json.dumps(list(SharedLink.objects.values()), default=str)
    assert share.share(session.owner, session, "week")[1] != token


def test_every_link_that_opens_nothing_looks_the_same(client, ada, session, shared):
    _, address = shared
    wrong = client.get("/s/" + "x" * 32)
    assert wrong.status_code == 404

    def told(response):
        return response.status_code, response.content, {**response.headers, "Expires": "now", "X-Request-ID": ""}

    def opens_nothing():
        return told(client.get(address)) == told(wrong)

    assert not opens_nothing()
    SharedLink.objects.update(expires_at=timezone.now())
    assert opens_nothing()
    SharedLink.objects.update(expires_at=None)
    lifecycle.delete(session)
    assert opens_nothing()
    organise.organise(ada, [session.pk], "restore")
    assert not opens_nothing()
    type(ada).objects.update(is_active=False)
    assert opens_nothing()
    type(ada).objects.update(is_active=True)
    share.revoke(ada, SharedLink.objects.visible_to(ada))
    assert opens_nothing()
    assert not SharedLink.objects.exists()


@pytest.mark.parametrize(("period", "days"), [("day", 1), ("week", 7), ("month", 30), ("never", None)])
def test_how_long_it_opens(session, period, days):
    link, _ = share.share(session.owner, session, period)
    assert link.expires_at == (link.created_at + dt.timedelta(days=days) if days else None)


def test_what_cannot_be_shared(client, ada, session, monkeypatch):
    client.force_login(ada)
    assert client.post(f"/c/{session.pk}/share", {"period": "forever"}).status_code == 400
    monkeypatch.setattr(share, "MAX_LINKS", 0)
    response = client.post(f"/c/{session.pk}/share")
    assert (response.status_code, "Revoke one first" in response.content.decode()) == (422, True)
    monkeypatch.setattr(share, "MAX_LINKS", 1)
    ChatSession.objects.update(mode="temporary")
    response = client.post(f"/c/{session.pk}/share")
    assert (response.status_code, "temporary or has no messages" in response.content.decode()) == (422, True)
    ChatSession.objects.update(mode="agent")
    session.messages.update(status="running")
    assert client.post(f"/c/{session.pk}/share").status_code == 422


def test_the_owner_makes_lists_and_revokes_links(client, ada, session):
    client.force_login(ada)
    page = client.get(f"/c/{session.pk}/share").content.decode()
    assert '<option value="week" selected>' in page
    page = client.post(f"/c/{session.pk}/share", {"period": "never"}).content.decode()
    (address,) = re.findall(r'value="(http://testserver/s/[\w-]+)"', page)
    client.logout()
    assert client.get(address).status_code == 200
    client.force_login(ada)
    assert address not in client.get(f"/c/{session.pk}/share").content.decode()
    assert "Stop sharing" in client.get(f"/c/{session.pk}/menu").content.decode()
    assert "does not expire" in client.get("/shared").content.decode()
    link = SharedLink.objects.get()
    assert client.post(f"/shared/{link.pk}/revoke", {"next": "/shared"})["Location"] == "/shared"
    assert "Link revoked." in client.get("/shared").content.decode()
    assert client.get(address).status_code == 404
    share.share(session.owner, session, "day")
    assert client.post(f"/c/{session.pk}/unshare")["Location"] == "/"
    assert not SharedLink.objects.exists()
    assert "Stop sharing" not in client.get(f"/c/{session.pk}/menu").content.decode()


def test_a_stranger_shares_and_revokes_nothing(client, stranger, session, shared):
    client.force_login(stranger)
    assert client.get(f"/c/{session.pk}/share").status_code == 404
    assert client.post(f"/c/{session.pk}/share", {"period": "week"}).status_code == 404
    assert session.name not in client.get("/shared").content.decode()
    client.post(f"/shared/{shared[0].pk}/revoke")
    client.post(f"/c/{session.pk}/unshare")
    client.logout()
    for address in ("/shared", f"/c/{session.pk}/share"):
        assert client.get(address).status_code == 302
    assert client.get(shared[1]).status_code == 200
