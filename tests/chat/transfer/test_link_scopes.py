"""Who opens a shared link: everybody, signed-in people, or the members of a space; and what a copy of it is."""

import re

import pytest

from chat.models import ChatSession, Message, SharedLink
from chat.transfer import link_copies, share
from memory.access.load import access_of
from memory.index.transcripts import transcript_messages
from memory.models import Flush
from memory.notes import flush
from memory.notes.claims import claim_flush
from memory.trust.rule import source_of
from memory.trust.sources import sent_in_turn
from oneclaw.models import AuditEvent, Space, User
from oneclaw.spaces import deletion, lifecycle, members
from tests.conversations import send, settle
from tests.programs import Program, refusal
from tests.talk import Talk

CLAIM = "I have moved to Lisbon with my sister Clara."


@pytest.fixture
def team(ada):
    return lifecycle.create(ada, lifecycle.checked_draft("Kitchen", kind=Space.Kind.TEAM))


@pytest.fixture
def rita(team):
    """A reader of the team."""
    person = User.objects.create_user("rita@example.org", "correct horse battery", first_name="Rita")
    members.add_by_email(team, person.email, "reader")
    return person


@pytest.fixture
def session(ada):
    accepted = send(ada, CLAIM)
    settle(accepted, "Have a **good** start.")
    Message.objects.filter(pk=accepted.message.pk).update(meta={"context": {"memory": [{"text": "Secretly"}]}})
    return accepted.message.session


@pytest.fixture
def addresses(session, team):
    """The address of a link of each scope."""
    return {
        scope: f"/s/{share.share(session.owner, session, 'week', scope, team.pk if scope == 'space' else None)[1]}"
        for scope in SharedLink.Scope.values
    }


def test_each_scope_opens_for_its_people_alone(client, ada, rita, stranger, addresses):
    opens = {}
    for name, person in (("outsider", None), ("stranger", stranger), ("reader", rita), ("owner", ada)):
        client.logout() if person is None else client.force_login(person)
        opens[name] = {scope: client.get(address).status_code for scope, address in addresses.items()}
    assert opens == {
        "outsider": {"everybody": 200, "signed_in": 302, "space": 302},
        "stranger": {"everybody": 200, "signed_in": 200, "space": 404},
        "reader": {"everybody": 200, "signed_in": 200, "space": 200},
        "owner": {"everybody": 200, "signed_in": 200, "space": 200},
    }


def test_who_is_signed_out_is_led_to_sign_in_and_back(client, addresses):
    response = client.get(addresses["space"])
    assert response["Location"] == f"/accounts/login/?next={addresses['space']}"
    assert response["Referrer-Policy"] == "no-referrer"
    # The address of nothing leads nowhere.
    assert client.get("/s/" + "x" * 32).status_code == 404


def test_a_link_for_others_looks_like_none(client, stranger, addresses):
    client.force_login(stranger)

    def told(address):
        response = client.get(address)
        return response.status_code, response.content, {**response.headers, "Expires": "now", "X-Request-ID": ""}

    assert told(addresses["space"]) == told("/s/" + "x" * 32)
    assert client.get(f"{addresses['space']}/copy").status_code == 404
    assert client.post(f"{addresses['space']}/copy").status_code == 404
    assert not ChatSession.objects.filter(owner=stranger).exists()


def test_a_lost_role_closes_the_link_at_once(client, ada, rita, stranger, team, addresses):
    client.force_login(rita)
    member = team.members.get(user=rita)
    members.remove(member, by=ada)
    assert client.get(addresses["space"]).status_code == 404
    members.add_by_email(team, rita.email, "owner", by=ada)
    assert client.get(addresses["space"]).status_code == 200
    # Who shared it has left the space.
    members.leave(team, ada)
    assert client.get(addresses["space"]).status_code == 404
    client.force_login(ada)
    page = client.get("/shared").content.decode()
    assert "Opens no more: it was for members of a space that you have left" in page
    assert team.name not in page
    deletion.delete(team, rita)
    assert list(SharedLink.objects.values_list("scope", flat=True).order_by("scope")) == ["everybody", "signed_in"]


