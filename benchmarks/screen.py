"""How many keys and personal numbers memory masks, and how many ordinary texts it damages.

    python benchmarks/screen.py [--texts 400] [--seed 1]

Texts are generated: sentences in six languages with valid numbers of each kind in their usual notations, and sentences
with other numbers (orders, parcels, dates, amounts, books, versions, coordinates, hashes). A text counts as found when
nothing of its number is left. Goals: ≥ 99 % found of each kind, ≤ 0.5 % of the ordinary texts masked.
"""

import argparse
import base64
import json
import random
import string
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

from stdnum import luhn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.stage import machine

Random = random.Random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    configure()
    print(machine())
    for kind, make in KINDS.items():
        rng = Random(f"{kind} {chosen.seed}")
        missed = [text for text, number in (make(rng) for _ in range(chosen.texts)) if number in masked_text(text)]
        print(f"{kind:22} {1 - len(missed) / chosen.texts:7.2%} found   {missed[:2] or ''}")
    rng = Random(chosen.seed)
    ordinary = [ordinary_text(rng) for _ in range(chosen.texts * 10)]
    damaged = [text for text in ordinary if masked_text(text) != text]
    print(f"{'ordinary texts':22} {len(damaged) / len(ordinary):7.2%} masked  {damaged[:4] or ''}")
    for name, look_alike in LOOK_ALIKES.items():
        texts = [f"Remember order {look_alike(rng)}." for _ in range(chosen.texts)]
        print(f"{name:22} {sum(masked_text(text) != text for text in texts) / chosen.texts:7.2%} masked")


def configure() -> None:
    """Configure Django with every kind asked, the telephone too."""
    from django.conf import settings

    from memory.policy.secrets import SETTING_NAMES

    settings.configure(SCREEN=dict.fromkeys(SETTING_NAMES.values(), "ask"))


def masked_text(text: str) -> str:
    from memory.policy.secrets import masked

    return masked(text)[0]


def digits(rng: Random, count: int) -> str:
    return "".join(rng.choices(string.digits, k=count))


def grouped(number: str, *sizes: int, separator: str = " ") -> str:
    parts, at = [], 0
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return separator.join(part for part in [*parts, number[at:]] if part)


def until_valid(make: Callable[[], str], is_valid: Callable[[str], bool]) -> str:
    while not is_valid(found := make()):
        pass
    return found


def sentence(rng: Random, number: str, name: str = "") -> str:
    """Return a sentence with `number`, in one of six languages; with `name`, the word for it stands before."""
    around = rng.choice(NAMED if name else UNNAMED)
    return around.format(number=number, name=name)


NAMED = [
    "Please remember: my {name} is {number}.",
    "{name}: {number}",
    "Her {name} is {number}, in case I need it",
    "Merk dir meine {name}: {number}!",
    "Mon {name} est {number}, garde-le",
    "Mi {name} es {number}.",
    "{name}は{number}です",
    "我的{name}是 {number}。",
]
UNNAMED = [
    "Please remember {number} for the booking.",
    "It is {number}, ask me before you use it.",
    "({number}) is mine",
    "Bitte merk dir {number} für später.",
    "Retiens {number} pour la réservation.",
    "Recuerda {number}, por favor.",
    "予約には{number} を使う。",
    "预订用 {number}。",
]


