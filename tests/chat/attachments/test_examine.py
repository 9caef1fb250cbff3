"""What a file is and says, by its content; what is refused, with which sentence."""

import base64
import io
import struct
import subprocess
import sys
import tempfile
import zlib
from dataclasses import replace

import pytest
from PIL import Image

from chat.attachments import examine, extract, xml_parts
from chat.attachments.examine import FileRefusedError, examine_file
from oneclaw.fair_slots import NoSlotError
from tests import files


def found(kind, data, longest=1000):
    """What the reader of this kind says, without a process of its own: quicker, and just as true."""
    first, *others = READ[kind](data, longest)
    return first | {"text": "".join(line["text"] for line in others)}


READ = extract.READERS


@pytest.mark.parametrize(
    ("format", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_an_image_of_each_format_stays_as_it_is(format, media_type):
    said = found("image", files.image(format=format))
    assert said == {"media_type": media_type, "width": 40, "height": 30, "text": ""}


def test_of_a_phones_jpeg_with_two_pictures_the_model_is_sent_the_first():
    behind = Image.new("RGB", (20, 10))
    said = found("image", files.image(format="MPO", save_all=True, append_images=[behind]))
    assert (said["media_type"], said["width"], said["height"]) == ("image/jpeg", 40, 30)
    with Image.open(io.BytesIO(base64.b64decode(said["small"]))) as small:
        assert (small.format, small.size) == ("WEBP", (40, 30))


def test_a_large_image_has_a_smaller_copy():
    said = found("image", files.image((4100, 1000)))
    assert (said["width"], said["height"]) == (4100, 1000)
    with Image.open(io.BytesIO(base64.b64decode(said["small"]))) as small:
        assert small.size == (2000, 488)
        assert small.format == "WEBP"


def test_an_image_that_does_not_get_small_by_its_size_gets_it_by_its_quality():
    noise = Image.effect_noise((1500, 1500), 200)
    kept = io.BytesIO()
    noise.save(kept, "PNG")
    assert kept.tell() > extract.IMAGE_MAX_BYTES
    assert len(base64.b64decode(found("image", kept.getvalue())["small"])) <= extract.IMAGE_MAX_BYTES


def test_an_image_that_lies_on_its_side_stands_up():
    exif = Image.Exif()
    exif[extract.ORIENTATION_TAG_ID] = 6
    said = found("image", files.image((40, 30), "JPEG", exif=exif))
    assert (said["width"], said["height"]) == (30, 40)
    with Image.open(io.BytesIO(base64.b64decode(said["small"]))) as small:
        assert small.size == (30, 40)


def test_a_transparent_image_keeps_its_transparency():
    said = found("image", files.image((2100, 10), mode="RGBA", colour="#00000000"))
    with Image.open(io.BytesIO(base64.b64decode(said["small"]))) as small:
        assert small.mode == "RGBA"


def test_an_image_of_too_many_pixels_is_not_decoded():
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    assert found("image", bomb)["error"] == "too_many_pixels"


def test_the_text_of_a_pdf_stands_under_its_pages():
    said = found("pdf", files.pdf("Tea", "Milk"))
    assert said["pages"] == 2
    assert said["text"] == "[page 1]\nTea\n\n[page 2]\nMilk\n\n"


def test_no_more_pages_are_read_than_are_asked_for():
    assert "Milk" not in found("pdf", files.pdf("Tea", "Milk"), longest=5)["text"]


def test_a_page_without_end_is_cut():
    assert len(found("pdf", files.pdf("Tea " * 1000), longest=100)["text"]) == 101


def test_the_process_that_reads_writes_no_more_than_is_read(settings, monkeypatch):
    settings.FILES = replace(settings.FILES, text_max_chars=100_000)
    monkeypatch.setattr("chat.attachments.examine.output_max_bytes", lambda longest: 200)
    # Its one line of text does not come whole.
    data = files.docx(files.paragraph("x" * 500))
    assert examine_file("a.docx", data).text == ""
    program = "from chat.attachments import extract as e; e.LINES_MAX_BYTES = 0; e.main()"
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-c", program, "office", "10"]
        ended = subprocess.run(command, input=data, stdout=said, stderr=subprocess.PIPE, cwd=settings.BASE_DIR)
        assert said.seek(0, io.SEEK_END) == 12 * 10
    assert b"File too large" in ended.stderr


def test_a_text_that_speaks_of_pdfs_is_a_text(settings):
    text = "A PDF begins with %PDF-1.7 in its first line."
    said = examine_file("notes.md", text.encode())
    assert (said.kind, said.media_type, said.text) == ("text", "text/markdown", text)
    settings.FILES = replace(settings.FILES, kinds=["pdf"])
    with pytest.raises(FileRefusedError) as refused:
        examine_file("notes.md", text.encode())
    assert refused.value.code == "corrupt"


def test_who_waits_too_long_for_a_place_is_told_so(monkeypatch):
    monkeypatch.setattr(examine, "EXTRACT_TIMEOUT_SECONDS", 0.01)
    with examine._slots.slot(7, 1):
        with pytest.raises(FileRefusedError) as refused:
            examine_file("cat.png", files.image(), 7)
        assert refused.value.code == "busy"
        assert "Attach “cat.png” again" in refused.value.sentence
        # Another person has the other place, and a third one none.
        with examine._slots.slot(8, 0.01), pytest.raises(NoSlotError), examine._slots.slot(9, 0.01):
            pass
    with examine._slots.slot(7, 0.01):
        pass


def test_a_pdf_with_a_password_is_locked():
    assert found("pdf", files.pdf("Tea", password="secret"))["error"] == "locked"


def test_a_word_document_keeps_headings_lists_and_tables():
    listed = '<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>one</w:t></w:r></w:p>'
    table = f"<w:tbl><w:tr><w:tc>{files.paragraph('a')}</w:tc><w:tc>{files.paragraph('b')}</w:tc></w:tr></w:tbl>"
    deleted = (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>x</w:t><w:br/><w:t>y</w:t></w:r></w:p>"
    )
    said = found("office", files.docx(files.paragraph("Tea", "Heading2") + listed + table + deleted))
    assert said["text"] == "## Tea\n\n- one\n\na\tb\n\nx\ny\n\n"


def test_a_word_document_with_entities_is_not_read():
    bomb = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    with pytest.raises(ValueError, match="document type"):
        found("office", files.docx("<w:p/>", before=bomb))


def test_a_word_document_that_unpacks_without_end_is_read_to_its_limit(monkeypatch):
    body = files.docx(files.paragraph("x" * 100) * 50_000)
    assert len(body) < 100_000
    assert 900 < len(found("office", body)["text"]) <= 1200
    monkeypatch.setattr(xml_parts, "XML_MAX_BYTES", 200_000)
    assert len(found("office", body, longest=10_000_000)["text"]) < 300_000


def test_another_archive_is_no_word_document():
    assert found("office", files.archive({"a.txt": "x"}))["error"] == "type"


@pytest.mark.parametrize("data", [b"caf\xc3\xa9\r\nTea", "café\nTea".encode("utf-8-sig"), "café\nTea".encode("utf-16")])
def test_text_is_read_by_its_byte_order_mark_or_as_utf8(data):
    said = examine_file("notes.md", data)
    assert (said.kind, said.media_type, said.text) == ("text", "text/markdown", "café\nTea")


def test_a_long_text_is_cut_in_its_middle(settings):
    settings.FILES = replace(settings.FILES, text_max_chars=1000)
    said = examine_file("a.txt", b"a" * 5000 + b"end")
    assert len(said.text) < 1100
    assert "the file is longer" in said.text
    assert said.text.endswith("end")


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (b"", "empty", "“x” is empty."),
        (b" \n ", "empty", "“x” is empty."),
        (b"x" * 1025, "too_large", "“x” has 1 kB. The limit is 1 kB per file."),
        (b"MZ\x90\x00\x03", "type", "cannot be attached: “x”. Supported types: images"),
        (b"caf\xe9 \x81\x8d" * 9, "encoding", "The encoding of “x” is not known: save it as UTF-8"),
        (b"one\x00two", "type", "cannot be attached"),
    ],
)
def test_a_refusal_is_one_sentence(settings, data, code, sentence):
    settings.FILES = replace(settings.FILES, max_bytes=1024)
    with pytest.raises(FileRefusedError) as refused:
        examine_file("x", data)
    assert refused.value.code == code
    assert sentence in refused.value.sentence


def test_a_kind_that_the_settings_leave_out_is_refused(settings):
    settings.FILES = replace(settings.FILES, kinds=["text"])
    with pytest.raises(FileRefusedError) as refused:
        examine_file("cat.txt", files.image())
    assert refused.value.code == "type"
    assert "PNG" not in refused.value.sentence


def test_a_file_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("chat.attachments.examine.EXTRACT_TIMEOUT_SECONDS", 0.01)
    with pytest.raises(FileRefusedError) as refused:
        examine_file("cat.png", files.image())
    assert refused.value.code == "corrupt"


def test_a_damaged_file_ends_only_the_process_that_reads_it():
    whole = examine_file("cat.png", files.image())
    assert (whole.kind, whole.width) == ("image", 40)
    for name, data in {
        "cat.png": files.image()[:60],
        "a.pdf": b"%PDF-1.7\nnothing",
        "a.docx": b"PK\x03\x04nothing",
    }.items():
        with pytest.raises(FileRefusedError) as refused:
            examine_file(name, data)
        assert refused.value.code == "corrupt"
        assert name in refused.value.sentence
