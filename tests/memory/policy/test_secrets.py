"""Keys, tokens and passwords are found and masked; ordinary words are not."""

import pytest

from memory.policy.secrets import masked
from oneclaw.people import keys


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my key sk-ant-api03-abcdefghijklmnop1234", "key"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345 is it", "key"),
        ("AKIAIOSFODNN7EXAMPLE", "key"),
        (keys.PREFIX + "abcdefghijklmnop-_0123456789ABCDEFGHIJKLMNO", "key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "token"),
        ("Authorization: Bearer abcdefghijklmnop1234", "token"),
        ("postgresql://ada:s3cret@db.example.org/team", "password"),
        ("The password is hunter2!", "password"),
        ("Mein Passwort lautet „geheim123“", "password"),
        ("api_key = 'abc123def456'", "password"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\nNz\n-----END OPENSSH PRIVATE KEY-----", "private key"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nb3Blbn", "private key"),
    ],
)
def test_a_secret_is_masked_by_its_kind(text, kind):
    clean, kinds = masked(text)
    assert kinds == [kind]
    assert f"[{kind} removed]" in clean
    for secret in ("abcdef", "EXAMPLE", "eyJ", "s3cret", "hunter", "geheim", "abc123", "b3Blbn"):
        assert secret not in clean


def test_what_stands_around_a_secret_stays():
    assert masked("db: postgresql://ada:s3cret@db/team, ask Bob") == (
        "db: postgresql://ada:[password removed]@db/team, ask Bob",
        ["password"],
    )


@pytest.mark.parametrize(
    "text",
    [
        "The password manager is Bitwarden.",
        "Password-protected files go to /secure.",
        "Ada forgot her password again and again.",
        "The secret is patience.",
        "Meet at https://example.org:8080/a@b",
        "She owns 12 keys; the token economy bores her.",
        "sk-8 is a road, and ghp_ a prefix.",
    ],
)
def test_ordinary_words_stay_as_they_are(text):
    assert masked(text) == (text, [])
