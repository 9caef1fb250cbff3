"""Tables are read by their columns, and numbers as their formats show them, in sheets, documents, slides and pages."""

import datetime as dt
import html
import io
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from chat.attachments import pages
from chat.attachments.number_formats import shown
from tests import files


def read(data, kind="office", most=100_000):
    """Return what the reader of pages says of the file, and the texts of its pages."""
    first, *others = pages.READERS[kind](data, most, 60)
    return first, [each["text"] for each in others]


def text_of(data, kind="office"):
    return "\n".join(read(data, kind)[1])


def saved(document):
    kept = io.BytesIO()
    document.save(kept)
    return kept.getvalue()


def sheet(rows, formats=(), **book):
    """Return a workbook with these cells by their names, and formats of cells."""
    workbook = openpyxl.Workbook()
    for key, value in book.items():
        setattr(workbook, key, value)
    for name, value in rows.items():
        workbook.active[name] = value
    for name, code in formats:
        workbook.active[name].number_format = code
    workbook.active.title = "Staff"
    return workbook


# -- Columns -------------------------------------------------------------------------------------


def test_an_empty_cell_of_a_sheet_keeps_its_column():
    rows = {"A1": "Name", "B1": "Holiday", "C1": "Sick", "D1": "Salary", "A2": "Ada", "C2": 3, "D2": 9000}
    assert text_of(saved(sheet(rows))) == "# Staff\nName\tHoliday\tSick\tSalary\nAda\t\t3\t9000"


def test_a_merged_head_of_a_sheet_stands_over_its_first_column_and_empty_rows_keep_tables_apart():
    workbook = sheet({"B2": "Q1", "D2": "Q2", "B3": "plan", "C3": "real", "D3": "plan", "E3": "real", "C4": 7, "E4": 9})
    workbook.active.merge_cells("B2:C2")
    workbook.active["A9"] = "Other table"
    assert text_of(saved(workbook)) == "# Staff\n\tQ1\t\tQ2\n\tplan\treal\tplan\treal\n\t\t7\t\t9\n\nOther table"


def test_cells_and_rows_without_a_name_are_in_their_order():
    assert text_of(files.xlsx(Teas=[["a", "b"], ["c", 4]])) == "# Teas\na\tb\nc\t4"


def test_hidden_sheets_are_left_out_and_counted():
    workbook = sheet({"A1": "seen"})
    workbook.create_sheet("Hidden").sheet_state = "hidden"
    workbook.create_sheet("Very").sheet_state = "veryHidden"
    workbook.create_chartsheet("Chart")
    first, texts = read(saved(workbook))
    assert (first["pages"], first["hidden"], texts) == (2, 2, ["# Staff\nseen", "# Chart"])


def word_table(*rows):
    cells = [
        "".join(f"<w:tc><w:tcPr>{how}</w:tcPr>{files.paragraph(text)}</w:tc>" for text, how in row) for row in rows
    ]
    return "<w:tbl>" + "".join(f"<w:tr>{each}</w:tr>" for each in cells) + "</w:tbl>"


def test_merged_cells_of_a_word_table_keep_the_columns_of_the_others():
    table = word_table(
        [("Name", ""), ("Holiday", ""), ("Sick", ""), ("Salary", "")],
        [("Ada", '<w:gridSpan w:val="2"/><w:vMerge w:val="restart"/>'), ("3", ""), ("9000", "")],
        [("", '<w:gridSpan w:val="2"/><w:vMerge/>'), ("1", ""), ("8000", "")],
    )
    skipping = table.replace("<w:tr>", '<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>')
    assert text_of(files.docx(table)) == "Name\tHoliday\tSick\tSalary\nAda\t\t3\t9000\n\t\t1\t8000\n\n"
    assert text_of(files.docx(skipping)).startswith("\tName\tHoliday")


def test_a_table_within_a_cell_is_text_of_the_cell():
    inner = word_table([("a", ""), ("b", "")])
    outer = f"<w:tbl><w:tr><w:tc>{inner}<w:p/></w:tc><w:tc>{files.paragraph('c')}</w:tc></w:tr></w:tbl>"
    assert text_of(files.docx(outer)) == "a b\tc\n\n"


