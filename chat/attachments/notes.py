"""Write at the end of a document what is not in the flow of its text: notes and comments, headers and footers."""

from collections.abc import Iterable


class NoteNumbers:
    """The texts of the notes of a document by their numbers, in the order of their references."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> str:
        """Add a note and return its reference; "" when it has no text."""
        text = " ".join(text.split())
        if not text:
            return ""
        self._texts.append(text)
        return f"[^{len(self._texts)}]"

    def lines(self) -> list[str]:
        """Return the lines for the end of the document."""
        return [f"[^{number}]: {text}\n" for number, text in enumerate(self._texts, 1)]


def margin_lines(texts: Iterable[str]) -> list[str]:
    """Return a line for each different text of a header or footer that has words. Pure."""
    lines = dict.fromkeys(" ".join(text.split()) for text in texts)
    return [f"Header or footer: {line}\n" for line in lines if any(map(str.isalpha, line))]
