"""The people of a space and their shared conversation, for tests."""

from dataclasses import dataclass

from chat.conversations.shared import share
from chat.models import ChatSession
from oneclaw import pubsub
from oneclaw.models import Space, SpaceMember, User
from oneclaw.spaces.signals import roles_changed
from tests.conversations import send, settle

Role = SpaceMember.Role


@dataclass
class Cast:
    """A conversation of Ada's that is shared with a space, and the people around it."""

    session: ChatSession
    space: Space
    people: dict[str, User]

    def __getattr__(self, name):
        return self.people[name]


def person(name, **fields):
    return User.objects.create_user(f"{name.lower()}@example.org", "correct horse battery", first_name=name, **fields)


def give(space, user, role):
    SpaceMember.objects.update_or_create(space=space, user=user, defaults={"role": role})
    announce(space, user)


def take_role(space, user):
    SpaceMember.objects.filter(space=space, user=user).delete()
    announce(space, user)


def announce(space, user):
    """Tell everybody about changed roles, as deleting such a row does."""
    pubsub.notify(f"space:{space.pk}", {"kind": "roles", "users": [user.pk]})
    roles_changed.send_robust(Space, space_id=space.pk, user_ids=frozenset([user.pk]))


def shared_conversation(ada, *, words="Where shall we meet?", answer="In the **park**."):
    """A conversation that `ada` has shared, with an owner of the space, an editor, a reader, and who was a member."""
    people = {"ada": ada, "olga": person("Olga"), "ed": person("Ed"), "rita": person("Rita"), "fay": person("Fay")}
    roles = {"ada": Role.EDITOR, "olga": Role.OWNER, "ed": Role.EDITOR, "rita": Role.READER}
    space = Space.objects.create(owner=people["olga"], kind=Space.Kind.TEAM, name="Lighthouse")
    for name, role in roles.items():
        SpaceMember.objects.create(space=space, user=people[name], role=role)
    accepted = send(ada, words)
    settle(accepted, answer)
    session = share.share(ada, ChatSession.objects.get(pk=accepted.message.session_id), space)
    return Cast(session, space, people)
