"""Read the XML of office files as a stream of events, with a limit on its bytes and without document types.

Like all readers, it runs in a process of its own and imports no other module of the product.
"""

import posixpath
import zipfile
from xml.parsers import expat

# Limit of one XML file.
XML_MAX_BYTES = 64 * 1024 * 1024
READ_BYTES = 64 * 1024


class XmlReader:
    """Reads one XML file. A subclass has `start`, `end` and `text`, which get names without their namespace."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element; the names of `attributes` have no namespace either."""

    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def text(self, text: str) -> None:
        """Handle text between elements."""

    def read(self, archive: zipfile.ZipFile, path: str) -> None:
        """Parse the file at `path` of `archive` up to the limit. Raise KeyError without one, ValueError for a document
        type, which no office file has and entity expansion attacks need, and ExpatError for broken XML."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = lambda name, attributes: self.start(_bare(name), _bare_keys(attributes))
        parser.EndElementHandler = lambda name: self.end(_bare(name))
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = _refuse
        left = XML_MAX_BYTES
        with archive.open(path) as stream:
            while data := stream.read(READ_BYTES):
                left -= len(data)
                if left < 0:
                    return
                parser.Parse(data, False)
        parser.Parse(b"", True)


class Relations(XmlReader):
    """The targets of the relations of one part of an office file, by their ids."""

    def __init__(self, archive: zipfile.ZipFile, part: str) -> None:
        self.targets: dict[str, str] = {}
        self._folder = posixpath.dirname(part)
        self.read(archive, posixpath.join(self._folder, "_rels", f"{posixpath.basename(part)}.rels"))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.join("/", self._folder, attributes.get("Target", ""))
            self.targets[attributes.get("Id", "")] = posixpath.normpath(target).lstrip("/")


def _bare(name: str) -> str:
    return name.rpartition(" ")[2]


def _bare_keys(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes without namespaces. Of two with one bare name, such as id and r:id, the one with a
    namespace counts."""
    ordered = sorted(attributes.items(), key=lambda each: " " in each[0])
    return {_bare(key): value for key, value in ordered}


def _refuse(*_: object) -> None:
    raise ValueError("a document type declaration")
