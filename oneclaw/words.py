"""Cut text into words for every search, and find the words of a question in a text: the same way in the database, whose
functions are made by migration 0026, and in Python, for the marks on a page.

Letters are compared in lower case, without accents and in the Unicode form NFKC: "Zoë", "zoe" and "ZOË" are one word,
and so are "Straße" and "strasse".
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from django.db.models import F, Func, TextField
from django.db.models.lookups import Contains

# Limits of a question; what is longer is ignored.
QUESTION_MAX_CHARS, QUESTION_MAX_WORDS = 200, 12
# Scripts that are written without spaces, and Hangul, whose particles are attached to the words: the index has each
# pair of their characters.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Marks that do not tell two letters apart: accents, and the vowel signs of Hebrew and Arabic.
ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670]")
# A letter with what belongs to it: accents and voicing marks, and the parts of a decomposed syllable of Hangul.
LETTER = re.compile("(?s:.)[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670\u3099\u309a\u1160-\u11ff]*")
# Letters that the normalization form does not take apart.
PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ς": "σ", "’": "'"}
)
# Categories of characters that are left away around a piece of a question: punctuation, white space, lone accents such
# as the backtick.
AROUND = ("P", "Z", "C", "Sk")
# Emoji, arrows and other symbols are words; those before it, such as ©, are not.
FIRST_SYMBOL = "\u2190"


class Folded(Func):
    """The text of an expression as `folded` returns it."""

    function = "oneclaw_folded"
    output_field = TextField()


@lru_cache(maxsize=8_192)
def folded(text: str) -> str:
    """Return `text` as it is compared: in lower case, without accents, in NFKC. Pure."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFKC", ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    return bare.lower().translate(PLAIN_LETTERS)


def pieces_of(question: str) -> list[str]:
    """Return what `question` asks for between its spaces, folded, each once, without the punctuation around it. Pure.

    A piece may have several words: "settings.py", "2024-05-01", "明日はZoomで".
    """
    cut = [_bare(piece) for piece in question[:QUESTION_MAX_CHARS].split()]
    telling = [folded(piece) for piece in cut if any(map(_tells, piece))]
    return list(dict.fromkeys(telling))[:QUESTION_MAX_WORDS]


def contains(field: str, piece: str) -> Contains:
    """Return the condition that the text of `field` contains the folded `piece`."""
    return Contains(Folded(F(field)), piece)


def is_one_word(piece: str) -> bool:
    """Return whether the index has `piece` as one word, or as the beginning of one. Pure."""
    return (piece.isalpha() or piece.isdigit()) and not UNSPACED.search(piece)


def found_in(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return where `text` has one of the folded `pieces`, as (start, end), in order and without overlaps. Pure.

    Each piece at the beginnings of words if it is at any, otherwise anywhere.
    """
    plain, offsets = _folded_letters(text)
    found: list[tuple[int, int]] = []
    for piece in sorted(pieces, key=len, reverse=True):
        whole = re.escape(piece)
        begins = "" if UNSPACED.match(piece) else r"(?<![^\W_])"
        each = list(re.finditer(begins + whole, plain)) or re.finditer(whole, plain)
        found += [(offsets[one.start()], offsets[one.end()]) for one in each]
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
    return kept


def _folded_letters(text: str) -> tuple[str, Sequence[int]]:
    """Return `text` folded letter by letter, and for each of these letters and for the end its index in `text`."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    starts = [each.start() for each in LETTER.finditer(text)]
    letters = [folded(text[begin:end]) for begin, end in pairwise([*starts, len(text)])]
    offsets = [at for at, letter in zip(starts, letters, strict=True) for _ in letter]
    return "".join(letters), [*offsets, len(text)]


def _bare(piece: str) -> str:
    """Return `piece` without the punctuation around it."""
    kept = [at for at, letter in enumerate(piece) if not unicodedata.category(letter).startswith(AROUND)]
    return piece[kept[0] : kept[-1] + 1] if kept else ""


def _tells(letter: str) -> bool:
    """Return whether a search can find `letter`: a letter, a digit, or a symbol such as an emoji."""
    return letter.isalnum() or (letter >= FIRST_SYMBOL and unicodedata.category(letter) == "So")
