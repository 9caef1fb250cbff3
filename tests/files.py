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


RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def unpacked(data: bytes) -> dict[str, str]:
    """The texts in an archive by their names."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


def relations(targets: dict[str, str], kind: str = "") -> str:
    """The relations of one part: the targets by their ids."""
    of = f' Type="{OFFICE}/{kind}"' if kind else ""
    each = "".join(f'<Relationship Id="{id}"{of} Target="{target}"/>' for id, target in targets.items())
    return f"<Relationships {RELATIONS}>{each}</Relationships>"


def pptx(*slides: tuple[str, str]) -> bytes:
    """A presentation of slides with a title and a line each. They are stored in the opposite order."""
    names = [f"slide{len(slides) - at}.xml" for at in range(len(slides))]
    ids = "".join(f'<p:sldId id="{256 + at}" r:id="rId{at}"/>' for at in range(len(slides)))
    p = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    order = f"<p:sldIdLst>{ids}</p:sldIdLst>"
    parts = {
        "ppt/presentation.xml": f'<p:presentation {p} xmlns:r="{OFFICE}">{order}</p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations({f"rId{at}": f"slides/{name}" for at, name in enumerate(names)}),
    }
    for name, (title, line) in zip(names, slides, strict=True):
        shapes = "".join(
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
            f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
            for kind, text in (("title", title), ("body", line))
        )
        parts[f"ppt/slides/{name}"] = f"<p:sld {p} {a}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
    return archive(parts)


def xlsx(**sheets: list[list[str | float]]) -> bytes:
    """A workbook: rows of cells by the name of their sheet. A cell (date, 45000) shows the day with this number."""
    s = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    strings: list[str] = []

    def cell(value) -> str:
        if isinstance(value, str):
            strings.append(f"<si><t>{value}</t></si>")
            return f'<c t="s"><v>{len(strings) - 1}</v></c>'
        if isinstance(value, tuple):
            return f'<c s="1"><v>{value[1]}</v></c>'
        return f"<c><v>{value}</v></c>"

    parts = {}
    for number, rows in enumerate(sheets.values(), 1):
        data = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{number}.xml"] = f"<worksheet {s}><sheetData>{data}</sheetData></worksheet>"
    named = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="rId{at}"/>' for at, name in enumerate(sheets, 1))
    parts |= {
        "xl/workbook.xml": f'<workbook {s} xmlns:r="{OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            {f"rId{at}": f"/xl/worksheets/sheet{at}.xml" for at in range(1, len(sheets) + 1)}
        ),
        "xl/sharedStrings.xml": f"<sst {s}>{''.join(strings)}</sst>",
        "xl/styles.xml": f'<styleSheet {s}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    return archive(parts)
