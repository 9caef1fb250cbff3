"""Hooks may change the files of a prompt when a head is made."""

from dataclasses import replace

import pytest

from chat.context.heads import head_of, make_head
from chat.extensions import ContextFile, Hook
from memory.prompt import recall
from memory.provenance import details as provenance


@pytest.fixture
def hooked(hooked):
    """Register one handler of context_files until the end of the test."""
    return lambda handler: hooked(Hook("context_files", handler, "house", changes={"files"}))


@pytest.fixture
def files(space, append):
    append(space, "Be kind.", path="SOUL.md")
    append(space, "Likes tea.", path="MEMORY.md")


def test_files_are_added_changed_and_removed(session, files, hooked):
    seen = []

    def change(context):
        seen.append(context)
        soul, memory = context.files
        house = ContextFile("HOUSE.md", "No shoes.\nNo dogs.")
        return replace(context, files=(house, replace(soul, text="Be brief."), memory))

    hooked(change)
    head = make_head(session)
    assert head.system.index("No shoes.") < head.system.index("Be brief.") < head.system.index("Likes tea.")
    assert "Be kind." not in head.system
    assert [(file.path, file.text) for file in seen[0].files] == [
        ("SOUL.md", "Be kind.\n"),
        ("MEMORY.md", "Likes tea.\n"),
    ]
    assert (seen[0].user_id, seen[0].session_id) == (session.owner_id, session.pk)
    items = {item["path"]: (item["kind"], item["revision"], item["lines"]) for item in head.context["memory"]}
    assert items == {
        "HOUSE.md": ("file", None, []),
        "SOUL.md": ("file", None, []),
        "MEMORY.md": ("curated", 1, [1, 1]),
    }


def test_a_head_that_was_made_is_kept_without_asking_again(session, files, hooked):
    asked = []

    def remove(context):
        asked.append(context)
        return replace(context, files=context.files[:1])

    hooked(remove)
    head = make_head(session)
    assert "Likes tea." not in head.system
    assert head_of(session) == head
    assert len(asked) == 1


def test_the_details_name_a_file_of_a_hook_without_a_link(session, files, hooked):
    hooked(lambda context: replace(context, files=(*context.files, ContextFile("HOUSE.md", "No shoes."))))
    make_head(session)
    message = session.messages.model(session=session)
    assert {each.name: bool(each.address) for each in provenance.details(session, message)} == {
        "SOUL.md": True,
        "MEMORY.md": True,
        "HOUSE.md": False,
    }


BROKEN = {
    "raises": lambda context: 1 / 0,
    "returns None": lambda context: None,
    "list": lambda context: replace(context, files=[]),
    "other items": lambda context: replace(context, files=("SOUL.md",)),
    "path twice": lambda context: replace(context, files=context.files * 2),
    "path that ends the tag": lambda context: replace(context, files=(ContextFile('a">', "x"),)),
    "too large": lambda context: replace(context, files=(ContextFile("A.md", "x" * (1024 * 1024 + 1)),)),
    "too many": lambda context: replace(context, files=tuple(ContextFile(f"{n}.md", "x") for n in range(41))),
    "unstorable": lambda context: replace(context, files=(ContextFile("A.md", "\x00"),)),
    "other session": lambda context: replace(context, session_id=None),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_handler_changes_no_file(session, files, hooked, caplog, kind):
    hooked(BROKEN[kind])
    prompt = make_head(session).system
    assert prompt.index("Be kind.") < prompt.index("Likes tea.")
    assert "The hook house at context_files" in caplog.text


def test_a_temporary_conversation_has_no_files_and_asks_no_handler(session, files, hooked):
    hooked(lambda context: pytest.fail("asked"))
    session.mode = "temporary"
    assert recall.workspace_items(session) == []
