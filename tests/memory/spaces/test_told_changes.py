"""What changes in a space's MEMORY.md reaches a private conversation in the space that is already going on."""

import pytest

from chat.context.prompt import build_request
from chat.conversations.shared import share
from chat.library import spaces
from chat.models import ChatSession
from chat.rendering.details import details_of
from chat.rendering.shown import ShownMessage
from memory.access.load import access_of
from memory.documents.write import Append, Author, Replace, Source, apply
from memory.forgetting.forget import forget
from memory.trust.sources import sent_in_turn
from oneclaw.models import SpaceMember
from tests.conversations import send, settle


class Talk:
    """A private conversation of a member's in a space: say() returns what the model is sent with the message."""

    def __init__(self, user, space=None):
        self.user, self.id = user, None
        self.say("Hello")
        if space is not None:
            ChatSession.objects.filter(pk=self.id).update(space=space)
            self.say("We are in the kitchen now.")

    def say(self, text="And now?"):
        accepted = send(self.user, text, self.id)
        self.id = accepted.turn.session_id
        self.request = build_request(accepted.turn)
        settle(accepted)
        self.accepted = accepted
        return [block["text"] for block in self.request.messages[-1]["content"]]

    @property
    def session(self):
        return ChatSession.objects.get(pk=self.id)


@pytest.fixture
def write(kitchen, space, bob, ada):
    """write(text): the kitchen's MEMORY.md, by Bob; write(text, space) that of another space, by Ada."""

    def write(text, where=kitchen):
        document = where.documents.filter(path="MEMORY.md").first()
        operation = Replace(text, document.version) if document else Append(text)
        return apply(where, "MEMORY.md", operation, Author(Source.PAGE, bob if where == kitchen else ada))

    return write


def test_each_memory_is_told_by_its_name_and_once(kitchen, space, ada, write):
    write("- The oven is broken.\n")
    talk = Talk(ada, kitchen)
    system = talk.request.system[0]["text"]
    assert "The oven is broken." in system
    write("- The oven is mended.\n")
    write("- Ada likes tea.\n", space)
    note, _ = talk.say()
    own, of_space = note.split("\n\nThe memory of the space “Kitchen”, which its members share, was changed")
    assert own.endswith('<lines file="MEMORY.md">\n- Ada likes tea.\n</lines>')
    path = f"spaces/{kitchen.pk}/MEMORY.md"
    removed, added = of_space.split("These lines are new in it; what the person’s own memory")
    assert removed.endswith(f'<lines file="{path}">\n- The oven is broken.\n</lines>\n\n')
    assert added.endswith(f'<lines file="{path}">\n- The oven is mended.\n</lines>')
    assert talk.say() == ["And now?"]
    assert talk.request.system[0]["text"] == system
    # Only what is new since the last note.
    write("- The oven is mended.\n- The sink leaks.\n")
    note, _ = talk.say()
    assert "The sink leaks." in note
    assert "oven" not in note
    assert "Ada" not in note


def test_the_details_name_the_space_and_its_lines_are_not_the_persons_own_words(kitchen, ada, write):
    talk = Talk(ada, kitchen)
    write("- The oven is mended.\n")
    talk.say()
    found = details_of(ShownMessage(talk.accepted.answer)).from_memory
    assert [(each.name, each.text) for each in found] == [("Kitchen: MEMORY.md: new lines", "- The oven is mended.")]
    assert "- The oven is mended." in [each.text for each in sent_in_turn(access_of(talk.session), ada, None).foreign]


def test_a_former_member_and_who_has_left_the_space_are_told_nothing_more(kitchen, ada, cem, write):
    talk, moved = Talk(cem, kitchen), Talk(ada, kitchen)
    write("- The oven is mended.\n")
    SpaceMember.objects.filter(user=cem).delete()
    ChatSession.objects.filter(pk=moved.id).update(space=None)
    for each in (talk, moved):
        assert each.say() == ["And now?"]
        assert "oven" not in str(each.request)


def test_what_was_told_while_it_was_shared_does_not_count_when_it_is_private_again(kitchen, space, ada, write):
    write("- Ada likes tea.\n", space)
    talk = Talk(ada, kitchen)
    share.share(ada, talk.session, kitchen)
    talk.say()
    for number in range(4):
        write(f"- Menu {number}.\n")
    assert "Menu 3" in talk.say()[0]
    share.unshare(ada, talk.session)
    assert "Menu" not in str(talk.say())
    write("- Ada likes coffee.\n", space)
    assert "Ada likes coffee." in talk.say()[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("was_shared", [False, True], ids=["private", "shared"])
def test_what_is_forgotten_in_the_space_leaves_a_conversation_that_has_left_it(kitchen, ada, write, was_shared):
    talk = Talk(ada, kitchen)
    if was_shared:
        share.share(ada, talk.session, kitchen)
        talk.say()
    write("- The oven is mended.\n")
    assert "The oven is mended." in talk.say()[0]
    if was_shared:
        share.unshare(ada, talk.session)
    spaces.move(ada, talk.id, None)
    talk.say()
    # What was sent stays, as everything that an answer was made from.
    assert "The oven is mended." in str(talk.request)
    forget(kitchen, ["- The oven is mended."], ada)
    talk.say()
    assert "The oven is mended." not in str(talk.request)