def card(rng: Random) -> tuple[str, str]:
    from stdnum import luhn

    brand, size = rng.choice([("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16)])
    body = brand + digits(rng, size - len(brand) - 1)
    number = body + luhn.calc_check_digit(body)
    separator = rng.choice(["", " ", "-"])
    shown = grouped(number, *((4, 4, 4, 4) if size == 16 else (4, 6, 5)), separator=separator)
    return sentence(rng, shown, rng.choice(["", "card", "Visa"])), shown


def bank_account(rng: Random) -> tuple[str, str]:
    from stdnum import iban

    forms = {
        "DE": lambda: digits(rng, 18),
        "CH": lambda: digits(rng, 17),
        "AT": lambda: digits(rng, 16),
        "NL": lambda: "".join(rng.choices(string.ascii_uppercase, k=4)) + digits(rng, 10),
        "GB": lambda: "".join(rng.choices(string.ascii_uppercase, k=4)) + digits(rng, 14),
        "BE": lambda: digits(rng, 12),
        "PL": lambda: digits(rng, 24),
    }
    country = rng.choice(list(forms))

    def attempt() -> str:
        account = forms[country]()
        return country + iban.calc_check_digits(country + "00" + account) + account

    number = until_valid(attempt, iban.is_valid)
    shown = rng.choice([number, grouped(number, *[4] * 8), number.lower()])
    return sentence(rng, shown, rng.choice(["", "IBAN", "account"])), shown


def identity(rng: Random) -> tuple[str, str]:
    """Return an identity number of one of eleven countries, after its name where its notation alone is not enough."""
    from stdnum.be import nn
    from stdnum.br import cpf
    from stdnum.ch import ssn as ahv
    from stdnum.cn import ric
    from stdnum.de import idnr
    from stdnum.es import dni
    from stdnum.fr import nir
    from stdnum.it import codicefiscale
    from stdnum.nl import bsn
    from stdnum.pl import pesel
    from stdnum.se import personnummer
    from stdnum.us import ssn

    def day() -> tuple[str, str, str]:
        return f"{rng.randrange(40, 99):02}", f"{rng.randrange(1, 13):02}", f"{rng.randrange(1, 28):02}"

    def belgian() -> str:
        year, month, date = day()
        return f"{year}.{month}.{date}-{digits(rng, 3)}.{digits(rng, 2)}"

    def swedish() -> str:
        return "".join(day()) + "-" + digits(rng, 4)

    def polish() -> str:
        return "".join(day()) + digits(rng, 5)

    def french() -> str:
        year, month, _ = day()
        place = f"{rng.randrange(1, 95):02} {digits(rng, 3)} {digits(rng, 3)}"
        return f"{rng.choice('12')} {year} {month} {place} {digits(rng, 2)}"

    def chinese() -> str:
        year, month, date = day()
        return f"110101{'19' + year}{month}{date}{digits(rng, 3)}" + rng.choice(string.digits + "X")

    def british() -> str:
        letters = "".join(rng.choices("ABCEHJLMPRSTW", k=2))
        return f"{letters} {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)} {rng.choice('ABCD')}"

    def italian() -> str:
        year, _, date = day()
        body = "".join(rng.choices("BCDFGLMNPRST", k=6)) + year + rng.choice("ABCDEHLMPRST") + date + "H501"
        return body + codicefiscale.calc_check_digit(body)

    def spanish() -> str:
        body = digits(rng, 8)
        return body + dni.calc_check_digit(body)

    def american() -> str:
        return grouped(digits(rng, 9), 3, 2, 4, separator="-")

    countries: dict[str, tuple[Callable[[], str], Callable[[str], bool], str]] = {
        "US": (american, ssn.is_valid, "social security number"),
        "GB": (british, lambda _: True, ""),
        "DE": (lambda: digits(rng, 11), idnr.is_valid, "Steuer-ID"),
        "FR": (french, nir.is_valid, ""),
        "ES": (spanish, dni.is_valid, ""),
        "IT": (italian, codicefiscale.is_valid, ""),
        "NL": (lambda: digits(rng, 9), bsn.is_valid, "BSN"),
        "BE": (belgian, nn.is_valid, ""),
        "SE": (swedish, personnummer.is_valid, ""),
        "PL": (polish, pesel.is_valid, "PESEL"),
        "CH": (lambda: grouped("756" + digits(rng, 10), 3, 4, 4, separator="."), ahv.is_valid, ""),
        "CN": (chinese, ric.is_valid, ""),
        "BR": (lambda: f"{grouped(digits(rng, 9), 3, 3, separator='.')}-{digits(rng, 2)}", cpf.is_valid, ""),
    }
    make, is_valid, name = countries[rng.choice(list(countries))]
    number = until_valid(make, is_valid)
    return sentence(rng, number, name), number


def phone(rng: Random) -> tuple[str, str]:
    number, name = rng.choice(
        [
            (f"+49 {rng.randrange(150, 180)} {digits(rng, 7)}", ""),
            (f"+1 {rng.randrange(201, 990)}-{rng.randrange(200, 999)}-{digits(rng, 4)}", ""),
            (f"+41 79 {digits(rng, 3)} {digits(rng, 2)} {digits(rng, 2)}", ""),
            (f"+44 20 {digits(rng, 4)} {digits(rng, 4)}", "phone"),
            (f"({rng.randrange(201, 990)}) {rng.randrange(200, 999)}-{digits(rng, 4)}", ""),
            (f"0{rng.randrange(30, 90)} {digits(rng, 7)}", "Telefonnummer"),
            (f"06 {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)}", "téléphone"),
            (f"090-{digits(rng, 4)}-{digits(rng, 4)}", "電話"),
        ]
    )
    return sentence(rng, number, name), number


def key(rng: Random) -> tuple[str, str]:
    letters = string.ascii_letters + string.digits
    prefix, size = rng.choice(
        [
            ("sk-ant-api03-", 40),
            ("sk-proj-", 40),
            ("ghp_", 36),
            ("glpat-", 20),
            ("xoxb-", 30),
            ("AIza", 35),
            ("hf_", 34),
        ]
    )
    number = prefix + "".join(rng.choices(letters, k=size))
    return sentence(rng, number, rng.choice(["", "API key"])), number


def token(rng: Random) -> tuple[str, str]:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    number = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': digits(rng, 6)})}.{part(digits(rng, 20))}"
    return sentence(rng, number, rng.choice(["", "token"])), number


def password(rng: Random) -> tuple[str, str]:
    number = "".join(rng.choices(string.ascii_letters, k=rng.randrange(5, 10))) + digits(rng, 2)
    number += rng.choice(["", "!", "?x", "#1"])
    around = rng.choice(
        [
            "The password is {}",
            "password: {}",
            "Mein Passwort ist {}",
            "Le mot de passe est {}",
            "La contraseña es {}",
            "api_key = {}",
            "postgresql://ada:{}@db.example.org/team",
            "パスワード password: {}",
        ]
    )
    return around.format(number), number


KINDS = {
    "card": card,
    "iban": bank_account,
    "identity": identity,
    "phone": phone,
    "key": key,
    "token": token,
    "password": password,
}


def ordinary_text(rng: Random) -> str:
    """Return a sentence with a number that is not personal."""
    month, day = rng.randrange(1, 13), rng.randrange(1, 28)
    numbers = [
        f"order {digits(rng, rng.randrange(6, 13))}",
        f"order {digits(rng, 3)}-{digits(rng, 7)}-{digits(rng, 7)}",
        f"parcel {digits(rng, 12)}",
        f"parcel 1Z{''.join(rng.choices(string.ascii_uppercase + string.digits, k=16))}",
        f"ISBN 978-{digits(rng, 1)}-{digits(rng, 4)}-{digits(rng, 4)}-{digits(rng, 1)}",
        f"{rng.randrange(1990, 2030)}-{month:02}-{day:02} {rng.randrange(24):02}:{rng.randrange(60):02}",
        f"{day:02}.{month:02}.{rng.randrange(1990, 2030)}",
        f"{rng.randrange(1, 999)},{digits(rng, 3)},{digits(rng, 3)} euros",
        f"{rng.randrange(1, 99)} {digits(rng, 3)} {digits(rng, 3)} CHF",
        f"{rng.uniform(-90, 90):.6f}, {rng.uniform(-180, 180):.6f}",
        f"version {rng.randrange(9)}.{rng.randrange(20)}.{rng.randrange(30)}",
        f"192.168.{rng.randrange(255)}.{rng.randrange(255)}",
        f"commit {uuid.UUID(int=rng.getrandbits(128)).hex}",
        f"ticket {uuid.UUID(int=rng.getrandbits(128))}",
        f"ticket OC-{digits(rng, 5)}",
        f"timestamp {rng.randrange(10**9, 2 * 10**9)}",
        f"timestamp {rng.randrange(10**12, 2 * 10**12)}",
        f"room {digits(rng, 3)}, seats {rng.randrange(1, 40)}-{rng.randrange(40, 90)}",
        f"flight LX{digits(rng, 4)} at {rng.randrange(24):02}:{rng.randrange(60):02}",
        f"scores 3:2, 21:19 and {rng.randrange(100)} %",
        f"chapters {rng.randrange(9)}, {rng.randrange(10, 19)} and {rng.randrange(20, 40)}",
        f"postcode {digits(rng, 5)}, house {rng.randrange(200)}",
        f"{digits(rng, 4)} {digits(rng, 4)} {digits(rng, 4)} as a test pattern",
        f"invoice {rng.randrange(2015, 2027)}/{digits(rng, 5)}",
        f"EAN {digits(rng, 13)}",
        f"meter reading {digits(rng, 8)} kWh",
        f"IMEI 35{(serial := digits(rng, 12))}{luhn.calc_check_digit(f'35{serial}')}",
        f"timestamp {rng.randrange(10**15, 2 * 10**15)}",
        f"timestamp {rng.randrange(10**18, 2 * 10**18)}",
        f"message {rng.randrange(9 * 10**17, 14 * 10**17)}",
        f"build 20{rng.randrange(10, 30)}{month:02}{day:02}{digits(rng, 6)}",
        f"version {rng.randrange(9)}.{rng.randrange(20)}.0+20{rng.randrange(10, 30)}{month:02}{day:02}",
        f"commit {uuid.UUID(int=rng.getrandbits(128)).hex[:7]}",
        f"sha256 {uuid.UUID(int=rng.getrandbits(128)).hex}{uuid.UUID(int=rng.getrandbits(128)).hex}",
        f"parcel 94{digits(rng, 20)}",
        f"arn:aws:iam::{digits(rng, 12)}:role/reader",
        f"ISBN 978{digits(rng, 10)}",
        f"ISBN {digits(rng, 1)}-{digits(rng, 4)}-{digits(rng, 4)}-{digits(rng, 1)}",
        f"ISSN {digits(rng, 4)}-{digits(rng, 4)}",
        f"extension {digits(rng, 4)}",
        f"MAC {':'.join(f'{rng.randrange(256):02x}' for _ in range(6))}",
        f"host 2001:db8:{':'.join(f'{rng.randrange(65536):x}' for _ in range(6))}",
        f"doi 10.{digits(rng, 4)}/s{digits(rng, 5)}-0{digits(rng, 2)}-{digits(rng, 5)}-{digits(rng, 1)}",
        f"ORCID 0000-000{digits(rng, 1)}-{digits(rng, 4)}-{digits(rng, 4)}",
    ]
    around = rng.choice(["Remember {}.", "It was {}, I think", "Notiere {} bitte", "Note {} pour demain", "{}を覚えて"])
    return around.format(rng.choice(numbers))


# Numbers in the very notation of a personal one, of which some pass its check by chance: no rule tells them apart.
LOOK_ALIKES: dict[str, Callable[[Random], str]] = {
    "16 digits": lambda rng: digits(rng, 16),
    "16 digits in fours": lambda rng: grouped(digits(rng, 16), 4, 4, 4, 4, separator="-"),
    "a date and 4 digits": lambda rng: (
        f"{rng.randrange(15, 30)}0{rng.randrange(1, 10)}1{digits(rng, 1)}-{digits(rng, 4)}"
    ),
    "3-2-4 digits": lambda rng: f"{digits(rng, 3)}-{digits(rng, 2)}-{digits(rng, 4)}",
    "3.3.3-2 digits": lambda rng: f"{digits(rng, 3)}.{digits(rng, 3)}.{digits(rng, 3)}-{digits(rng, 2)}",
}


if __name__ == "__main__":
    main()
