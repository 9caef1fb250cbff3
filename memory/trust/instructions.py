"""Ask about imported workspace files, whose text instructs the assistant, before a prompt uses them."""

import re

from memory.models import Suggestion
from memory.policy.suggested import INSTRUCTION_FILES
from memory.trust.rule import SourceText
from memory.trust.suggestions import wait
from oneclaw.models import Space

# In a text in lower case. Words with the same first letters stand together, so that few are tried at each place.
INSTRUCTING = re.compile(
    r"\b(?=\w)(?:always|n(?:ever|ie|iemals|unca)|m(?:ust|usst|ake sure)|s(?:hould|ollst|ollte|obald|iempre)|"
    r"d(?:o not|on't|u bist|ebes)|you (?:are|will)|w(?:henever|enn der nutzer)|i(?:f the user|mmer)|remember|"
    r"t(?:oujours|u dois|u es)|jamais|vous (?:devez|êtes)|eres|cuando el usuario)\b"
    r"|必ず|常に|してください|しないで|なさい|必须|總是|总是|不要|永远|绝不|你是"
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
    return [(line, bool(INSTRUCTING.search(line.lower()))) for line in text.strip("\n").split("\n")]
