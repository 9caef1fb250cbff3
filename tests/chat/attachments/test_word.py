"""What a Word document shows is read: not what was deleted or moved away, and with the notes at its foot and end."""

from chat.attachments import extract, pages
from chat.attachments.examine import FileRefusedError, examine_file
from tests import files


def read(body, **parts):
    """Return the text of a document with this body, whose relations name the other parts."""
    main = files.unpacked(files.docx(body)) | {
        f"word/{name}.xml": f"<w:x {files.W}>{xml}</w:x>" for name, xml in parts.items()
    }
    data = files.archive(main)
    (_, chat), (_, library) = extract.read_office(data, 10_000), pages.office_pages(data, 10_000, 60)
    assert chat["text"] == library["text"]
    return chat["text"].strip()


def run(text, more=""):
    return f"<w:r>{more}<w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_deleted_and_moved_text_is_left_out():
    body = (
        f"<w:p>{run('The fee is ')}"
        "<w:del w:id='1'><w:r><w:delText>100</w:delText><w:tab/><w:noBreakHyphen/></w:r></w:del>"
        f"<w:ins w:id='2'>{run('250')}</w:ins>{run(' francs.')}</w:p>"
        f"<w:p><w:moveFrom w:id='3'>{run('MOVED')}</w:moveFrom></w:p>"
        f"<w:p><w:moveTo w:id='4'>{run('MOVED')}</w:moveTo></w:p>"
    )
    assert read(body) == "The fee is 250 francs.\n\n\n\nMOVED"


def test_what_is_repeated_for_older_programs_is_read_once():
    body = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice><w:p>{run('once')}</w:p></mc:Choice><mc:Fallback><w:p>{run('once')}</w:p></mc:Fallback></mc:AlternateContent>"
    )
    assert read(body) == "once"


def test_notes_stand_at_the_end_by_their_references():
    body = (
        f"<w:p>{run('One')}<w:r><w:footnoteReference w:id='7'/></w:r>"
        f"{run(' two')}<w:r><w:endnoteReference w:id='7'/></w:r>"
        f"{run(' three')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
    )
    notes = (
        f"<w:footnote w:type='separator' w:id='-1'><w:p>{run('no note')}</w:p></w:footnote>"
        f"<w:footnote w:id='2'><w:p>{run('third')}</w:p></w:footnote>"
        f"<w:footnote w:id='7'><w:p>{run('first')}</w:p><w:p>{run('more')}</w:p></w:footnote>"
    )
    end = f"<w:endnote w:id='7'><w:p>{run('second')}</w:p></w:endnote>"
    assert read(body, footnotes=notes, endnotes=end) == (
        "One[^1] two[^2] three[^3]\n\n[^1]: first more\n[^2]: second\n[^3]: third"
    )
    # References without a part of notes.
    assert read(body) == "One two three"


def test_hyphens_and_tabs_between_words_are_kept_and_soft_hyphens_join():
    body = (
        "<w:p><w:pPr><w:tabs><w:tab w:val='left' w:pos='720'/></w:tabs></w:pPr>"
        f"{run('link words')}<w:r><w:noBreakHyphen/></w:r>{run('after')}<w:r><w:tab/></w:r>{run('Donau')}"
        f"<w:r><w:softHyphen/></w:r>{run('dampfer')}<w:r><w:sym w:font='Arial' w:char='00A7'/></w:r></w:p>"
    )
    assert read(body) == "link words-after\tDonaudampfer§"


def test_the_reading_of_ideograms_is_left_out():
    assert (
        read(f"<w:p><w:ruby><w:rt>{run('かん')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby>{run('字')}</w:p>")
        == "漢字"
    )


def test_a_message_reads_the_body_that_the_relations_name():
    parts = files.unpacked(files.docx(files.paragraph("TURBOT")))
    parts["word/document2.xml"] = parts.pop("word/document.xml")
    parts["_rels/.rels"] = files.relations({"rId1": "word/document2.xml"}, "officeDocument")
    assert examine_file("online.docx", files.archive(parts)).text == "TURBOT"


def test_a_table_that_begins_a_document_keeps_its_empty_first_cell():
    table = f"<w:tbl><w:tr><w:tc><w:p/></w:tc><w:tc>{files.paragraph('Q1')}</w:tc></w:tr></w:tbl>"
    assert examine_file("a.docx", files.docx(table)).text == "\tQ1"


def test_a_message_refuses_an_old_word_file_and_one_with_a_password():
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    codes = []
    for data in (container, container + "EncryptedPackage".encode("utf-16-le")):
        try:
            examine_file("a.doc", data)
        except FileRefusedError as refused:
            codes.append(refused.code)
    assert codes == ["type", "locked"]
