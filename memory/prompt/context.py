"""The workspace files that stand in a prompt: who the assistant is, for whom it works, and what is curated.

from memory.prompt import context
context.hooks.append(lambda session, paths: [*paths, "TEAM.md"])    # an app changes the list
"""

from collections.abc import Callable
from dataclasses import dataclass

from chat.models import ChatSession
from memory.policy import switches
from memory.policy.access import own_space
from memory.policy.paths import CURATED, WORKSPACE_FILES
from oneclaw.llm.quoting import quoted, shortened

# What a spawned sub-session sees.
FILES_OF_SPAWNED = ("AGENTS.md", "TOOLS.md")
# A file under this name counts as the other one, where that one is not there.
ALSO_NAMED = {CURATED: "memory.md"}
# Characters that a prompt holds of one file, and of all.
BUDGET, BUDGET_OF_ALL = 20_000, 60_000

# Each gets the session and the paths so far, and returns the paths to use.
hooks: list[Callable[[ChatSession, list[str]], list[str]]] = []


@dataclass(frozen=True)
class ContextFile:
    """A file as the prompt shows it: within its budget, and quoted. `path` is its name in the list."""

    path: str
    text: str


def context_files(session: ChatSession) -> list[ContextFile]:
    """The files of the person's own space that are there and not blank, in order, within both budgets."""
    paths = list(FILES_OF_SPAWNED if session.is_spawned else WORKSPACE_FILES)
    for hook in hooks:
        paths = hook(session, paths)
    if not switches.is_on(session.owner, switches.Switch.SAVED):
        paths = [path for path in paths if path not in (CURATED, *ALSO_NAMED.values())]
    names = [*paths, *(ALSO_NAMED[path] for path in paths if path in ALSO_NAMED)]
    documents = own_space(session).documents.present().filter(path__in=names)
    contents = dict(documents.values_list("path", "content"))
    files, left = [], BUDGET_OF_ALL
    for path in dict.fromkeys(paths):
        name = path if contents.get(path, "").strip() else ALSO_NAMED.get(path, path)
        content = contents.get(name, "").strip()
        if not content or not left:
            continue
        rest = f"find them in {name} with memory_search, or read them with memory_get"
        text = shortened(content, min(BUDGET, left), rest)
        left = max(0, left - len(text))
        files.append(ContextFile(path, quoted("memory" if path == CURATED else "file", text, **_name(path, name))))
    return files


def _name(path: str, name: str) -> dict[str, str]:
    return {"file": name} if path == CURATED else {"name": name}
