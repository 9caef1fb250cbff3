"""Commands for a person, files on the disk and shared links: each is for those whom tests/access/table.py names."""

import io
from argparse import _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError, call_command, get_commands, load_command_class

from chat.models import SharedLink
from chat.transfer import share as links
from tests.access import table
from tests.access.addresses import Asking
from tests.access.cast import COMMON, with_people
from tests.access.fingerprint import BY_READING, fingerprint
from tests.access.roles import MAY, PEOPLE, rules_of
from tests.conversations import send, settle

COMMANDS = {name: word for name, (word,) in rules_of(table.COMMANDS).items()}
LINKS = {name: word for name, (word,) in rules_of(table.LINKS).items()}
# Those that write files below a folder.
EXPORTING = {"memory export", "library export"}
# Those that change something for whoever may, of whom none asks.
CHANGING = {"memory import", "memory forget", "memory flush", "memory lab", "library add"}


def commands() -> Iterator[tuple[str, bool]]:
    """Yield the commands of the product that take a person, each with whether it takes a space."""
    for name, app in get_commands().items():
        if app not in ("oneclaw", "chat", "memory"):
            continue
        parser = load_command_class(app, name).create_parser("manage.py", name)
        for action in parser._actions:
            for choice, inner in action.choices.items() if isinstance(action, _SubParsersAction) else ():
                options = inner._option_string_actions
                if "--user" in options:
                    yield f"{name} {choice}", "--space" in options


def test_every_command_for_a_person_does_what_they_may(cast, tmp_path):
    known = dict(commands())
    assert COMMANDS.keys() == known.keys()
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "notes.md").write_text("Notes\n")
    with_words = {
        "memory search": [COMMON],
        "memory forget": ["--with", COMMON],
        "memory import": [str(taken)],
        "library add": [str(taken)],
    }
    wrong, before = [], fingerprint(BY_READING)
    for name, word in COMMANDS.items():
        for role, user in cast.people.items():
            is_allowed = role in MAY[word]
            if is_allowed and name in CHANGING:
                continue
            exported = tmp_path / f"{name} {role}"
            arguments = [
                *with_words.get(name, [str(exported)] if name in EXPORTING else []),
                "--user",
                user.email,
            ]
            told = said([*name.split(), *arguments, *(["--space", str(cast.space.pk)] if known[name] else [])])
            if (told is not None) != is_allowed:
                wrong.append(f"{name}: {role} is told {told}")
            if words := cast.beyond(f"{told} {text_below(exported)}", role):
                wrong.append(f"{name}: {role} reads {words}")
    wrong += [f"{name} has changed" for name, value in fingerprint(BY_READING).items() if value != before[name]]
    assert not wrong, "\n".join(wrong)


def said(arguments: list[str]) -> str | None:
    """Return what the command writes; None when it refuses."""
    output = io.StringIO()
    try:
        call_command(*arguments, stdout=output, stderr=output)
    except CommandError:
        return None
    return output.getvalue()


def text_below(folder: Path) -> str:
    """Return the names and contents of all files below `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(f"{path}\n{path.read_text(errors='replace')}" for path in files)


def test_the_files_of_a_memory_hold_words_of_its_readers_alone(cast):
    readers = {cast.space.pk: MAY["members"], cast.private["space"]: MAY["author"]}
    found = {int(folder.name): cast.words_in(text_below(folder)) for folder in settings.WORKSPACES.iterdir()}
    assert found.keys() >= readers.keys()
    assert found[cast.space.pk] >= {"zqsharedline"}
    for space_id, words in found.items():
        assert not {word for word in words if not readers.get(space_id, frozenset(PEOPLE)) <= cast.words[word]}


def test_the_table_has_every_scope_of_links():
    assert LINKS.keys() == set(SharedLink.Scope.values)


def test_a_link_opens_for_the_people_of_its_scope(transactional_db):
    cast = with_people()
    accepted = send(cast.people["author"], "zqlinked")
    settle(accepted)
    browsers = Asking(cast).browsers
    for scope, word in LINKS.items():
        _, token = links.share(cast.people["author"], accepted.message.session, "week", scope, cast.space.pk)
        opened = {role: browser.get(f"/s/{token}") for role, browser in browsers.items()}
        assert {role for role, page in opened.items() if b"zqlinked" in page.content} == MAY[word], scope
        for role in {"stranger", "outsider"} - MAY[word]:
            assert b"zqspace" not in opened[role].content
