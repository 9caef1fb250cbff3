"""Secrets of others are stored encrypted: who has the row alone reads nothing, and changes nothing unnoticed."""

import base64

import pytest

from oneclaw.sealing import UnsealableError, seal, unseal

KEY = "sk-quince-0123456789"


def test_a_sealed_text_is_read_again_and_says_nothing(settings):
    sealed = seal(KEY, context="a")
    assert unseal(sealed, context="a") == KEY
    stored = base64.urlsafe_b64decode(sealed.removeprefix("1:"))
    assert KEY.encode() not in stored
    # Who sees two rows does not see whether they have the same key.
    assert seal(KEY, context="a") != sealed


@pytest.mark.parametrize("text", ["", "ü" * 1000])
def test_any_text_can_be_sealed(text):
    assert unseal(seal(text, context=""), context="") == text


def test_it_is_not_read_in_another_context():
    with pytest.raises(UnsealableError):
        unseal(seal(KEY, context="model server https://a"), context="model server https://b")


def test_a_changed_byte_is_noticed():
    form, data = "1:", base64.urlsafe_b64decode(seal(KEY, context="a").removeprefix("1:"))
    for at in (0, 12, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(UnsealableError):
            unseal(form + base64.urlsafe_b64encode(changed).decode(), context="a")


@pytest.mark.parametrize("rubbish", ["", "1:", "1:AAAA", "1:ä", "1:%%%", "2:" + "A" * 80, KEY])
def test_rubbish_is_unsealable_and_no_crash(rubbish):
    with pytest.raises(UnsealableError):
        unseal(rubbish, context="a")


def test_another_secret_key_reads_it_only_while_the_old_one_is_a_fallback(settings):
    sealed, settings.SECRET_KEY = seal(KEY, context="a"), "x" * 50
    with pytest.raises(UnsealableError):
        unseal(sealed, context="a")
    settings.SECRET_KEY_FALLBACKS = ["y" * 50, "x" * 50]
    sealed, settings.SECRET_KEY = seal(KEY, context="a"), "z" * 50
    assert unseal(sealed, context="a") == KEY
