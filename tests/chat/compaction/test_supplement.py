"""What is kept word for word with a summary, over many summaries one after another."""

import os
import random
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as some

from chat.compaction.supplement import (
    IDENTIFIERS_MAX_COUNT,
    SaidMessage,
    identifiers_in,
    kept_wishes,
    supplement_of,
    wishes_in,
)
from chat.compaction.wording import summary_text, supplement_text
from oneclaw.llm.estimate import text_tokens

TOKENS = 4_000
CHARS_PER_TOKEN = 3.1
COMPACTIONS = 10

# Sentences around an identifier; without spaces in Japanese.
SENTENCES = (
    "Please remember {} for the meeting.",
    "It is ({}), as the office said.",
    "Bitte merke dir {}, das brauche ich noch.",
    "Die Rechnung nennt {}.",
    "番号は{}です。",
    "{}を確認してください。",
)


def test_in_a_small_window_no_part_of_it_takes_more_than_its_room():
    long = "x" * 150
    said = [
        SaidMessage(True, f"From now on, always answer as {n} {long}.\nhttps://example.com/{n}/{long}")
        for n in range(80)
    ]
    said.append(SaidMessage(True, "Where is it? " * 600))
    kept = supplement_of(said, {}, 1_000, CHARS_PER_TOKEN)
    for part in ("wishes", "identifiers", "question", "quoted"):
        size = text_tokens("\n".join(kept[part]) if part != "question" else kept[part], CHARS_PER_TOKEN)
        assert 800 <= size <= 1_050, part
    assert kept["identifiers"][-1].startswith("https://example.com/79/")
    assert kept["wishes"][-1].startswith("From now on, always answer as 79")


def identifier(number, chance):
    """Return the identifier with this number, of one of many kinds."""
    day, month, year = chance.randint(10, 28), chance.randint(1, 12), 2020 + number % 9
    amount = f"{chance.randint(1, 999)}{number:03}"
    months = ["January", "March", "October", "Januar", "März", "Oktober"]
    return [
        str(uuid.UUID(int=chance.getrandbits(128))),
        f"{year}-{month:02}-{day}T{number % 24:02}:{number % 60:02}:00Z",
        f"{day}.{month:02}.{year}",
        f"{day}. {months[number % 3 + 3]} {year}",
        f"{months[number % 3]} {day}, {year}",
        f"{year}年{month}月{day}日",
        f"CHF {amount[0]}'{amount[-3:]}.{number % 90 + 10}",
        f"{amount[:2]}.{amount[-3:]},{number % 90 + 10} €",
        f"¥{amount}",
        f"{amount}円",
        f"{number}.5 kg",
        f"/srv/data/{number}/report_{amount}.pdf",
        f"C:\\Users\\ada\\{amount}.xlsx",
        f"~/Täglich/{amount}/notes.md",
        f"PROJ-{number + 1000}",
        f"#{number + 4000}",
        f"https://example.org/a/{amount}?page={number}&x=%20#top",
        f"person.{amount}+{number}@mail.example.co.jp",
        f"v{number % 7}.{number}.{number % 5}",
        f"`build_{amount}`",
        f"+41 79 {amount[:3]:0<3} {number % 90 + 10} 44",
    ][number % 21]


@pytest.fixture
def identifiers():
    chance = random.Random(13)
    return [identifier(number, chance) for number in range(200)]


def kept_through(ranges):
    """Return the supplement after one summary of each of `ranges`, oldest first."""
    kept = {}
    for said in ranges:
        kept = supplement_of(said, kept, TOKENS, CHARS_PER_TOKEN)
    return kept


def parts(items, count):
    size = len(items) // count
    return [items[at * size : (at + 1) * size] for at in range(count)]


def test_the_newest_identifiers_of_a_person_are_byte_identical_after_each_of_ten_summaries(identifiers):
    kept, said = {}, []
    for number, part in enumerate(parts(identifiers, COMPACTIONS)):
        messages = [
            message
            for at, each in enumerate(part)
            for message in (
                SaidMessage(True, SENTENCES[(number + at) % len(SENTENCES)].format(each)),
                SaidMessage(False, f"Noted. By the way, see https://other.example/{number}/{at}."),
            )
        ]
        kept = supplement_of(messages, kept, TOKENS, CHARS_PER_TOKEN)
        said += part
        text = summary_text("They talked.", "model", kept, "")
        missing = [each for each in said[-IDENTIFIERS_MAX_COUNT:] if each.encode() not in text.encode()]
        assert missing == []
        assert len(kept["identifiers"]) <= IDENTIFIERS_MAX_COUNT
    assert len(said) == 200


@pytest.mark.parametrize("sentence", SENTENCES)
def test_an_identifier_is_found_in_a_sentence_of_any_language(identifiers, sentence):
    missing = [
        each for each in identifiers if not any(each in found for found in identifiers_in(sentence.format(each)))
    ]
    assert missing == []


def test_an_identifier_that_is_said_again_counts_as_new():
    first = [SaidMessage(True, "The ticket is ABC-1001.")]
    others = [SaidMessage(True, f"And ABC-{number}.") for number in range(2000, 2059)]
    again = [SaidMessage(True, "As I said, ABC-1001. And ABC-3000.")]
    kept = kept_through([first, others, again])["identifiers"]
    assert (kept[-2:], len(kept)) == (["ABC-1001", "ABC-3000"], 60)
    assert "ABC-2000" not in kept


