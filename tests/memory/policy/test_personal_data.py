"""Personal numbers in a text for memory are masked by their check digits and notation; other numbers stay."""

import random

import pytest

from benchmarks import screen
from memory.policy import secrets
from memory.policy.personal_data import personal_data_in
from memory.policy.secrets import masked


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("My card is 4111 1111 1111 1111.", "card number", "4111 1111 1111 1111"),
        ("Amex 378282246310005", "card number", "378282246310005"),
        ("予約には5500-0000-0000-0004を使う", "card number", "5500-0000-0000-0004"),
        ("IBAN DE89 3704 0044 0532 0130 00 please", "bank account number", "DE89 3704 0044 0532 0130 00"),
        ("gb29nwbk60161331926819", "bank account number", "gb29nwbk60161331926819"),
        ("My social security number is 536-90-4399", "identity number", "536-90-4399"),
        ("ssn: 536904399", "identity number", "536904399"),
        ("NI number AB 12 34 56 C", "identity number", "AB 12 34 56 C"),
        ("Steuer-ID: 36574261809", "identity number", "36574261809"),
        ("Sécu 2 95 10 99 126 111 93", "identity number", "2 95 10 99 126 111 93"),
        ("DNI 54362315K", "identity number", "54362315K"),
        ("NIE x-2482300w", "identity number", "x-2482300w"),
        ("RCCMNL83S18D969H è il mio", "identity number", "RCCMNL83S18D969H"),
        ("BSN 1112.22.333", "identity number", "1112.22.333"),
        ("85.07.30-033.28", "identity number", "85.07.30-033.28"),
        ("880320-0016", "identity number", "880320-0016"),
        ("PESEL 44051401359", "identity number", "44051401359"),
        ("756.9217.0769.85", "identity number", "756.9217.0769.85"),
        ("我的身份证360426199101010071。", "identity number", "360426199101010071"),
        ("CPF 390.533.447-05", "identity number", "390.533.447-05"),
        ("マイナンバーは123456789018", "identity number", "123456789018"),
    ],
)
def test_a_personal_number_is_masked_by_its_kind(text, kind, number):
    assert masked(text) == (text.replace(number, f"[{kind} removed]"), [kind])
    assert secrets.secrets_in(text) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112 fails the check of a card",
        "DE88 3704 0044 0532 0130 00 fails the check of an IBAN",
        "Order 36574261809 has eleven digits, but nothing says that they are a tax number",
        "The parcel 111222333 is on its way",
        "EAN 4006381333931, ISBN 978-3-16-148410-0",
        "On 2026-11-03 14:30:00 the counter was at 12 345 678",
        "192.168.100.200 and 47.376887, 8.541694",
    ],
)
def test_other_numbers_stay(text):
    assert masked(text) == (text, [])


@pytest.mark.parametrize(
    "text", ["Call +41 79 123 45 67", "phone: 030 1234567", "(212) 555-0142", "電話は090-1234-5678"]
)
def test_telephone_numbers_are_kept_unless_the_policy_says_otherwise(text, settings):
    assert masked(text) == (text, [])
    settings.SCREEN = settings.SCREEN | {"phone": "mask"}
    assert masked(text)[1] == ["telephone number"]


def test_a_kind_that_is_allowed_stays(settings):
    settings.SCREEN = settings.SCREEN | {"iban": "allow", "password": "allow"}
    text = "IBAN DE89 3704 0044 0532 0130 00, password: hunter22"
    assert masked(text) == (text, [])


def test_several_numbers_are_each_masked_once():
    text = "Card 4111111111111111 and again 4111111111111111; DNI 54362315K"
    assert [each.kind for each in personal_data_in(text)] == ["card number", "card number", "identity number"]
    assert (
        masked(text)[0] == "Card [card number removed] and again [card number removed]; DNI [identity number removed]"
    )


@pytest.mark.parametrize("kind", screen.KINDS)
def test_generated_texts_are_masked(kind, settings):
    settings.SCREEN = dict.fromkeys(settings.SCREEN, "ask")
    rng = random.Random(f"{kind} in tests")
    for text, number in (screen.KINDS[kind](rng) for _ in range(100)):
        assert number not in masked(text)[0]


def test_generated_ordinary_texts_are_hardly_ever_masked(settings):
    settings.SCREEN = dict.fromkeys(settings.SCREEN, "ask")
    rng = random.Random(7)
    texts = [screen.ordinary_text(rng) for _ in range(1000)]
    assert sum(masked(text)[0] != text for text in texts) <= 5
