"""Session keys: each has the person in it, and no part from outside can pretend to be another route."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from chat.conversations.keys import RouteScope, Sender, beat_key, conversation_key, route_key, sub_session_key

ID = uuid.UUID("2fb2cf29-1b36-4d6b-9e6c-6e2c1c8f6b71")
TELEGRAM = Sender("telegram", "123", "work")
text = st.text(min_size=1, max_size=12)
senders = st.builds(Sender, text, text, text)


def test_a_key_says_its_agent_its_person_and_what_it_is():
    assert conversation_key("oneclaw", 7, ID) == f"agent:oneclaw:user:7:{ID}"
    assert sub_session_key("oneclaw", 7, ID) == f"agent:oneclaw:user:7:sub:{ID}"
    assert beat_key("oneclaw", 7, ID) == f"agent:oneclaw:user:7:beat:{ID}"


def test_each_scope_has_its_route():
    def of(scope):
        return route_key("oneclaw", 7, scope, TELEGRAM)

    assert of(RouteScope.MAIN) == "agent:oneclaw:user:7:main"
    assert of(RouteScope.PER_PEER) == "agent:oneclaw:user:7:dm:123"
    assert of(RouteScope.PER_CHANNEL_PEER) == "agent:oneclaw:user:7:telegram:dm:123"
    assert of(RouteScope.PER_ACCOUNT_CHANNEL_PEER) == "agent:oneclaw:user:7:telegram:work:dm:123"


def test_a_route_without_an_account_is_of_the_default_one():
    found = route_key("oneclaw", 7, RouteScope.PER_ACCOUNT_CHANNEL_PEER, Sender("telegram", "123"))
    assert found == "agent:oneclaw:user:7:telegram:default:dm:123"


@given(one=senders, other=senders, user=st.integers(1, 9), other_user=st.integers(1, 9))
def test_two_routes_share_a_key_only_if_all_parts_of_their_scope_are_the_same(one, other, user, other_user):
    parts = {
        RouteScope.MAIN: lambda sender: (),
        RouteScope.PER_PEER: lambda sender: (sender.peer,),
        RouteScope.PER_CHANNEL_PEER: lambda sender: (sender.channel, sender.peer),
        RouteScope.PER_ACCOUNT_CHANNEL_PEER: lambda sender: (sender.channel, sender.account, sender.peer),
    }
    for scope, of in parts.items():
        same = route_key("oneclaw", user, scope, one) == route_key("oneclaw", other_user, scope, other)
        assert same == ((user, of(one)) == (other_user, of(other)))
