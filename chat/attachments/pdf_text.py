"""Read the text of a page of a PDF: what it shows, with characters of predefined maps, and what was filled in."""

from typing import Any

UNREADABLE_NOTE = "[Text of this page cannot be read: its font does not say which characters it shows.]"
# The codecs of the predefined maps of characters (ISO 32000-2, 9.7.5.2), without their direction -H or -V. JIS stands
# for two bytes of JIS X 0208 without the bits that EUC sets.
CODECS = {
    **dict.fromkeys(("GB-EUC", "GBpc-EUC", "GBK-EUC", "GBKp-EUC", "GBK2K", "GBT-EUC", "GBTpc-EUC"), "gb18030"),
    **dict.fromkeys(("B5pc", "ETen-B5", "ETenms-B5", "ETHK-B5", "HKscs-B5"), "big5hkscs"),
    **dict.fromkeys(("83pv-RKSJ", "90ms-RKSJ", "90msp-RKSJ", "90pv-RKSJ", "Add-RKSJ", "Ext-RKSJ", "RKSJ"), "cp932"),
    "EUC": "euc_jp",
    **dict.fromkeys(("H", "V", "Add", "Ext"), "JIS"),
    **dict.fromkeys(("KSC-EUC", "KSCms-UHC", "KSCms-UHC-HW", "KSCpc-EUC"), "cp949"),
    "KSC-Johab": "johab",
}
UNICODE_CODECS = {"UCS2": "utf-16-be", "UTF16": "utf-16-be", "UTF8": "utf-8", "UTF32": "utf-32-be"}
# Flags of fields and of what shows them (ISO 32000-2, 12.5.3 and 12.7.4).
HIDDEN_BITS, PASSWORD_BITS, PUSH_BUTTON_BITS = 2, 1 << 13, 1 << 16
# The levels of forms and of fields that are looked through.
NESTING_MAX_DEPTH = 8


def page_text(page: Any) -> str:
    """Return the text of `page`, a pypdf.PageObject, and below it the values of its form and its notes on the page."""
    codecs = _fonts_of(page, NESTING_MAX_DEPTH)
    decoder = _Decoder(codecs)
    # pypdf reads pages of graphics faster without being watched.
    lines = [page.extract_text(visitor_operand_before=decoder if codecs else None).strip("\n ")]
    if decoder.is_unreadable:
        lines.append(UNREADABLE_NOTE)
    filled = [line for annotation in page.annotations or [] if (line := _filled(annotation.get_object()))]
    return "\n\n".join(filter(None, [*lines, "\n".join(filled)]))


class _Decoder:
    """Decodes the texts of fonts with a predefined map, of which pypdf reads most as UTF-16, whose result is rubbish.

    pypdf calls it before each operation with the operands of it, and takes a str as text that is decoded.
    """

    def __init__(self, codecs: dict[str, str]) -> None:
        self.is_unreadable = False
        self._codecs = codecs
        self._codec = ""
        self._saved: list[str] = []

    def __call__(self, operator: bytes, operands: list[Any], *_matrices: object) -> None:
        match operator:
            case b"q":
                self._saved.append(self._codec)
            case b"Q" if self._saved:
                self._codec = self._saved.pop()
            case b"Tf" if operands:
                self._codec = self._codecs.get(operands[0], "")
            case b"Tj" | b"'" | b'"' if self._codec and operands:
                operands[-1] = self._decoded(operands[-1])
            case b"TJ" if self._codec and operands and isinstance(operands[0], list):
                operands[0][:] = [self._decoded(each) for each in operands[0]]

    def _decoded(self, operand: Any) -> Any:
        from pypdf.generic import ByteStringObject, TextStringObject

        if not isinstance(operand, ByteStringObject | TextStringObject):
            return operand
        data = operand.original_bytes
        if self._codec == "unreadable":
            self.is_unreadable = self.is_unreadable or bool(data.strip())
            return TextStringObject("")
        if self._codec == "JIS":
            return TextStringObject(bytes(byte | 0x80 for byte in data).decode("euc_jp", "replace"))
        return TextStringObject(data.decode(self._codec, "replace"))


def _fonts_of(owner: Any, depth: int) -> dict[str, str]:
    """Return the codecs of the fonts of a page or form, and of the forms in it, by their names."""
    resources = _get(owner, "/Resources")
    fonts = _get(resources, "/Font") or {}
    codecs = {name: codec for name in fonts if (codec := _codec_of(fonts[name].get_object()))}
    forms = _get(resources, "/XObject") or {} if depth else {}
    for name in forms:
        form = forms[name].get_object()
        if _get(form, "/Subtype") == "/Form":
            codecs = _fonts_of(form, depth - 1) | codecs
    return codecs


def _codec_of(font: Any) -> str:
    """Return the codec of the texts of `font`; "" when pypdf reads them, "unreadable" when no reader can."""
    if _get(font, "/Subtype") != "/Type0" or "/ToUnicode" in font:
        return ""
    encoding = _get(font, "/Encoding")
    if not isinstance(encoding, str):
        return "unreadable"
    name = encoding.removeprefix("/")
    short = name.removesuffix("-H").removesuffix("-V")
    if short.startswith("Uni"):
        return next((codec for kind, codec in UNICODE_CODECS.items() if kind in short), "unreadable")
    return CODECS.get(short, "unreadable")


def _filled(annotation: Any) -> str:
    """Return what a person filled in where `annotation` is: the name of a field with its value, or a text."""
    if int(_get(annotation, "/F") or 0) & HIDDEN_BITS:
        return ""
    if _get(annotation, "/Subtype") == "/FreeText":
        return _text_of(_get(annotation, "/Contents"))
    if _get(annotation, "/Subtype") != "/Widget":
        return ""
    kind, flags = _inherited(annotation, "/FT"), int(_inherited(annotation, "/Ff") or 0)
    if kind == "/Btn":
        value = str(_get(annotation, "/AS") or "").removeprefix("/")
        value = "" if flags & PUSH_BUTTON_BITS or value == "Off" else value
    elif kind in ("/Tx", "/Ch") and not flags & PASSWORD_BITS:
        value = _text_of(_inherited(annotation, "/V"))
    else:
        return ""
    name = _text_of(_inherited(annotation, "/TU") or _inherited(annotation, "/T"))
    return f"{name}: {value}" if name and value else value


def _inherited(field: Any, key: str) -> Any:
    for _ in range(NESTING_MAX_DEPTH):
        if field is None or key in field:
            break
        field = _get(field, "/Parent")
    return _get(field, key)


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text_of(each.get_object()) for each in value)
    if hasattr(value, "get_data"):
        value = value.get_data().decode("utf-8", "replace")
    return "" if value is None else str(value).replace("\r", "\n").strip()


def _get(owner: Any, key: str) -> Any:
    value = owner.get(key) if owner is not None else None
    return value.get_object() if value is not None else None