def test_the_dialog_offers_the_scopes_and_the_list_shows_them(client, ada, stranger, session, team):
    others = lifecycle.create(stranger, lifecycle.checked_draft("Hidden"))
    client.force_login(ada)
    page = client.get(f"/c/{session.pk}/share").content.decode()
    assert re.findall(r'<option value="(\w+(?:-\d+)?)"', page)[:3] == ["everybody", "signed_in", f"space-{team.pk}"]
    assert "Hidden" not in page
    for scope in ("signed_in", f"space-{team.pk}"):
        assert client.post(f"/c/{session.pk}/share", {"scope": scope}).status_code == 200
    page = client.get("/shared").content.decode()
    assert "Signed-in people who have the link" in page
    assert "Members of “Kitchen” who have the link" in page
    assert client.post(f"/c/{session.pk}/share", {"scope": f"space-{others.pk}"}).status_code == 422
    for wrong in ("nobody", "space", "space-", "space-x"):
        assert client.post(f"/c/{session.pk}/share", {"scope": wrong}).status_code == 400
    assert SharedLink.objects.count() == 2
    viewers = client.get(f"/c/{session.pk}/viewers").content.decode()
    assert "Members of “Kitchen” who have the link to a copy" in viewers


def test_programs_and_the_audit_log_know_the_scope(adas, strangers, rita, session, team):
    made = adas.post(f"/sessions/{session.pk}/links", scope="space", space=team.pk, period="day").json()
    assert (made["scope"], made["space"]) == ("space", team.pk)
    assert adas.get("/links").json() == [made | {"address": None}]
    token = made["address"].rpartition("/")[2]
    assert refusal(strangers.post("/links/copy", token=token)) == (404, "not_found")
    assert Program(rita).post("/links/copy", token=token).json()["title"] == f"{session.name} (copy)"
    assert refusal(strangers.post(f"/sessions/{session.pk}/links", period="day")) == (404, "not_found")
    assert refusal(strangers.delete(f"/links/{made['id']}")) == (404, "not_found")
    assert refusal(adas.post(f"/sessions/{session.pk}/links", scope="space")) == (422, "not_shared")
    assert adas.delete(f"/links/{made['id']}").status_code == 204
    events = AuditEvent.objects.filter(kind__startswith="share.").order_by("pk")
    assert [(each.kind, each.space, each.details["scope"]) for each in events] == [
        ("share.made", team.pk, "space"),
        ("share.ended", team.pk, "space"),
    ]


@pytest.fixture
def copied(rita, session):
    link, _ = share.share(session.owner, session, "week", "signed_in")
    return link_copies.copy_link(rita, link)


def test_a_reader_continues_in_a_copy_of_the_text(client, rita, stranger, addresses, session):
    client.force_login(rita)
    page = client.get(addresses["space"]).content.decode()
    assert f'href="{addresses["space"]}/copy"' in page
    assert "ada@example.org shared on" in client.get(f"{addresses['space']}/copy").content.decode()
    opened = client.post(f"{addresses['space']}/copy")["Location"]
    page = client.get(opened).content.decode()
    assert "Copied from what ada@example.org shared on" in page
    assert CLAIM in page
    assert "<strong>good</strong>" in page
    assert "Secretly" not in page
    made = ChatSession.objects.get(owner=rita)
    assert (made.parent, made.space, made.shared_at, made.route) == (None, None, None, None)
    assert "Secretly" not in str(list(made.messages.values_list("content", "meta", "text")))
    assert client.get(f"/c/{session.pk}").status_code == 404
    client.force_login(stranger)
    assert client.get(opened).status_code == 404
    # What is deleted at one person stays with the other.
    session.delete()
    client.force_login(rita)
    assert CLAIM in client.get(opened).content.decode()


def test_nothing_of_a_copy_becomes_memory_by_itself(rita, copied):
    assert flush.request(copied, "left") is None
    assert list(transcript_messages(access_of(copied), 100)) == []
    accepted = send(rita, "Thanks! I like green tea.", copied.pk)
    settle(accepted, "Noted.")
    copied.refresh_from_db()
    claim = claim_flush(flush.request(copied, "left").pk)
    assert [entry.text for entry in claim.said] == ["Thanks! I like green tea.", "Noted."]
    sent = sent_in_turn(access_of(copied), rita, None)
    source = source_of("Rita has moved to Lisbon with her sister Clara.", sent)
    assert source is not None
    assert source.kind == "imported"
    assert source_of("Rita likes green tea.", sent) is None
    assert Flush.objects.get().after_seq == copied.copied_seq


async def test_the_model_is_told_whose_words_they_are(transactional_db, rita, copied, scripted):
    talk = Talk(rita, scripted)
    talk.session_id = copied.pk
    await talk.say("What did they say?")
    sent = [block["text"] for message in scripted.messages[0].body["messages"] for block in message["content"]]
    (notice,) = [number for number, text in enumerate(sent) if "a copy of another person's conversation" in text]
    assert sent[:notice] == [CLAIM, "Have a **good** start."]
