"""Decode texts of any encoding: by its mark, as UTF-8, or by what the text says in the encodings that people use.

Nearly any bytes are a text in nearly any older encoding, so that each is believed only when the result is plausible: of
the letters of one language, or mostly of the characters that a language uses most. A text that is plausible in none is
refused, because a wrong guess would be stored and searched without a word.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # UTF-32 before UTF-16, because its marks begin like those of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A text has next to none of these bytes.
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
CONTROLS_MAX_SHARE = 0.01
# What is looked at to find the encoding.
SAMPLE_BYTES = 100_000
# The share of bytes that are no UTF-8 in a text that is taken for damaged UTF-8.
DAMAGED_MAX_SHARE = 0.02
# The share of characters that a plausible decoding has: those of the language, and the frequent ones of other scripts.
OWN_MIN_SHARE, FREQUENT_MIN_SHARE, KANA_MIN_SHARE = 0.98, 0.4, 0.05
COMMON_MIN_SHARE, HANGUL_MIN_SHARE = 0.9, 0.95
# The share of letters without accents in a text of Latin script.
PLAIN_MIN_SHARE = 0.5

WEST = "äöüßàâæçéèêëîïôœùûÿáíñóúãåì"
# Encodings with the letters beyond ASCII of the languages that are written in them, the usual ones first. Letters that
# are frequent where a text of the encodings below is read wrongly are in no language above them.
LATIN = (
    ("cp1252", WEST.replace("ì", "").replace("ã", "")),
    ("cp1252", "æøåäöéèêóòôüáà"),
    ("cp1252", "áâãàçéêíóôõúüªº"),
    ("cp1252", "àèéìíîòóùúç"),
    ("cp1254", "çğıöşüİâîûé"),
    ("cp1252", "áðéíóúýþæöø"),
    ("cp1250", "ąćęłńóśźżé"),
    ("cp1250", "áčďéěíňóřšťúůýžäöü"),
    ("cp1250", "áäčďéíĺľňóôŕšťúýžö"),
    ("cp1250", "áéíóöőúüűä"),
    ("cp1250", "ăâîşţșțé"),
    ("cp1250", "čćđšžéöü"),
    ("iso8859_2", "ąćęłńóśźżé"),
    ("iso8859_2", "áčďéěíňóřšťúůýžäöü"),
    ("iso8859_2", "áäčďéíĺľňóôŕšťúýžö"),
    ("cp1252", "åäöéàšžüõ"),
    ("cp1257", "ąčęėįšųūž"),
    ("cp1257", "āčēģīķļņšūž"),
    ("cp1252", WEST + "øò"),
    ("cp850", WEST),
    ("mac_roman", WEST),
)
# A letter of Latin script beside one of another.
MIXED = re.compile(r"[A-Za-z][^\W\d_A-Za-z]|[^\W\d_A-Za-z][A-Za-z]")
# A sign within a word.
SIGN_IN_WORD = re.compile(r"[^\W\d_]([^\x00-\x7f\w’‘\u00ad·–—\u00a0])(?=[^\W\d_])")
# Signs that are Polish letters in ISO 8859-2, directly behind a letter.
SIGN_BEHIND_LETTER = re.compile(r"[^\W\d_][±¶¼¦]")
# Signs that stand in texts of Latin script, not within words.
SIGNS = frozenset("„“”‚‘’–—…•·€£¥§©®™°«»‹›×±²³½¼¾µ¡¿´†ºª№\u00a0\u00ad")
# Encodings of other alphabets, with the letters that the languages use most.
ALPHABETS = (
    *((name, "оеаинтсрвлкі") for name in ("cp1251", "koi8_u", "cp866", "mac_cyrillic", "iso8859_5")),
    *((name, "αοιετσνηυρςάίέό") for name in ("cp1253", "iso8859_7")),
    ("cp1255", "יוהלאתמרבש"),
    ("cp1256", "اليمنترةوبع"),
    ("cp874", "านรอกเงมยลวด่้ัี"),
)


# Ideograms of which every Chinese text of a few lines has some, and how much of the text they are at least.
FREQUENT_IDEOGRAMS = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所家种事成方"
    "多经去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日月号名公司市京海王李张刘工数电价元第三二"
)
FREQUENT_IDEOGRAMS_MIN_SHARE, FEW_IDEOGRAMS_COUNT = 0.06, 12


class EncodingUnknownError(Exception):
    """The encoding of a text is not known."""


class NoTextError(Exception):
    """The bytes are no text."""


def decode_text(data: bytes) -> str:
    """Return the text of `data`. Raise NoTextError for other bytes, and EncodingUnknownError. Pure."""
    encoding = next((encoding for mark, encoding in BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding is None:
        encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding not in ("utf-8", "utf-8-sig") and len(data) - error.start > 3:
            raise EncodingUnknownError from None
        return data.decode(encoding, "replace")


def encoding_of(data: bytes) -> str:
    """Return the encoding of `data`, which has no mark of it. Raise NoTextError and EncodingUnknownError. Pure."""
    sample = data[:SAMPLE_BYTES]
    if wide := _utf_16(sample):
        return wide
    if len(CONTROLS.findall(sample)) > CONTROLS_MAX_SHARE * len(sample):
        raise NoTextError
    if b"\x1b$" in sample and not _decoded(sample, "iso2022_jp").isascii():
        return "iso2022_jp"
    try:
        data.decode()
        return "utf-8"
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        wrong = text.count("\ufffd")
        if wrong <= DAMAGED_MAX_SHARE * sum(not char.isascii() for char in text):
            return "utf-8"
    for encoding, is_plausible in _CANDIDATES:
        text = _decoded(sample, encoding)
        if text and is_plausible(text):
            return encoding
        if encoding == "cp950" and (found := _of_alphabet(sample)):
            return found
    raise EncodingUnknownError


def _utf_16(sample: bytes) -> str:
    """Return the kind of UTF-16 whose text has mostly characters of Latin script; "" for another text."""
    half = len(sample) // 2
    for encoding, zeros, others in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        if half and len(sample) % 2 == 0 and zeros.count(0) > 0.7 * half and others.count(0) == 0:
            return encoding
    return ""


def _decoded(sample: bytes, encoding: str) -> str:
    """Return the text of the sample; "" when it is none of this encoding. It may end within a character."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return ""


