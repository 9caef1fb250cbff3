"""Characters of scripts that put no spaces between words, such as Chinese and Thai: rules about letters and punctuation
that were made for Latin treat them apart."""

import unicodedata

# Letters of Thai, Lao, Tibetan, Burmese and Khmer, which are as wide as Latin ones.
NARROW_RANGES = (("\u0e00", "\u0fff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))


def is_unspaced(char: str) -> bool:
    """Return whether `char` is a letter or punctuation of such a script; "" is not."""
    if char < "\u0e00":
        return False
    if any(first <= char <= last for first, last in NARROW_RANGES):
        return True
    # Emoji are wide, too.
    return unicodedata.east_asian_width(char) in "WFH" and unicodedata.category(char) != "So"


def is_word(char: str) -> bool:
    """Return whether `char` belongs to a word that spaces end: a letter or digit of another script."""
    return char.isalnum() and not is_unspaced(char)


def is_punctuation(char: str) -> bool:
    """Return whether `char` is punctuation or a symbol, as CommonMark means it."""
    return unicodedata.category(char)[0] in "PS"
