"""Read the text of a PowerPoint file, slide by slide."""

import zipfile
from collections.abc import Iterator

from chat.attachments.xml_parts import Relations, XmlReader

PRESENTATION = "ppt/presentation.xml"
TITLES = ("title", "ctrTitle")


def slides(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the text of each slide, in the order of the presentation: its title as a heading, cells between tabs."""
    order = _Order()
    order.read(archive, PRESENTATION)
    targets = Relations(archive, PRESENTATION).targets
    for relation in order.relations:
        slide = _Slide()
        slide.read(archive, targets[relation])
        yield "".join(slide.parts).strip()


class _Order(XmlReader):
    def __init__(self) -> None:
        self.relations: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sldId" and "id" in attributes:
            self.relations.append(attributes["id"])


class _Slide(XmlReader):
    def __init__(self) -> None:
        self.parts: list[str] = []
        self._is_title = self._is_text = False
        self._mark = ""
        self._cell_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "sp":
                self._is_title = False
            case "ph":
                self._is_title = attributes.get("type") in TITLES
            case "p":
                self._mark = "# " if self._is_title else ""
            case "t":
                self._is_text = True
            case "br":
                self.parts.append(" ")
            case "tc":
                self._cell_depth += 1

    def end(self, name: str) -> None:
        match name:
            case "t":
                self._is_text = False
            case "p":
                self.parts.append(" " if self._cell_depth else "\n")
            case "sp" | "tbl":
                self.parts.append("\n")
            case "tc":
                self._cell_depth -= 1
                self.parts.append("\t")
            case "tr":
                self.parts.append("\n")

    def text(self, text: str) -> None:
        if self._is_text:
            self.parts.append(self._mark + text)
            self._mark = ""