def test_merged_cells_of_a_slide_keep_the_columns_of_the_others():
    show = pptx.Presentation()
    table = show.slides.add_slide(show.slide_layouts[6]).shapes.add_table(3, 3, 0, 0, 900, 900).table
    for row, column, text in ((0, 0, "Q1"), (0, 2, "Q2"), (1, 1, "7"), (1, 2, "9"), (2, 2, "5")):
        table.cell(row, column).text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 0).merge(table.cell(2, 0))
    assert text_of(saved(show)) == "Q1\t\tQ2\n\t7\t9\n\t\t5"


def test_merged_cells_of_a_page_keep_the_columns_of_the_others():
    page = b"""<table><tr><th rowspan=2>Name<th colspan=2>Q1<th>Q2<tr><td>plan<td><p>real</p><p>gross</p><td>plan
        <tr><td>Ada<td><td>7<td>9</table><p>End"""
    assert text_of(page, "html") == "Name\tQ1\t\tQ2\n\tplan\treal gross\tplan\nAda\t\t7\t9\n\nEnd"
    assert text_of(b"<table><tr><td><td>B</table>", "html") == "\tB"
    assert text_of(b"<table><tr><td colspan=999999999 rowspan=0>a<td>b</table>", "html").endswith("\tb")


def test_a_table_that_lays_out_a_page_is_read_as_a_page():
    page = b"""<table role=presentation><tr><td><h1>News</h1><ul><li>one<li>two</ul></td><td>Side</td></tr></table>
        <table><tr><td><table><tr><td>a<td><td>b</table></td></tr></table>"""
    assert text_of(page, "html") == "# News\n\n- one\n- two\n\nSide\n\na\t\tb"


def open_sheets(*sheets, styles=""):
    names = " ".join(
        f'xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"'
        for each in ("office", "table", "text", "style")
    )
    body = "".join(
        f'<table:table table:name="{name}" table:style-name="{style}">{rows}</table:table>'
        for name, style, rows in sheets
    )
    content = (
        f"<office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f"<office:spreadsheet>{body}</office:spreadsheet></office:body></office:document-content>"
    )
    return files.archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": content,
            "META-INF/manifest.xml": "<manifest/>",
        }
    )


def test_a_sheet_of_open_document_has_its_columns_formats_and_gaps():
    def cell(kind, shown, **attributes):
        more = " ".join(f'{name.replace("__", ":").replace("_", "-")}="{value}"' for name, value in attributes.items())
        return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{shown}</text:p></table:table-cell>'

    def row(*cells, times=1):
        return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'

    def gap(times):
        return f'<table:table-cell table:number-columns-repeated="{times}"/>'

    noted = (
        '<table:table-cell office:value-type="string"><office:annotation><text:p>note</text:p></office:annotation>'
        "<text:p>Q2</text:p><text:p>more</text:p></table:table-cell>"
    )
    rows = (
        row(
            cell("string", "Ada"),
            gap(2),
            cell("percentage", "7,50 %", office__value="0.075"),
            cell("date", "1.1.25", office__date_value="2025-01-01"),
            cell("float", "01067", office__value="1067"),
            cell("float", "1.234,50", office__value="1234.5"),
            cell("time", "08:30", office__time_value="PT08H30M00S"),
            gap(16000),
        )
        + row(gap(1), times=3)
        + row(cell("string", "Q1", table__number_columns_spanned=2), "<table:covered-table-cell/>", noted, times=2)
        + row(gap(1), times=1048000)
    )
    hidden = (
        '<style:style style:name="h" style:family="table"><style:table-properties table:display="false"/></style:style>'
    )
    first, texts = read(open_sheets(("One", "s", rows), ("Two", "h", rows), styles=hidden))
    assert (first["kind"], first["pages"], first["hidden"]) == ("ods", 1, 1)
    assert texts == ["# One\nAda\t\t\t7,50 %\t2025-01-01\t01067\t1234.5\t08:30\n\nQ1\t\tQ2 more\nQ1\t\tQ2 more"]


# -- Formats -------------------------------------------------------------------------------------


