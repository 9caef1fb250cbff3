"""A team with an owner, two editors and a reader, and conversations in its space."""

import pytest
from django.utils import timezone

from chat.models import ChatSession, default_agent
from oneclaw.models import Space, SpaceMember, User


@pytest.fixture
def bob(db):
    return User.objects.create_user("bob@example.org", "correct horse battery", first_name="Bob")


@pytest.fixture
def cem(db):
    return User.objects.create_user("cem@example.org", "correct horse battery", first_name="Cem")


@pytest.fixture
def rita(db):
    return User.objects.create_user("rita@example.org", "correct horse battery", first_name="Rita")


@pytest.fixture
def kitchen(ada, bob, cem, rita):
    """A team's space: Ada owns it, Bob and Cem edit, Rita reads."""
    User.objects.filter(pk=ada.pk).update(first_name="Ada")
    ada.first_name = "Ada"
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Kitchen")
    for person, role in ((ada, "owner"), (bob, "editor"), (cem, "editor"), (rita, "reader")):
        SpaceMember.objects.create(space=space, user=person, role=role)
    return space


@pytest.fixture
def shared(kitchen, ada):
    """A conversation of Ada's that is shared with the members of the kitchen."""
    return ChatSession.objects.create(
        key="shared", owner=ada, agent=default_agent(), title="Menu", space=kitchen, shared_at=timezone.now()
    )


@pytest.fixture
def private(kitchen, ada):
    """A private conversation of Ada's in the kitchen's space."""
    return ChatSession.objects.create(key="private", owner=ada, agent=default_agent(), title="My menu", space=kitchen)
