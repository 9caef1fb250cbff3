"""Small files of every kind that can be attached, made when they are needed."""

import io
import zipfile

from PIL import Image

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def image(size=(40, 30), format="PNG", mode="RGB", colour="teal", **how) -> bytes:
    kept = io.BytesIO()
    Image.new(mode, size, colour).save(kept, format, **how)
    return kept.getvalue()


def pdf(*pages: str, password: str = "") -> bytes:
    """A PDF with a line of text on each page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    kept = io.BytesIO()
    writer.write(kept)
    return kept.getvalue()


def docx(body: str, before: str = "") -> bytes:
    """A Word document with this WordprocessingML inside its body."""
    return archive(
        {"word/document.xml": f"<?xml version='1.0'?>{before}<w:document {W}><w:body>{body}</w:body></w:document>"}
    )


def paragraph(text: str, style: str = "") -> str:
    style = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"


def archive(files) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return kept.getvalue()
