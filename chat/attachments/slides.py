"""Read the text of a PowerPoint file, slide by slide, each with the notes of its speaker."""

import zipfile
from collections.abc import Iterator

from chat.attachments.tables import TableText
from chat.attachments.xml_parts import Relations, XmlReader, member

TITLES = ("title", "ctrTitle")


class Presentation(XmlReader):
    """The slides of the presentation whose main part is `part`."""

    hidden_count = 0

    def __init__(self, archive: zipfile.ZipFile, part: str) -> None:
        self._archive = archive
        self._targets = Relations(archive, part).targets
        self._slides: list[str] = []
        self.read(archive, part)

    def __len__(self) -> int:
        return len(self._slides)

    def texts(self, max_chars: int) -> Iterator[str]:
        """Yield the text of each slide up to `max_chars`, in the order of the presentation: its title as a heading,
        cells between tabs."""
        for path in self._slides:
            slide = _Slide(max_chars)
            slide.read(self._archive, path)
            relations = Relations(self._archive, path)
            for diagram in relations.of_type("diagramData"):
                slide.read_if_there(self._archive, diagram)
            text = "".join(slide.parts).strip("\n ")
            notes = _SpeakerNotes(max_chars)
            for part in relations.of_type("notesSlide"):
                notes.read_if_there(self._archive, part)
            said = "".join(notes.parts).strip("\n ")
            yield f"{text}\n\nNotes: {said}" if said else text

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take in a slide."""
        if name == "sldId" and attributes.get("id") in self._targets:
            self._slides.append(self._targets[attributes["id"]])


class _Slide(TableText):
    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        self._is_title = self._is_text = False
        self._mark = ""
        # The depth in elements that repeat content for older programs.
        self._fallback_depth = 0

    def read_if_there(self, archive: zipfile.ZipFile, path: str) -> None:
        """Read a part that has text in the form of slides, unless the file does not have it."""
        if member(archive, path):
            self.read(archive, path)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "Fallback":
                self._fallback_depth += 1
            case "sp":
                self._is_title = False
            case "ph":
                self._is_title = attributes.get("type") in TITLES
            case "p":
                self._mark = "# " if self._is_title else ""
            case "t":
                self._is_text = not self._fallback_depth
            case "br":
                self.write(" ")
            case "tr":
                self.begin_row()
            case "tc":
                # A cell that another one covers is written as an empty cell, so that each is in its column.
                self.begin_cell()

    def end(self, name: str) -> None:
        match name:
            case "Fallback":
                self._fallback_depth -= 1
            case "t":
                self._is_text = False
            case "p":
                self.write(" " if self.is_in_cell else "\n")
            case "sp" | "tbl":
                self.write("\n")
            case "tc":
                self.end_cell()
            case "tr":
                self.end_row()

    def text(self, text: str) -> None:
        if self._is_text:
            self.write(self._mark + text)
            self._mark = ""


class _SpeakerNotes(_Slide):
    """Read what the speaker noted for a slide; its page of notes also has a picture of the slide and its number."""

    def __init__(self, max_chars: int) -> None:
        super().__init__(max_chars)
        self._is_body = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        match name:
            case "sp":
                self._is_body = False
            case "ph":
                self._is_body = attributes.get("type") == "body"

    def write(self, text: str) -> None:
        """Append `text` of the notes."""
        if self._is_body:
            super().write(text)
