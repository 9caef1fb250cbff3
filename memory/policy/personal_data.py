"""Find bank cards, IBANs, national identity numbers and telephone numbers in a text. Pure.

Check digits decide (python-stdnum has those of each country). A number whose check passes by chance too often counts
only in its usual notation, or after a word that says what it is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext_noop
from stdnum import iban, luhn
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ch import ssn as ahv
from stdnum.cn import ric
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.it import codicefiscale
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.se import personnummer
from stdnum.us import ssn

CARD, IBAN = gettext_noop("card number"), gettext_noop("bank account number")
NATIONAL, PHONE = gettext_noop("identity number"), gettext_noop("telephone number")
# Six digits and more, with what may separate them; or the middle of an Italian codice fiscale. The formats are
# looked for only there, and in a few characters around.
DIGITS = re.compile(r"\d(?:[ ./()-]{0,2}[\dABX]){5,}|\d\d[A-Z]\d\d[A-Z]\d{3}", re.I | re.A)
# What follows the country of an IBAN. It begins with digits, because a pattern that begins with letters is slow.
CHECK_DIGITS_OF_IBAN = re.compile(r"\d{2}(?<=(?<![A-Za-z0-9])[A-Za-z]{2}\d{2})(?:[ -]?[A-Za-z0-9]{1,4}){3,8}")
# Characters before a number in which a word may say what it is.
LABEL_MAX_CHARS = 40


@dataclass(frozen=True)
class PersonalData:
    """A number in a text: its kind, and where it begins and ends."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class NumberFormat:
    """How a kind of number is written, and the check that it passes.

    `notation` alone is enough; what only matches `digits` counts after `label`.
    """

    kind: str
    is_valid: Callable[[str], bool]
    notation: re.Pattern[str] | None = None
    digits: re.Pattern[str] | None = None
    label: re.Pattern[str] | None = None


def personal_data_in(text: str) -> list[PersonalData]:
    """Return the personal data in `text`, in order and without overlaps; a longer number goes before a shorter one."""
    found: list[PersonalData] = []
    taken: set[int] = set()
    windows = [(max(0, run.start() - 8), min(len(text), run.end() + 4)) for run in DIGITS.finditer(text)]
    numbers = (match for form in FORMATS for window in windows for match in _matches(form, text, *window))
    for each in (*_ibans(text), *numbers):
        positions = range(each.start, each.end)
        if taken.isdisjoint(positions):
            taken.update(positions)
            found.append(each)
    return sorted(found, key=lambda each: each.start)


def _ibans(text: str) -> Iterator[PersonalData]:
    """Yield the IBANs: of the groups after a country and two digits, as many as make a valid one."""
    for match in CHECK_DIGITS_OF_IBAN.finditer(text):
        start = match.start() - 2
        ends = [match.start() + separator.start() for separator in re.finditer(r"[ -]|$", match[0])]
        for end in reversed(ends):
            if not re.match(r"[A-Za-z0-9]", text[end : end + 1]) and iban.is_valid(text[start:end]):
                yield PersonalData(IBAN, start, end)
                break


def _matches(form: NumberFormat, text: str, start: int, end: int) -> Iterator[PersonalData]:
    for pattern, label in ((form.notation, None), (form.digits, form.label)):
        for match in pattern.finditer(text, start, end) if pattern else ():
            before = text[max(0, match.start() - LABEL_MAX_CHARS) : match.start()]
            if (label is None or label.search(before)) and form.is_valid(match[0]):
                yield PersonalData(form.kind, match.start(), match.end())


def _is_card(text: str) -> bool:
    """Return whether `text` is the number of a bank card: the brand's first digits and length, and Luhn's check."""
    number = re.sub(r"\D", "", text)
    return bool(BRANDS.fullmatch(number)) and luhn.is_valid(number)


def _is_my_number(text: str) -> bool:
    """Return whether the last digit is that of Japan's My Number (Ordinance 85 of 2014, article 5)."""
    *digits, check = (int(digit) for digit in re.sub(r"\D", "", text))
    rest = sum(digit * (n + 1 if n <= 6 else n - 5) for n, digit in enumerate(reversed(digits), 1)) % 11
    return check == (0 if rest <= 1 else 11 - rest)


def _is_phone(text: str) -> bool:
    return 7 <= len(re.sub(r"\D", "", text)) <= 15


def _number(pattern: str) -> re.Pattern[str]:
    """Return `pattern` as a whole: no letter, digit, or part of a longer number around it.

    Japanese and Chinese characters are no letters here: words there have no spaces around them.
    """
    return re.compile(rf"(?<![\w.,/-])(?<!\d )(?:{pattern})(?![\w]|[.,/-]\d| \d)", re.I | re.A)


