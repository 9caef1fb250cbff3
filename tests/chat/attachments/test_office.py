"""Office files of any program are read whole: with notes, comments, headers and speaker's notes."""

import io
from dataclasses import replace

import docx
import openpyxl
import pptx
import pytest
from openpyxl.comments import Comment
from pptx.util import Inches

from chat.attachments.examine import FileRefusedError, examine_file
from chat.attachments.office import OfficeFileError, open_office
from tests import files

OPEN = (
    'xmlns:office="o" xmlns:text="t" xmlns:table="tb" xmlns:draw="d" xmlns:presentation="p" xmlns:style="s" '
    'xmlns:dc="dc" xmlns:meta="m"'
)


def text_of(data):
    return "\n---\n".join(open_office(data, 100_000).texts)


def saved(document):
    kept = io.BytesIO()
    document.save(kept)
    return kept.getvalue()


def open_document(kind, body, styles="", manifest=""):
    """An OpenDocument file of this kind: text, presentation."""
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {OPEN}>{body}</office:document-content>",
        "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
    }
    if styles:
        parts["styles.xml"] = f"<office:document-styles {OPEN}>{styles}</office:document-styles>"
    return files.archive(parts)


LETTER = """
<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region>
</text:tracked-changes>
<text:h text:outline-level="2">Journey</text:h>
<text:p>To<text:s text:c="2"/>Lyon<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>By
train.</text:p></text:note-body></text:note>, on <text:date>3 May</text:date>
<office:annotation><dc:creator>Ada</dc:creator><dc:date>2026-05-03</dc:date><text:p>Book early</text:p>
</office:annotation></text:p>
<text:list><text:list-item><text:p>tent</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>Sick</text:p></table:table-cell>
</table:table-row></table:table>
"""


def test_a_text_of_open_document_keeps_headings_lists_tables_notes_and_comments():
    header = "<style:header><text:p>Turbot and Sons</text:p></style:header>"
    footer = "<style:footer><text:p>3</text:p></style:footer><style:style><text:p>no text</text:p></style:style>"
    data = open_document("text", LETTER, header + footer)
    file = open_office(data, 100_000)
    assert (file.kind, file.pages) == ("odt", 0)
    assert "".join(file.texts).replace("\n\n\n", "\n\n") == (
        "## Journey\n\nTo  Lyon[^1], on 3 May\n[^2]\n\n- tent\n\nName\t\t\tSick\n\n"
        "[^1]: By train.\n[^2]: Comment: Book early\nHeader or footer: Turbot and Sons\n"
    )


SLIDES = """
<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Plan</text:p></draw:text-box></draw:frame>
<draw:frame><draw:text-box><text:p>Dates</text:p></draw:text-box></draw:frame>
<presentation:notes><draw:page-thumbnail/><draw:frame><draw:text-box><text:p>Speak slowly</text:p></draw:text-box>
</draw:frame></presentation:notes></draw:page>
<draw:page><draw:frame><draw:text-box><text:p>Costs</text:p></draw:text-box></draw:frame></draw:page>
"""


def test_slides_of_open_document_have_their_titles_and_notes():
    file = open_office(open_document("presentation", SLIDES), 100_000)
    assert (file.kind, file.pages) == ("odp", 2)
    assert list(file.texts) == ["# Plan\nDates\n\nNotes: Speak slowly", "Costs"]


def test_an_open_document_with_a_password_is_locked():
    for kind in ("text", "presentation", "spreadsheet"):
        with pytest.raises(OfficeFileError, match="locked"):
            open_office(open_document(kind, "", manifest="<encryption-data/>"), 100)


def test_comments_headers_and_footers_of_word_are_read():
    document = docx.Document()
    run = document.add_paragraph("The boat").runs[0]
    document.add_comment(run, "Which boat?", author="Ada")
    section = document.sections[0]
    section.header.paragraphs[0].text = "Turbot and Sons"
    section.footer.paragraphs[0].text = "7"
    text = text_of(saved(document))
    assert "The boat[^1]" in text
    assert "[^1]: Comment by Ada: Which boat?" in text
    assert text.endswith("Header or footer: Turbot and Sons\n")


def test_what_a_speaker_noted_follows_the_slide():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Plan"
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame.text = "Dates"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    assert text_of(saved(deck)) == "# Plan\n\nDates\n\nNotes: Speak slowly"


def test_comments_on_cells_follow_their_sheet():
    book = openpyxl.Workbook()
    book.active.title = "Staff"
    book.active["B2"] = 3
    book.active["B2"].comment = Comment("Without May", "Ada")
    assert text_of(saved(book)) == "# Staff\n\t3\nComment on B2: Without May"


@pytest.mark.parametrize(
    ("name", "data", "kind", "text"),
    [
        ("a.xlsx", files.xlsx(Staff=[["Ada", 3]], More=[["Ben", 4]]), "sheet", "# Staff\nAda\t3\n\n# More\nBen\t4"),
        ("a.pptx", files.pptx(("Tea", "x"), ("Milk", "y")), "slides", "[slide 1]\n# Tea\n\nx\n\n[slide 2]\n# Milk"),
        ("a.odt", open_document("text", "<text:p>Tea</text:p>"), "docx", "Tea"),
        ("a.odp", open_document("presentation", SLIDES), "slides", "[slide 2]\nCosts"),
    ],
)  # fmt: skip
def test_every_office_file_can_be_attached_to_a_message(settings, name, data, kind, text):
    found = examine_file(name, data)
    assert found.kind == kind
    assert text in found.text
    assert found.media_type.startswith("application/vnd.")
    settings.FILES = replace(settings.FILES, kinds=[each for each in settings.FILES.kinds if each != kind])
    with pytest.raises(FileRefusedError) as refused:
        examine_file(name, data)
    assert refused.value.code == "type"


def test_hidden_sheets_are_said_to_the_model():
    book = openpyxl.Workbook()
    book.active["A1"] = "Ada"
    book.create_sheet("Secret").sheet_state = "hidden"
    assert "[1 hidden sheet(s) of this file are not shown.]" in examine_file("a.xlsx", saved(book)).text
