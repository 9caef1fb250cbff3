"""Read the XML of office files as a stream of events, with a limit on its bytes and without document types.

Parts are found by their relations, because only these are fixed: Word Online names the body word/document2.xml. Like
all readers, it runs in a process of its own and imports no other module of the product.
"""

import posixpath
import zipfile
from xml.parsers import expat

# Limit of one XML file.
XML_MAX_BYTES = 64 * 1024 * 1024
READ_BYTES = 64 * 1024
# Kinds of office files by the root element of their main part, and where that part is in a file without relations.
KINDS = {"document": "docx", "presentation": "pptx", "workbook": "xlsx"}
USUAL_PARTS = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "xl/workbook.bin")


class TextLimitError(Exception):
    """The document has more text than its reader may return."""


class XmlReader:
    """Reads one XML file. A subclass has `start`, `end` and `text`, which get names without their namespace."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element; the names of `attributes` have no namespace either."""

    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def text(self, text: str) -> None:
        """Handle text between elements."""

    def read(self, archive: zipfile.ZipFile, path: str) -> None:
        """Parse the file at `path` of `archive` up to the limits. Raise KeyError without one, ValueError for a document
        type, which no office file has and entity expansion attacks need, and ExpatError for broken XML."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = lambda name, attributes: self.start(_bare(name), _bare_keys(attributes))
        parser.EndElementHandler = lambda name: self.end(_bare(name))
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = _refuse
        left = XML_MAX_BYTES
        try:
            with archive.open(member(archive, path) or path) as stream:
                while data := stream.read(READ_BYTES):
                    left -= len(data)
                    if left < 0:
                        return
                    parser.Parse(data, False)
            parser.Parse(b"", True)
        except TextLimitError:
            return


class Relations(XmlReader):
    """The targets of the relations of one part of an office file (of the file itself for ""), by id."""

    def __init__(self, archive: zipfile.ZipFile, part: str = "") -> None:
        self.targets: dict[str, str] = {}
        self._of_type: dict[str, list[str]] = {}
        self._folder = posixpath.dirname(part)
        path = posixpath.join(self._folder, "_rels", f"{posixpath.basename(part)}.rels")
        if member(archive, path):
            self.read(archive, path)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.join("/", self._folder, attributes.get("Target", ""))
            target = posixpath.normpath(target).lstrip("/")
            self.targets[attributes.get("Id", "")] = target
            self._of_type.setdefault(attributes.get("Type", "").rpartition("/")[2], []).append(target)

    def of_type(self, kind: str) -> list[str]:
        """Return the targets of the relations of this type, the last part of its address."""
        return self._of_type.get(kind, [])


class _Root(XmlReader):
    def __init__(self) -> None:
        self.name = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        raise TextLimitError


def main_part(archive: zipfile.ZipFile) -> tuple[str, str]:
    """Return the kind of an office file (docx, pptx, xlsx, xlsb) and the path of its main part; ("", "") for others."""
    for path in (*Relations(archive).of_type("officeDocument"), *USUAL_PARTS):
        if not member(archive, path):
            continue
        if path.endswith(".bin"):
            return "xlsb", path
        root = _Root()
        root.read(archive, path)
        if root.name in KINDS:
            return KINDS[root.name], path
    return "", ""


def member(archive: zipfile.ZipFile, path: str) -> str:
    """Return the name in `archive` of the part `path`, in whichever case and with whichever slashes; "" without one."""
    if path in archive.NameToInfo:
        return path
    wanted = path.lower()
    return next((name for name in archive.namelist() if name.replace("\\", "/").lstrip("/").lower() == wanted), "")


def _bare(name: str) -> str:
    return name.rpartition(" ")[2]


def _bare_keys(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes without namespaces. Of two with one bare name, such as id and r:id, the one with a
    namespace counts."""
    ordered = sorted(attributes.items(), key=lambda each: " " in each[0])
    return {_bare(key): value for key, value in ordered}


def _refuse(*_: object) -> None:
    raise ValueError("a document type declaration")
