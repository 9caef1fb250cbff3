"""Show the number of a cell as its format shows it, because 0.075 in the format 0.00 % is 7.50 %.

Days are written as in ISO 8601 whatever their order in the format, and thousands are not separated, because both are
read differently in different countries.
"""

import datetime as dt
import itertools
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

# The built-in formats by their ids (ECMA-376 part 1, 18.8.30), with those of East Asian and Thai versions of Excel.
BUILT_IN = {
    **dict.fromkeys((1, 59), "0"),
    **dict.fromkeys((2, 60), "0.00"),
    **dict.fromkeys((3, 5, 6, 37, 38, 41, 42, 61), "#,##0"),
    **dict.fromkeys((4, 7, 8, 39, 40, 43, 44, 62), "#,##0.00"),
    **dict.fromkeys((9, 67), "0%"),
    **dict.fromkeys((10, 68), "0.00%"),
    **dict.fromkeys((11,), "0.00E+00"),
    **dict.fromkeys((12, 69), "# ?/?"),
    **dict.fromkeys((13, 70), "# ??/??"),
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 55), 57, 58, *range(71, 75), 81), "yyyy-mm-dd"),
    **dict.fromkeys((18, 20, 32, 75), "h:mm"),
    **dict.fromkeys((19, 21, 33, 76), "h:mm:ss"),
    **dict.fromkeys((22, 77), "yyyy-mm-dd h:mm"),
    **dict.fromkeys((45, 47, 78, 80), "mm:ss"),
    **dict.fromkeys((46, 79), "[h]:mm:ss"),
    48: "##0.0E+0",
}
# A day in Japanese and a time in Chinese versions.
DAY_OR_TIME = frozenset({34, 35, 55, 56})
# The parts of a format: quoted and escaped text, room for a character, currencies, elapsed time, conditions and
# colours, and letters and placeholders.
TOKENS = re.compile(
    r'"(?P<quoted>[^"]{0,100})"|\\(?P<escaped>.)|(?P<room>[_*].)|\[\$(?P<currency>[^\]-]{0,20})[^\]]{0,20}\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>[<>=]+-?[\d.]+)\]|\[[^\]]{0,40}\]"
    r"|(?P<half>AM/PM|A/P|上午/下午)|(?P<general>General|Standard)|(?P<exponent>E[+-])"
    r"|(?P<letters>[ymdhsebg]+|aaa+)|(?P<digit>[0#?])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
# Day 0 of serial dates, which count a 29 February 1900 that never was, until then and after; and of those of old Macs.
FIRST_DAYS = dt.datetime(1899, 12, 31), dt.datetime(1899, 12, 30)
FIRST_DAY_1904 = dt.datetime(1904, 1, 1)
LEAP_DAY_NUMBER = 60
# The largest serial, in the year 9999; digits that a number has; the largest one that is written out.
LAST_SERIAL_NUMBER, DIGITS_MAX_COUNT, WRITTEN_OUT_DIGITS = 2_958_465, 15, 21

Tokens = list[tuple[str, str]]


def format_of(number: int, own: dict[int, str]) -> str:
    """Return the format with the id `number`, where `own` are those of the file. Pure."""
    return own.get(number) or BUILT_IN.get(number, "day or time" if number in DAY_OR_TIME else "General")


def shown(value: float | str, code: str, *, is_1904: bool = False) -> str:
    """Return the number `value` in the format `code`; `is_1904` says from which year its days are counted. Pure."""
    try:
        number = Decimal(general(value))
    except (ValueError, InvalidOperation):
        return str(value)
    if not number.is_finite():
        return str(value)
    if abs(number.adjusted()) >= WRITTEN_OUT_DIGITS:
        return general(value)
    if code == "day or time":
        code = "h:mm" if 0 <= number < 1 else "yyyy-mm-dd"
    tokens, number = _section(code, number)
    kinds = {kind for kind, _ in tokens}
    if "letters" in kinds or "elapsed" in kinds:
        return _moment(number, tokens, is_1904=is_1904) or general(value)
    if "general" in kinds:
        plain = general(str(number))
        return "".join(plain if kind == "general" else text for kind, text in tokens if kind in ("general", "text"))
    return _number(number, tokens) or general(value)


def general(value: float | str) -> str:
    """Return the number `value` without a format: with at most 15 digits, as Excel has them. Pure."""
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return value
    text = format(float(value), f".{DIGITS_MAX_COUNT}g")
    number = Decimal(text)
    return format(number, "f") if number.is_finite() and abs(number.adjusted()) < WRITTEN_OUT_DIGITS else text


def moment(at: dt.datetime) -> str:
    """Return `at` as in ISO 8601: its day alone at midnight, and seconds only where it has some. Pure."""
    if at.time() == dt.time.min:
        return at.date().isoformat()
    return at.isoformat(" ", "seconds" if at.second else "minutes")


@lru_cache(maxsize=256)
def _sections(code: str) -> list[Tokens]:
    """Return the sections of the format `code`: for positive numbers, for negative ones, for 0 and for texts."""
    sections: list[Tokens] = [[]]
    for found in TOKENS.finditer(code):
        kind, text = found.lastgroup or "", found[found.lastgroup] if found.lastgroup else ""
        if (kind, text) == ("other", ";"):
            sections.append([])
        elif kind == "room":
            sections[-1].append(("text", " " if text.startswith("_") else ""))
        elif kind in ("quoted", "escaped", "currency") or (kind == "other" and text not in ".,%/@"):
            sections[-1].append(("text", text))
        elif kind:
            sections[-1].append((kind, text))
    return sections


def _section(code: str, number: Decimal) -> tuple[Tokens, Decimal]:
    """Return the section of the format that is for `number`, and the number that it shows."""
    sections = _sections(code)
    for section in sections:
        condition = next((text for kind, text in section if kind == "condition"), "")
        if condition and _holds(condition, number):
            return section, abs(number) if condition.startswith("<") and number < 0 else number
    plain = [section for section in sections if not any(kind == "condition" for kind, _ in section)]
    if len(plain) < len(sections):
        return (plain or sections)[0], number
    if number < 0 and len(sections) > 1:
        return sections[1], -number
    return sections[2 if number == 0 and len(sections) > 2 else 0], number


def _holds(condition: str, number: Decimal) -> bool:
    sign, limit = re.fullmatch(r"([<>=]+)(.*)", condition).groups()  # type: ignore[union-attr]
    least = Decimal(limit)
    return (
        ("=" in sign and number == least and sign != "<>")
        or ("<" in sign and number < least)
        or (">" in sign and number > least)
    )


def _moment(number: Decimal, tokens: Tokens, *, is_1904: bool) -> str:
    """Return the serial date `number`; "" when it is none."""
    letters = "".join(text.lower() for kind, text in tokens if kind in ("letters", "elapsed"))
    has_time = any(letter in letters for letter in "hs")
    has_day = any(letter in letters for letter in "ydebga") or ("m" in letters and not has_time)
    seconds = round(number * 86_400)
    elapsed = next((text.lower() for kind, text in tokens if kind == "elapsed"), "")
    if elapsed:
        hours, rest = divmod(abs(seconds), 3600)
        sign, tail = "-" if seconds < 0 else "", f":{rest % 60:02}" if "s" in letters or rest % 60 else ""
        return f"{sign}{hours}:{rest // 60:02}{tail}"
    if not 0 <= number <= LAST_SERIAL_NUMBER:
        return ""
    if has_time and not has_day:
        time = (dt.datetime.min + dt.timedelta(seconds=seconds % 86_400)).time()
        return time.isoformat("seconds" if time.second or "s" in letters else "minutes")
    first = FIRST_DAY_1904 if is_1904 else FIRST_DAYS[number >= LEAP_DAY_NUMBER]
    return moment(first + dt.timedelta(seconds=seconds))


def _number(number: Decimal, tokens: Tokens) -> str:
    """Return `number` with the digits, the sign and the texts of the format; "" when it shows nothing of a number."""
    others = [text for kind, text in tokens if kind == "other"]
    digits = [at for at, (kind, _) in enumerate(tokens) if kind == "digit"]
    if not digits:
        text = "".join(text for kind, text in tokens if kind == "text").strip()
        return general(str(number)) if "@" in others else text
    if "/" in others:
        return _fraction(number, tokens)
    number *= 100 ** others.count("%")
    point = next((at for at, token in enumerate(tokens) if token == ("other", ".")), digits[-1] + 1)
    exponent = next((at for at, (kind, _) in enumerate(tokens) if kind == "exponent"), len(tokens))
    decimals = [at for at in digits if point < at < exponent]
    for last in {digits[-1], max((at for at in digits if at < point), default=digits[-1])}:
        # Commas behind the last digit divide by a thousand each.
        for _, text in itertools.takewhile(lambda token: token == ("other", ","), tokens[last + 1 :]):
            number /= 1000 * len(text)
    if exponent < len(tokens):
        return format(number, f".{len(decimals)}E")
    rounded = abs(number).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    whole, _, fraction = format(rounded, "f").partition(".")
    least = sum(tokens[at][1] == "0" for at in decimals)
    while len(fraction) > least and fraction.endswith("0"):
        fraction = fraction[:-1]
    before = [at for at in digits if at < point]
    if not rounded and all(tokens[at][1] == "?" for at in digits) and len(before) < len(tokens):
        # The format of accounts shows a dash for nothing.
        return "".join(text for kind, text in tokens if kind == "text").strip()
    whole = whole.zfill(sum(tokens[at][1] == "0" for at in before))
    filled = _filled(tokens, before, whole) or {digits[0]: whole}
    last = (decimals or before or digits)[-1]
    if fraction:
        filled[last] = filled.get(last, "") + f".{fraction}"
    written = "".join(
        filled.get(at, "") if kind == "digit" else text
        for at, (kind, text) in enumerate(tokens)
        if kind in ("digit", "text") or text == "%"
    )
    return ("-" if number < 0 and rounded else "") + " ".join(written.split())


def _filled(tokens: Tokens, holders: list[int], whole: str) -> dict[int, str]:
    """Return the digits of `whole` by the placeholders that show them: all by the first one, unless text is between."""
    if not holders:
        return {}
    if all(tokens[at][0] != "text" for at in range(holders[0], holders[-1])):
        return {holders[0]: whole}
    first, *later = holders
    split = max(0, len(whole) - len(later))
    shown = dict(zip(reversed(later), reversed(whole[split:]), strict=False))
    return shown | {first: whole[:split]}


def _fraction(number: Decimal, tokens: Tokens) -> str:
    slash = tokens.index(("other", "/"))
    fixed = "".join(text for kind, text in tokens[slash + 1 :] if kind in ("text", "digit") and text.isdigit())
    holders = sum(kind == "digit" for kind, _ in tokens[slash + 1 :])
    value = Fraction(abs(number))
    if fixed.strip("0"):
        parts = Fraction(round(value * int(fixed)), 1), int(fixed)
        whole, over = divmod(int(parts[0]), parts[1])
        under = parts[1]
    else:
        value = value.limit_denominator(10**holders - 1)
        whole, over, under = int(value), (value - int(value)).numerator, value.denominator
    text = " ".join([str(whole)] * bool(whole or not over) + [f"{over}/{under}"] * bool(over))
    return ("-" if number < 0 else "") + text
