"""A message from outside goes to the current conversation of its route, once, and never to another person's."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from chat.conversations import lifecycle, transcript
from chat.conversations.keys import RouteScope, Sender
from chat.conversations.model_choice import Choice
from chat.models import Agent, ChatSession, DmScope, Message, SessionRoute
from chat.routes import deliver
from tests.chat.routes.cast import DISCORD, TELEGRAM, incoming, link_as_owner, route_of, written
from tests.conversations import send, settle


def test_the_scopes_of_agents_are_those_of_the_keys():
    assert {str(scope) for scope in RouteScope} == {value for value in DmScope.values if value}


@pytest.mark.parametrize(
    ("scope", "conversations"),
    [("main", 1), ("per-peer", 2), ("per-channel-peer", 3), ("per-account-channel-peer", 4)],
)
def test_the_scope_decides_which_messages_share_a_conversation(ada, settings, scope, conversations):
    settings.DM_SCOPE = scope
    senders = [TELEGRAM, Sender("telegram", "123", "work"), Sender("discord", "123"), DISCORD, TELEGRAM]
    if scope == "main":
        link_as_owner(ada, TELEGRAM, Sender("discord", "123"), DISCORD)
    sessions = [written(ada, sender=sender) for sender in senders]
    assert len({session.pk for session in sessions}) == conversations
    assert sessions[0] == sessions[-1]


def test_an_agent_may_have_another_scope_than_the_server(ada):
    agent = Agent.objects.create(slug="clerk", name="Clerk", owner=ada, dm_scope="per-peer")
    choice = Choice(agent="clerk")
    first = deliver.accept(ada, incoming(sender=TELEGRAM, choice=choice))
    other = deliver.accept(ada, incoming(sender=DISCORD, choice=choice))
    assert first.message.session_id != other.message.session_id
    assert first.message.session.agent == agent
    assert written(ada).agent.is_default


def test_the_same_peer_of_two_people_is_two_routes(ada, stranger, settings):
    settings.DM_SCOPE = "per-peer"
    own, other = written(ada), written(stranger)
    assert own != other
    assert (own.owner, other.owner) == (ada, stranger)
    assert not ChatSession.objects.visible_to(stranger).filter(pk=own.pk).exists()
    assert SessionRoute.objects.visible_to(stranger).get().session == other


def test_a_message_that_is_sent_again_is_stored_once_also_after_a_reset(ada):
    client_id = uuid.uuid4()
    session = written(ada, client_id=client_id)
    follower = lifecycle.end(session, "reset")
    again = deliver.accept(ada, incoming(client_id=client_id))
    assert (again.duplicate, again.message.session_id) == (True, session.pk)
    assert Message.objects.filter(client_id=client_id).count() == 1
    assert route_of(ada).session == follower
    with pytest.raises(transcript.ClientIdConflictError):
        deliver.accept(ada, incoming("Other", client_id=client_id))


def test_while_an_answer_runs_another_message_is_refused(ada):
    accepted = deliver.accept(ada, incoming())
    with pytest.raises(transcript.SessionBusyError):
        deliver.accept(ada, incoming("And?"))
    settle(accepted)
    assert written(ada, "And?") == accepted.message.session


@pytest.mark.parametrize(
    "leave", [lambda each: lifecycle.end(each, "archive"), lifecycle.delete], ids=["archived", "deleted"]
)
def test_a_conversation_that_is_gone_is_followed_by_a_new_one_like_it(ada, leave):
    session = written(ada)
    ChatSession.objects.filter(pk=session.pk).update(effort="low", mode="chat")
    session.refresh_from_db()
    leave(session)
    follower = written(ada, "Again")
    assert follower != session
    assert (follower.effort, follower.mode, follower.route_id) == ("low", "chat", session.route_id)


def test_what_is_written_on_the_page_counts_for_the_route(ada, clock):
    session = written(ada)
    clock.advance(minutes=5)
    settle(send(ada, "On the page", session.pk))
    route = route_of(ada)
    assert (clock.now - route.started_at).total_seconds() == 300
    assert route.last_person_at == clock.now


def test_what_no_person_wrote_does_not_count(ada, clock):
    session = written(ada)
    before = route_of(ada).last_person_at
    clock.advance(minutes=5)
    locked = lifecycle.lock(ada, session.pk)
    transcript.append(locked, Message.Role.USER, text="By itself", meta={"by": "schedule"})
    settle(send(ada))
    assert route_of(ada).last_person_at == before


def test_a_command_with_a_text_begins_the_next_conversation_with_it_in_its_own_case(ada, ended):
    session = written(ada)
    client_id = uuid.uuid4()
    for _ in range(2):
        follower = written(ada, "Dear MISO", client_id=client_id, ends_by="new")
    assert follower != session
    assert list(follower.messages.filter(role="user").values_list("text", flat=True)) == ["Dear MISO"]
    assert ChatSession.objects.count() == 2
    assert route_of(ada).session == follower


def test_a_command_without_a_text_is_carried_out_once(ada):
    link_as_owner(ada, TELEGRAM, DISCORD)
    session = written(ada)
    key = uuid.uuid4()
    ended = [deliver.end_current(ada, TELEGRAM, key, "reset") for _ in range(2)]
    assert ended[0] == ended[1]
    assert ended[0].session_id == session.pk
    assert written(ada, "Next").pk == ended[0].follower_id
    assert deliver.end_current(ada, DISCORD, uuid.uuid4(), "reset").session_id == ended[0].follower_id


def test_nothing_ends_where_nothing_was_said(ada):
    assert deliver.end_current(ada, TELEGRAM, uuid.uuid4(), "new") is None


@pytest.mark.django_db(transaction=True)
def test_two_first_messages_at_once_make_one_conversation(ada):
    start = threading.Barrier(4)

    def write(number):
        start.wait()
        try:
            return deliver.accept(ada, incoming(str(number))).message.session_id
        except transcript.SessionBusyError:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(write, range(4)))
    assert len(set(found) - {None}) == 1
    assert ChatSession.objects.count() == SessionRoute.objects.count() == 1
    assert Message.objects.filter(role="user").count() == 4 - found.count(None)