def test_a_number_of_a_sheet_is_shown_as_its_format_shows_it():
    rows = {"A1": 0.075, "B1": dt.time(8, 30), "C1": dt.date(2023, 3, 15), "D1": 1067, "E1": 1234.5, "F1": 0.1 + 0.2}
    codes = {"A1": "0.00%", "B1": "h:mm", "C1": 'yyyy"年"m"月"d"日"', "D1": "00000", "E1": "#,##0.00\\ [$€-407]"}
    workbook = sheet(rows, codes.items())
    workbook.active["G1"] = True
    workbook.active["H1"] = dt.timedelta(hours=36)
    assert text_of(saved(workbook)) == ("# Staff\n7.50%\t08:30\t2023-03-15\t01067\t1234.50 €\t0.3\tTRUE\t36:00:00")


def test_days_of_old_macs_are_counted_from_1904():
    assert text_of(saved(sheet({"A1": dt.date(2025, 1, 1)}, epoch=CALENDAR_MAC_1904))) == "# Staff\n2025-01-01"


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.075, "0%", "8%"),
        (-0.5, "0.0%;[Red]-0.0%", "-50.0%"),
        (45000.75, "d.m.yy h:mm", "2023-03-15 18:00"),
        (45000, "[$-411]ge.m.d;@", "2023-03-15"),
        (45000, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2023-03-15"),
        (1, "d.m.yyyy", "1900-01-01"),
        (61, "d.m.yyyy", "1900-03-01"),
        (0.75, "h:mm AM/PM", "18:00"),
        (0.0006944444, "mm:ss", "00:01:00"),
        (1.5, "[h]:mm", "36:00"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234, "[<=9999999]###-####;(###) ###-####", "555-1234"),
        (4951234567, "[<=9999999]###-####;(###) ###-####", "(495) 123-4567"),
        (1.25, "# ??/??", "1 1/4"),
        (0.5, "# ?/8", "4/8"),
        (12345678, '0.0,,"M"', "12.3M"),
        (12345.678, "0.00E+00", "1.23E+4"),
        (-5, "0.00_);(0.00)", "(5.00)"),
        (-1234.5, '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', "-1234.50 €"),
        (0, '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', "- €"),
        (7, "[$CHF-807]\\ #,##0.00", "CHF 7.00"),
        (20250101, "0000\\-00\\-00", "2025-01-01"),
        (17, '0.0 "°C"', "17.0 °C"),
        (7, 'General" kg"', "7 kg"),
        (1, '"yes";"no"', "yes"),
        (3, ";;;", "3"),
        (1e-7, "General", "0.0000001"),
        (-3, "d.m.yyyy", "-3"),
        ("12345678901234567890", "General", "12345678901234567890"),
        ("#", "0", "#"),
        ("1e300", "0", "1e+300"),
        (1e-300, "0.00", "1e-300"),
    ],
)
def test_formats_of_numbers(value, code, text):
    assert shown(value, code) == text


# -- Kinds of files ------------------------------------------------------------------------------

# Made with xlwt: a gap, numbers with formats, an empty row, merged cells, a formula, and a hidden sheet.
EXCEL_97 = Path(__file__).with_name("excel97.xls")


def test_a_workbook_of_excel_97_is_read_like_a_new_one():
    first, texts = read(EXCEL_97.read_bytes())
    assert (first["kind"], first["pages"], first["hidden"]) == ("xls", 1, 1)
    assert texts == [
        "# Staff\nName\tRate\tStart\tDay\tCode\tFee\tNothing\tLast\n"
        "Ada\t7.50%\t08:30\t2025-01-01\t01067\t1234.50 €\t\t3\n\nMerged\t\t7\nTRUE\t\t-3\t36:00\t12345.7"
    ]