def _label(words: str) -> re.Pattern[str]:
    """Return the pattern of text that ends with one of `words` and no other number after it."""
    return re.compile(rf"(?:{words})\D*$", re.I | re.A)


# Visa, Mastercard, American Express, Discover, Diners Club, JCB, Maestro, UnionPay (ISO/IEC 7812 issuer ranges).
BRANDS = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|(?:50|5[6-9]|6[37])\d{14}"
    r"|62\d{14}"
)
# UK National Insurance numbers (HMRC, NIM39110); python-stdnum has no check of them.
NINO = r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"

FORMATS = (
    NumberFormat(CARD, _is_card, _number(r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|3\d{3}([ -]?)\d{6}\2\d{4,5}")),
    # China, Switzerland, France, Italy, Spain: check digits and a form that ordinary numbers do not have.
    NumberFormat(NATIONAL, ric.is_valid, _number(r"\d{17}[\dX]")),
    NumberFormat(NATIONAL, ahv.is_valid, _number(r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}")),
    NumberFormat(NATIONAL, nir.is_valid, _number(r"[1278] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}")),
    NumberFormat(NATIONAL, codicefiscale.is_valid, _number(r"[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]")),
    NumberFormat(NATIONAL, dni.is_valid, _number(r"\d{8}[ -]?[A-Z]|\d{2}\.\d{3}\.\d{3}[ -]?[A-Z]")),
    NumberFormat(NATIONAL, nie.is_valid, _number(r"[XYZ][ -]?\d{7}[ -]?[A-Z]")),
    NumberFormat(NATIONAL, lambda text: True, _number(NINO)),
    NumberFormat(
        NATIONAL,
        ssn.is_valid,
        _number(r"\d{3}-\d{2}-\d{4}"),
        _number(r"\d{3} ?\d{2} ?\d{4}"),
        _label(r"\bssn|social[ -]security(?:[ -]number)?"),
    ),
    NumberFormat(
        NATIONAL,
        idnr.is_valid,
        _number(r"\d{2} \d{3} \d{3} \d{3}"),
        _number(r"\d{11}"),
        _label(r"steuer[- ]?(?:id|ident)\w*|\bidnr\b|\btin\b|tax (?:id|number)"),
    ),
    NumberFormat(
        NATIONAL,
        bsn.is_valid,
        None,
        _number(r"\d{4}[. ]?\d{2}[. ]?\d{3}|\d{9}"),
        _label(r"\bbsn\b|burgerservicenummer|sofi-?nummer"),
    ),
    NumberFormat(
        NATIONAL,
        nn.is_valid,
        _number(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
        _number(r"\d{11}|\d{6}[ -]\d{3}[ .-]\d{2}"),
        _label(r"rijksregister\w*|registre national|national register|\bniss\b|\binsz\b"),
    ),
    NumberFormat(
        NATIONAL,
        personnummer.is_valid,
        _number(r"(?:19|20)?\d{6}[-+]\d{4}"),
        _number(r"(?:19|20)?\d{10}"),
        _label(r"personnummer|personal (?:identity )?number"),
    ),
    NumberFormat(NATIONAL, pesel.is_valid, None, _number(r"\d{11}"), _label(r"\bpesel\b")),
    NumberFormat(
        NATIONAL,
        cpf.is_valid,
        _number(r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
        _number(r"\d{11}"),
        _label(r"\bcpf\b"),
    ),
    NumberFormat(
        NATIONAL,
        _is_my_number,
        None,
        _number(r"\d{4}[ -]?\d{4}[ -]?\d{4}"),
        _label(r"my ?number|マイナンバー|個人番号"),
    ),
    NumberFormat(
        PHONE,
        _is_phone,
        _number(r"\+\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}|\(\d{3}\) ?\d{3}[ -.]\d{4}|\d{3}-\d{3}-\d{4}"),
        _number(r"\(?0?\d{1,5}\)?(?:[ ./-]?\d{2,5}){1,5}"),
        _label(
            r"\btel(?:\.|\b|ephone|efon\w*|éfono)?|\bphone(?: number)?|\bmobile|\bhandy\w*|\bmobil\w*|\bm[oó]vil"
            r"|\bt[eé]l[eé]phone|\bfax|\bcell|\bcall(?: me| her| him)?|\bportable|电话|電話|手机|携帯"
        ),
    ),
)