def test_those_of_a_person_go_before_those_of_answers_and_results():
    results = [SaidMessage(False, " ".join(f"LOG-{number}" for number in range(1000, 1200)))]
    kept = kept_through([[SaidMessage(True, "The ticket is ABC-1001."), *results], results, results])["identifiers"]
    assert "ABC-1001" in kept
    assert len(kept) == IDENTIFIERS_MAX_COUNT


def test_newer_identifiers_of_results_replace_older_ones():
    ranges = [
        [SaidMessage(False, " ".join(f"LOG-{first + number}" for number in range(60)))] for first in (1000, 2000, 3000)
    ]
    assert kept_through(ranges)["identifiers"] == [f"LOG-{number}" for number in range(3000, 3060)]


STANDING = [
    "From now on, answer me in German.",
    "Always use metric units, e.g. kilometres.",
    "Never book a hotel without asking me!",
    "Please call me Dr. A. Lovelace from now on.",
    "Whenever I name a price, add 8.1 % tax.",
    "Ab jetzt bitte immer mit Sie anreden.",
    "Ab sofort z. B. nur noch Termine nach 10 Uhr vorschlagen.",
    "Nie wieder Erdnüsse vorschlagen.",
    "Jedes Mal, wenn ich frage, nenne auch die Quelle.",
    "Künftig Rechnungen am 3. Arbeitstag senden.",
    "これからは敬語で答えてください。",
    "必ず出典を書いてください。",
    "今後、金額は円で書いてください。",
    "決して電話番号を書かないでください。",
    "Désormais, réponds en français.",
    *(f"From now on, project {number} is called Project-{number:03}." for number in range(15)),
]


def test_thirty_standing_wishes_are_kept_over_ten_summaries_among_many_sentences_that_sound_like_wishes():
    assert len(STANDING) == 30
    ranges = []
    for number, part in enumerate(parts(STANDING, COMPACTIONS)):
        chatter = [SaidMessage(True, f"I have never seen harbour {number}. Do I always ask that?")]
        ranges.append([*chatter, *(SaidMessage(True, f"Hello. {each} Thank you.") for each in part)])
    kept = kept_through(ranges)
    assert len(kept["wishes"]) == 30
    text = supplement_text(kept)
    assert [each for each in STANDING if each not in text] == []


def test_wishes_that_are_surely_meant_to_last_go_before_others():
    lasting = [f"From now on, name {number}." for number in range(20)]
    others = [f"I never saw {number}." for number in range(40)]
    kept = kept_wishes([*lasting, *others], TOKENS, CHARS_PER_TOKEN)
    assert kept == [*lasting, *others[-10:]]


def test_a_question_is_no_wish():
    assert wishes_in(["Do you always ask? これからどこへ行きますか？"]) == []


def test_an_unanswered_question_is_kept_whole():
    question = "Which of these is it?\n\n" + "A line of the table with 3 numbers.\n" * 100 + "Please say why."
    kept = supplement_of(
        [SaidMessage(True, "Hello"), SaidMessage(False, "Hi"), SaidMessage(True, question)], {}, 2_000, 3.1
    )
    assert kept["question"] == question
    assert question in summary_text("-", "extract", kept, "")


def test_a_question_that_was_answered_is_not_kept_in_the_next_summary():
    kept = kept_through([[SaidMessage(True, "Why?")], [SaidMessage(False, "Because."), SaidMessage(True, "Ah.")]])
    assert kept["question"] == "Ah."
    assert kept_through([[SaidMessage(True, "Why?")], [SaidMessage(False, "Because.")]])["question"] == ""


@given(some.lists(some.tuples(some.booleans(), some.text(max_size=300)), max_size=12), some.integers(0, 300))
def test_nothing_is_invented_and_no_limit_is_passed(said, tokens):
    messages = [SaidMessage(*each) for each in said]
    kept = kept_through([messages[:6], messages[6:]])
    whole = "\n".join(each.text for each in messages)
    assert all(each in whole for each in kept["identifiers"])
    assert all(each in whole for each in kept["wishes"])
    assert len(kept["identifiers"]) <= 60
    assert len(kept["wishes"]) <= 30
    assert supplement_of(messages, {}, tokens, 3.1)["quoted"] == [] or tokens > 0


HOSTILE = r"""
import django
django.setup()
from chat.compaction.supplement import SaidMessage, supplement_of
pieces = [
    "a.", "a@", "a.a@", "1", "1.", "1,", "1'", "1 ", "/a", "/", "-/a ", "./", "a/", "~", "`", "`a", "#", "#1", "A",
    "A-", "AB-1", "http://", "http:", "v1.", "1.1", "1.1.1-", "...", ". ", ".\n ", "!", "? ", "。", "\n", " ", "\t",
    "$", "$1", "CHF ", "0a0a0a0a-", "1a", "12345678-1234-", "C:\\", "3 March ", "March ", "12 de ", "これから", "1月",
    "2026年", "never ", "é.", "+", "+1", "%", "&#1", "<", "\u3000",
]
for piece in pieces:
    supplement_of([SaidMessage(True, piece * (200_000 // len(piece)) + "!x")], {}, 4_000, 3.1)
supplement_of([SaidMessage(True, "".join(pieces) * 5_000)], {}, 4_000, 3.1)
print("done")
"""


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_no_text_takes_longer_than_in_proportion_to_its_length():
    # A pattern that goes back and forth would take hours.
    command = [sys.executable, "-c", HOSTILE]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout.strip() == "done", done.stderr[-2000:]
