"""Ask about imported workspace files, whose text instructs the assistant, before a prompt uses them."""

import re

from memory.models import Suggestion
from memory.policy.suggested import INSTRUCTION_FILES
from memory.trust.rule import SourceText
from memory.trust.suggestions import wait
from oneclaw.models import Space

INSTRUCTING = re.compile(
    r"\b(?:always|never|must|should|do not|don't|you are|you will|whenever|if the user|make sure|remember|"
    r"immer|nie(?:mals)?|musst|sollst|sollte|du bist|sobald|wenn der nutzer|"
    r"toujours|jamais|tu dois|vous devez|tu es|vous êtes|siempre|nunca|debes|eres|cuando el usuario)\b"
    r"|必ず|常に|してください|しないで|なさい|必须|總是|总是|不要|永远|绝不|你是",
    re.IGNORECASE,
)


def ask_about(space: Space, path: str, content: str, name: str) -> Suggestion | None:
    """Let the imported file at `path` wait for a yes, and return the suggestion; None for another file.

    `name` is the name of the import. Call it in the transaction that writes the file.
    """
    if path not in INSTRUCTION_FILES or not content.strip():
        return None
    return wait(space, path, content, SourceText(Suggestion.Kind.INSTRUCTIONS, name, content))


def marked_lines(text: str) -> list[tuple[str, bool]]:
    """Return each line of `text`, and whether it instructs the assistant. Pure."""
    return [(line, bool(INSTRUCTING.search(line))) for line in text.strip("\n").split("\n")]
