"""Files for benchmarks/documents.py: PDF with headers, footers and two columns, office files, HTML and Markdown, all
written by hand, so that the same texts give the same bytes."""

import io
import textwrap
import zipfile
from html import escape

from document_texts import Document

# A page of a PDF in points, its margins, and the lines and characters of a column.
WIDTH, HEIGHT, MARGIN, LINE = 595, 842, 56, 12
COLUMN_CHARS, WIDE_CHARS = 44, 92
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
STAMP = (2026, 11, 23, 0, 0, 0)


def file_of(number: int, document: Document) -> tuple[str, bytes]:
    """Return the name and the bytes of the document with this number: most are PDFs, half of them in two columns."""
    name = f"{number:03}-{document.kind}"
    match number % 20:
        case 3 | 13:
            return f"{name}.docx", docx(document)
        case 6 | 17:
            return f"{name}.pptx", pptx(document)
        case 9:
            return f"{name}.html", html(document)
        case 14:
            return f"{name}.md", markdown(document)
        case _:
            return f"{name}.pdf", pdf(document, has_columns=number % 2 == 0)


def is_paged(name: str) -> bool:
    """Return whether a file of this name has pages."""
    return name.endswith((".pdf", ".pptx"))


def pdf(document: Document, *, has_columns: bool) -> bytes:
    """Return a PDF: the title as the header of each page, the number of the page as its footer."""
    streams = []
    for number, page in enumerate(document.pages, 1):
        width = COLUMN_CHARS if has_columns else WIDE_CHARS
        lines = [page.heading, ""]
        for paragraph in page.paragraphs:
            lines += [*textwrap.wrap(paragraph, width), ""]
        half = -(-len(lines) // 2) if has_columns else len(lines)
        shown = [(MARGIN, HEIGHT - 36, document.title), (WIDTH // 2, 30, f"{number} / {len(document.pages)}")]
        for column, part in enumerate((lines[:half], lines[half:])):
            left, top = MARGIN + column * (WIDTH - MARGIN) // 2, HEIGHT - 72
            shown += [(left, top - LINE * at, line) for at, line in enumerate(part) if line]
        streams.append("\n".join(f"BT /F1 9 Tf {x} {y} Td ({pdf_text(line)}) Tj ET" for x, y, line in shown))
    return pdf_bytes(streams)


def pdf_text(line: str) -> str:
    line = line.replace("–", "-")
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def pdf_bytes(streams: list[str]) -> bytes:
    """Return a PDF whose pages have these content streams."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(streams)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} /MediaBox [0 0 {WIDTH} {HEIGHT}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for at, stream in enumerate(streams):
        resources = "<< /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /Resources {resources} /Contents {5 + 2 * at} 0 R >>")
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252"))
    start = out.tell()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def docx(document: Document) -> bytes:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

    def paragraph(text: str, style: str = "") -> str:
        style = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{style}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"

    body = paragraph(document.title, "Heading1")
    for page in document.pages:
        body += paragraph(page.heading, "Heading2") + "".join(map(paragraph, page.paragraphs))
    return zipped({"word/document.xml": f"<w:document {w}><w:body>{body}</w:body></w:document>"})


def pptx(document: Document) -> bytes:
    p = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    count = len(document.pages)
    ids = "".join(f'<p:sldId id="{256 + at}" r:id="rId{at}"/>' for at in range(count))
    relations = "".join(f'<Relationship Id="rId{at}" Target="slides/slide{at + 1}.xml"/>' for at in range(count))
    parts = {
        "ppt/presentation.xml": f'<p:presentation {p} xmlns:r="{OFFICE}"><p:sldIdLst>{ids}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>',
    }
    for at, page in enumerate(document.pages, 1):
        texts = [("title", [f"{document.title}: {page.heading}"]), ("body", page.paragraphs)]
        shapes = "".join(
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>'
            + "".join(f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>" for text in lines)
            + "</p:txBody></p:sp>"
            for kind, lines in texts
        )
        parts[f"ppt/slides/slide{at}.xml"] = f"<p:sld {p} {a}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
    return zipped(parts)


def html(document: Document) -> bytes:
    parts = [f"<!doctype html><html><head><title>{escape(document.title)}</title></head><body>"]
    parts.append(f"<h1>{escape(document.title)}</h1>")
    for page in document.pages:
        parts.append(f"<h2>{escape(page.heading)}</h2>")
        parts += [f"<p>{escape(paragraph)}</p>" for paragraph in page.paragraphs]
    return "\n".join([*parts, "</body></html>"]).encode()


def markdown(document: Document) -> bytes:
    parts = [f"# {document.title}"]
    for page in document.pages:
        parts += [f"## {page.heading}", *page.paragraphs]
    return "\n\n".join(parts).encode()


def zipped(parts: dict[str, str]) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), text)
    return kept.getvalue()
