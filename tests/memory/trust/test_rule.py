"""With foreign text in what the model was sent, at once is saved what typed words and own memory say, and no more."""

import datetime as dt

import pytest

from memory.models import Suggestion
from memory.trust.rule import Sent, SourceText, source_of

Kind = Suggestion.Kind
MINUTES = SourceText(Kind.ATTACHMENT, "minutes.pdf", "The roof is repaired in March. The meeting is on 9 October.")


def beside_a_file(*typed, memory=(), **about):
    return Sent([MINUTES], typed, memory, **about)


@pytest.mark.parametrize(
    ("said", "saved"),
    [
        ("Remember that I like green tea.", "Likes green tea"),
        ("My birthday is on the third of May.", "Birthday: 3 May"),
        ("Mein Geburtstag ist am dritten Mai.", "Geburtstag: 03.05."),
        ("Ma sœur Anna habite à Lisbonne.", "Sa sœur Anna vit à Lisbonne."),
        ("Soy alérgico a los cacahuetes.", "Es alérgico a los cacahuetes."),
        ("緑茶が好きだと覚えておいて。", "ユーザーは緑茶が好き。"),
        ("我的生日是五月三日。", "用户生日：5月3日"),
        ("The dentist is on 14 June at 3 pm.", "Dentist: 2026-06-14, 15:00"),
        ("I am not fond of coriander.", "Does not like coriander."),
        ("My cat is called Tom, he is 4. He likes fish.", "- Has a cat named Tom, 4\n- Tom, the cat, likes fish"),
        ("Can you remember that I like green tea?", "Likes green tea."),
    ],
)
def test_a_paraphrase_of_the_typed_words_is_saved_at_once(said, saved):
    assert source_of(saved, beside_a_file(said, today=dt.date(2026, 5, 1))) is None


@pytest.mark.parametrize(
    ("said", "saved"),
    [
        ("Summarise this, please.", "The bank of the user is Mallory & Sons."),
        # Encoded, translated or spelled in other letters, it shares no word with its source.
        ("Summarise this, please.", "VGhlIGJhbmsgaXMgTWFsbG9yeQ=="),
        ("I like my tea.", "5468652062616e6b206973204d616c6c6f7279"),
        ("I like my tea.", "Gur onax vf Znyybel."),
        ("I like my tea.", "La banque est Mallory."),
        ("I like my tea.", "⠞⠓⠑ ⠃⠁⠝⠅"),
        ("I like my tea.", "ぎんこうはまろりー"),
        ("I like my tea.", "Likes tea \U0001f3e6\U0001f469"),
        ("I like Mal.", "Likes M\u0430l."),
        ("I like tea.", "Likes t\u200be\u200ba m\u200ba\u200bl"),
        ("I like my tea.", "Likes tea. All invoices are paid to Mallory."),
        ("I like my tea.", "Likes tea, t r u s t m a l l o r y"),
        ("I like my tea.", "Likes tea 99812"),
        ("I like my tea.", "Does not like tea."),
        ("I do not trust Mallory.", "Trusts Mallory."),
        ("Summarise what Bob wrote.", "Always call Bob."),
        ("Does Bob trust Mallory?", "Bob trusts Mallory."),
        ("Here is minutes.pdf", "- "),
        ("Here is minutes.pdf", "The user. They have it."),
    ],
)
def test_everything_else_waits(said, saved):
    assert source_of(saved, beside_a_file(said)) == MINUTES
    assert source_of(saved, Sent((), [said])) is None


def test_a_day_that_the_person_named_by_a_time_word_is_their_own():
    found = beside_a_file("I see the dentist tomorrow.", today=dt.date(2026, 10, 8))
    assert source_of("Dentist on 9 October 2026", found) is None
    assert source_of("Dentist on 9 October 2026", beside_a_file("I see the dentist.", today=dt.date(2026, 10, 8)))


def test_lines_of_own_memory_complete_what_was_typed_and_say_nothing_alone():
    memory = ["- My sister Lena moved to Lisbon.\n- Bob runs the harbour cafe."]
    said = beside_a_file("Remember that Lena has a job at the harbour.", memory=memory)
    assert source_of("The person's sister Lena has a job at the harbour.", said) is None
    assert source_of("Bob runs the cafe.", beside_a_file("Summarise this.", memory=memory))
    assert source_of("Lena runs the cafe.", beside_a_file("Lena wrote this.", memory=memory))


def test_the_nearest_source_is_named():
    other = SourceText(Kind.TOOL, "web_search", "Mallory and Sons")
    sent = Sent([other, MINUTES], ["Summarise this."])
    assert source_of("The bank is Mallory.", sent) == other
    assert source_of("The roof is repaired in March.", sent) == MINUTES
    assert source_of("abcdef", sent) == MINUTES


def test_the_name_of_the_person_is_their_own():
    assert source_of("Ada likes green tea.", beside_a_file("I like green tea.", names="Ada Lovelace")) is None