@pytest.mark.parametrize(
    ("kind", "part", "data"),
    [
        ("docx", "word/document.xml", files.docx(files.paragraph("TURBOT"))),
        ("pptx", "ppt/presentation.xml", files.pptx(("TURBOT", "line"))),
        ("xlsx", "xl/workbook.xml", files.xlsx(TURBOT=[["a"]])),
    ],
)
def test_parts_are_found_by_their_relations_under_whichever_name(kind, part, data):
    folder, _, name = part.rpartition("/")
    old = files.unpacked(data)
    moved = {
        each.replace(f"{folder}/", "Content/").replace(name, "Main2.xml"): text.replace(f"/{folder}/", "/Content/")
        for each, text in old.items()
        if not each.endswith(("sharedStrings.xml", "styles.xml"))
    }
    moved["_rels/.rels"] = files.relations({"rId1": "/content/main2.xml"}, "officeDocument")
    if kind == "xlsx":
        moved |= {"other/words.xml": old["xl/sharedStrings.xml"], "other/looks.xml": old["xl/styles.xml"]}
        of_book = (
            files.relations({"s": "/other/words.xml"}, "sharedStrings"),
            files.relations({"t": "../other/looks.xml"}, "styles"),
        )
        rows = "".join(each[each.index("<Relationship ") : each.index("</Relationships>")] for each in of_book)
        path = "Content/_rels/Main2.xml.rels"
        moved[path] = moved[path].replace("</Relationships>", f"{rows}</Relationships>")
    first, texts = read(files.archive(moved))
    assert first["kind"] == kind
    assert "TURBOT" in texts[0]
    assert kind != "xlsx" or texts == ["# TURBOT\na"]


def test_an_office_file_with_a_password_is_locked_and_an_old_word_file_of_another_type():
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    assert read(container + "EncryptedPackage".encode("utf-16-le"))[0] == {"error": "locked"}
    assert read(container)[0] == {"error": "type"}


# -- Whatever the table is -----------------------------------------------------------------------

# As what is written is read again: without white space at the ends, and without what spreadsheets take for a formula.
words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=6).filter(
    lambda text: not text.startswith("=") and "<" not in text and "_x" not in text
)
tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(words, min_size=width, max_size=width), min_size=1, max_size=5)
)


def lines_of(table):
    """Return the table as it is read: cells between tabs, without empty ones at the end."""
    return ["\t".join(row).rstrip("\t") for row in table]


@given(table=tables)
@settings(deadline=None, max_examples=30)
def test_a_table_of_each_program_is_read_as_it_was_written(table):
    workbook, document, show = openpyxl.Workbook(), docx.Document(), pptx.Presentation()
    rows, columns = len(table), len(table[0])
    in_document = document.add_table(rows, columns)
    in_show = show.slides.add_slide(show.slide_layouts[6]).shapes.add_table(rows, columns, 0, 0, 900, 900).table
    for row, cells in enumerate(table):
        for column, text in enumerate(cells):
            cell = workbook.active.cell(row + 1, column + 1, text or None)
            cell.data_type = "s" if text else "n"
            in_document.cell(row, column).text = in_show.cell(row, column).text = text
    lines = lines_of(table)
    assert text_of(saved(document)).rstrip("\n").split("\n") == "\n".join(lines).rstrip("\n").split("\n")
    assert text_of(saved(show)) == "\n".join(lines).strip("\n")
    # Of a sheet, empty rows are one, and none before the first.
    written = text_of(saved(workbook)).split("\n")[1:]
    assert [line for line in written if line] == [line for line in lines if line]
    assert len(written) <= len(lines)


@given(table=tables, as_heads=st.booleans())
def test_a_table_of_a_page_is_read_as_it_was_written(table, as_heads):
    tag = "th" if as_heads else "td"
    rows = ("".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in row) for row in table)
    page = f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    assert [line for line in text_of(page.encode(), "html").split("\n") if line] == [
        line for line in lines_of(table) if line
    ]


@given(
    values=st.lists(
        st.integers(-(10**14), 10**14)
        | st.floats(-1e9, 1e9, allow_nan=False).map(lambda number: float(f"{number:.12g}"))
        | st.dates(dt.date(1900, 3, 1))
        | st.booleans()
        | st.none(),
        min_size=1,
        max_size=8,
    ),
    is_mac=st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_the_values_of_a_sheet_are_read_as_they_were_written(values, is_mac):
    workbook = openpyxl.Workbook()
    if is_mac:
        workbook.epoch = CALENDAR_MAC_1904
        values = [each for each in values if type(each) is not dt.date or each.year > 1904]
    workbook.active.append(["x", *values, "x"])
    first, *cells, last = text_of(saved(workbook)).split("\n")[1].split("\t")
    assert (first, last) == ("x", "x")
    for value, cell in zip(values, cells, strict=True):
        if value is None:
            assert cell == ""
        elif isinstance(value, bool):
            assert cell == str(value).upper()
        elif isinstance(value, dt.date):
            assert cell == value.isoformat()
        else:
            assert float(cell) == value