def _share(chars: list[str], of: Callable[[str], bool]) -> float:
    return sum(map(of, chars)) / len(chars) if chars else 0.0


def _is_latin(letters: frozenset[str]) -> Callable[[str], bool]:
    def is_plausible(text: str) -> bool:
        own = [char for char in text if not char.isascii()]
        accented = [char for char in own if char.isalpha() and char not in SIGNS]
        plain = sum(char.isascii() and char.isalpha() for char in text)
        if any(char not in letters for char in accented) and _share(accented, letters.__contains__) < OWN_MIN_SHARE:
            return False
        if len(accented) > PLAIN_MIN_SHARE * (plain + len(accented)) or _has_odd_words(text):
            return False
        return _share(own, lambda char: char in letters or char in SIGNS) >= OWN_MIN_SHARE

    return is_plausible


def _has_odd_words(text: str) -> bool:
    """Return whether signs are within words, or capitals behind small letters, as in texts that are read wrongly."""
    signs = [sign for sign in SIGN_IN_WORD.findall(text) if unicodedata.category(sign)[0] != "M"]
    capitals = sum(left.islower() and right.isupper() and not right.isascii() for left, right in pairwise(text))
    behind = len(SIGN_BEHIND_LETTER.findall(text))
    return len(signs) + behind + capitals > DAMAGED_MAX_SHARE * sum(not char.isascii() for char in text)


def _of_alphabet(sample: bytes) -> str:
    """Return the encoding in which the sample has most letters that are frequent in a language; "" without one."""
    best, found = FREQUENT_MIN_SHARE, ""
    for encoding, frequent in ALPHABETS:
        text = _decoded(sample, encoding)
        script = unicodedata.name(frequent[0]).split()[0]
        others = [char for char in text if not char.isascii()]
        own = [char for char in others if char not in SIGNS]
        share = _share(others, lambda char: char.lower() in frequent)  # noqa: B023
        if (
            share > best
            and _share(own, lambda char: unicodedata.name(char, "").startswith(script)) >= OWN_MIN_SHARE  # noqa: B023
            and len(MIXED.findall(text)) <= DAMAGED_MAX_SHARE * len(own)
            and not _has_odd_words(text)
        ):
            best, found = share, encoding
    return found


def _encodes_as(encoding: str, first: range) -> Callable[[str], bool]:
    """Return the question whether a character has in `encoding` two bytes that begin with one of `first`."""

    def is_there(char: str) -> bool:
        try:
            code = char.encode(encoding)
        except UnicodeEncodeError:
            return False
        return len(code) == 2 and code[0] in first

    return is_there


# The most frequent ideograms of each standard have its first rows.
_is_common_japanese = _encodes_as("euc_jp", range(0xB0, 0xD0))
_is_common_chinese = _encodes_as("gb2312", range(0xB0, 0xD8))
_is_common_taiwanese = _encodes_as("big5", range(0xA4, 0xC7))
_is_common_korean = _encodes_as("euc_kr", range(0xB0, 0xC9))


def _is_kana(char: str) -> bool:
    return "\u3041" <= char <= "\u30fe"


def _is_wide_sign(char: str) -> bool:
    return char in "…—–·“”‘’×○●◎■□◆→※△▲①②③④⑤" or "\u3000" <= char <= "\u3020" or "\uff01" <= char <= "\uff60"


def _is_ideographic(
    is_common: Callable[[str], bool], min_share: float = COMMON_MIN_SHARE, kana_min_share: float = 0.0
) -> Callable[[str], bool]:
    def is_plausible(text: str) -> bool:
        own = [char for char in text if not char.isascii() and not _is_wide_sign(char)]
        return _share(own, is_common) >= min_share and _share(own, _is_kana) >= kana_min_share

    return is_plausible


def _is_chinese(text: str) -> bool:
    own = [char for char in text if not char.isascii() and not _is_wide_sign(char)]
    is_short = len(own) < FEW_IDEOGRAMS_COUNT
    return is_short or _share(own, FREQUENT_IDEOGRAMS.__contains__) >= FREQUENT_IDEOGRAMS_MIN_SHARE


def _is_japanese(char: str) -> bool:
    return _is_kana(char) or _is_common_japanese(char)


_CANDIDATES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    *((name, _is_latin(frozenset(letters + letters.upper()))) for name, letters in LATIN[:1]),
    ("cp932", _is_ideographic(_is_japanese)),
    ("euc_jp", _is_ideographic(_is_japanese, kana_min_share=KANA_MIN_SHARE)),
    ("cp949", _is_ideographic(_is_common_korean, HANGUL_MIN_SHARE)),
    ("gb18030", lambda text: _is_ideographic(_is_common_chinese)(text) and _is_chinese(text)),
    ("cp950", _is_ideographic(_is_common_taiwanese)),
    *((name, _is_latin(frozenset(letters + letters.upper()))) for name, letters in LATIN[1:]),
)
