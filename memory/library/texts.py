"""Read lines and pages of a file."""

from dataclasses import dataclass

from memory.models import FilePage, FileVersion, LibraryFile


@dataclass(frozen=True)
class FileText:
    """Consecutive lines of a version, all of one page if `page` is not 0. Lines count from 1 over the whole file."""

    page: int
    first_line: int
    lines: list[str]

    @property
    def last_line(self) -> int:
        """Return the number of the last line."""
        return self.first_line + len(self.lines) - 1


def searched_version(file: LibraryFile) -> FileVersion | None:
    """Return the version of `file` that is searched, without its text: the newest one that was read; None before."""
    found: FileVersion | None = FileVersion.objects.filter(index__file=file).first()
    return found


def page_text(version: FileVersion, number: int) -> FileText | None:
    """Return the text of the page `number`; None when there is no such page."""
    page = FilePage.objects.filter(version=version, number=number).first()
    if page is None:
        return None
    return FileText(number if version.pages else 0, page.first_line, page.text.split("\n"))


def page_of_line(version: FileVersion, line: int) -> int:
    """Return the number of the page that has `line`; 1 without pages."""
    pages = FilePage.objects.filter(version=version, first_line__lte=line).order_by("-number")
    return pages.values_list("number", flat=True).first() or 1


def lines_from(version: FileVersion, first: int, most: int) -> FileText:
    """Return up to `most` lines beginning with `first`, across pages."""
    pages = FilePage.objects.filter(version=version, number__gte=page_of_line(version, first)).order_by("number")
    lines: list[str] = []
    for page in pages.iterator(chunk_size=10):
        skipped = max(0, first - page.first_line)
        lines += page.text.split("\n")[skipped : skipped + most - len(lines)]
        if len(lines) >= most:
            break
    return FileText(0, first, lines)


def whole_text(version: FileVersion) -> str:
    """Return the text of all pages."""
    return "\n".join(version.texts.order_by("number").values_list("text", flat=True))
