"""The text of a PDF is read by the map of characters that its font names, with what was filled in; rubbish is not."""

import io

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    TextStringObject,
)

from chat.attachments.pdf_text import UNREADABLE_NOTE, page_text
from memory.library.extract import LibraryFileUnreadableError, read_file
from tests import files


def named(**values):
    return DictionaryObject({NameObject(f"/{name}"): value for name, value in values.items()})


def pdf(content: bytes, encoding: str, in_form: bool = False) -> bytes:
    """Return a page with this content in the font /F1 whose map of characters is `encoding`."""
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    below = named(Type=NameObject("/Font"), Subtype=NameObject("/CIDFontType0"), BaseFont=NameObject("/X"))
    font = named(
        Type=NameObject("/Font"),
        Subtype=NameObject("/Type0"),
        BaseFont=NameObject("/X"),
        Encoding=NameObject(f"/{encoding}"),
        DescendantFonts=ArrayObject([writer._add_object(below)]),
    )
    resources = named(Font=named(F1=writer._add_object(font)))
    stream = DecodedStreamObject()
    stream.set_data(b"BT /F1 12 Tf 20 200 Td " + content + b" ET")
    if in_form:
        stream.update(named(Type=NameObject("/XObject"), Subtype=NameObject("/Form"), Resources=resources))
        resources = named(XObject=named(Fm=writer._add_object(stream)))
        stream = DecodedStreamObject()
        stream.set_data(b"/Fm Do")
    page[NameObject("/Resources")] = resources
    page[NameObject("/Contents")] = writer._add_object(stream)
    return written(writer)


def written(writer):
    kept = io.BytesIO()
    writer.write(kept)
    return kept.getvalue()


def text_of(data):
    return page_text(PdfReader(io.BytesIO(data)).pages[0])


@pytest.mark.parametrize(
    ("encoding", "codec", "text"),
    [
        ("90ms-RKSJ-H", "cp932", "契約の期限は三月末"),
        ("90msp-RKSJ-H", "cp932", "契約の期限は三月末 abc"),
        ("90pv-RKSJ-V", "cp932", "契約の期限"),
        ("EUC-H", "euc_jp", "契約の期限"),
        ("KSCms-UHC-H", "cp949", "계약 만료일은 삼월 말"),
        ("KSC-EUC-V", "euc_kr", "계약 만료일은"),
        ("GBK-EUC-H", "gbk", "合同期限"),
        ("GBKp-EUC-H", "gbk", "合同期限 abc"),
        ("GBK2K-H", "gb18030", "合同期限"),
        ("B5pc-H", "big5", "合約期限"),
        ("HKscs-B5-H", "big5hkscs", "合約期限"),
        ("UniGB-UCS2-H", "utf-16-be", "合同期限"),
        ("UniJIS2004-UTF16-H", "utf-16-be", "契約の期限"),
        ("UniKS-UTF8-H", "utf-8", "계약 만료일은"),
        ("UniCNS-UTF32-H", "utf-32-be", "合約期限"),
    ],
)
def test_a_text_is_decoded_by_the_map_that_its_font_names(encoding, codec, text):
    data = text.encode(codec)
    assert text_of(pdf(b"<%s> Tj" % data.hex().encode(), encoding)) == text
    assert (
        text_of(pdf(b"[<%s> 5 <%s>] TJ" % (data.hex().encode(), data.hex().encode()), encoding, in_form=True))
        == text * 2
    )


def test_a_text_in_the_bytes_of_jis_is_decoded():
    data = bytes(byte & 0x7F for byte in "契約の期限".encode("euc_jp"))
    assert text_of(pdf(b"<%s> Tj" % data.hex().encode(), "H")) == "契約の期限"


@pytest.mark.parametrize("encoding", ["Identity-H", "CNS-EUC-H", "Own"])
def test_a_text_whose_characters_nobody_knows_is_said_to_be_unreadable(encoding):
    data = pdf(b"<00360048> Tj", encoding)
    assert text_of(data) == UNREADABLE_NOTE
    with pytest.raises(LibraryFileUnreadableError) as unreadable:
        read_file("a.pdf", data, print)
    assert unreadable.value.code == "unreadable"


def test_what_was_filled_into_a_form_is_read_below_the_page():
    writer = PdfWriter(clone_from=io.BytesIO(files.pdf("Order")))

    def field(name, kind, **more):
        return named(
            Type=NameObject("/Annot"),
            Subtype=NameObject("/Widget"),
            FT=NameObject(kind),
            T=TextStringObject(name),
            **more,
        )

    parent = writer._add_object(named(FT=NameObject("/Tx"), T=TextStringObject("city"), V=TextStringObject("Bern")))
    fields = [
        field("name", "/Tx", V=TextStringObject("TURBOT")),
        field("f2", "/Tx", V=TextStringObject("Grün"), TU=TextStringObject("Colour")),
        field("empty", "/Tx"),
        field("agreed", "/Btn", AS=NameObject("/Yes"), V=NameObject("/Yes")),
        field("news", "/Btn", AS=NameObject("/Off")),
        field("size", "/Ch", V=ArrayObject([TextStringObject("S"), TextStringObject("M")])),
        field("secret", "/Tx", V=TextStringObject("pass"), Ff=NumberObject(1 << 13)),
        field("hidden", "/Tx", V=TextStringObject("unseen"), F=NumberObject(2)),
        named(Type=NameObject("/Annot"), Subtype=NameObject("/Widget"), Parent=parent),
        named(Type=NameObject("/Annot"), Subtype=NameObject("/FreeText"), Contents=TextStringObject("Typed here")),
    ]
    page = writer.pages[0]
    page[NameObject("/Annots")] = ArrayObject([writer._add_object(each) for each in fields])
    form = named(Fields=page[NameObject("/Annots")], NeedAppearances=BooleanObject(True))
    writer.root_object[NameObject("/AcroForm")] = form
    data = written(writer)
    filled = "Order\n\nname: TURBOT\nColour: Grün\nagreed: Yes\nsize: S, M\ncity: Bern\nTyped here"
    assert text_of(data) == filled
    assert read_file("a.pdf", data, print).texts == [filled]
