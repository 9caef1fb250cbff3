"""The topic of an entry without a model: by the words of six languages, else by the nearest vectors."""

import pytest

from memory.models import Topic
from memory.overview.topics import topics_of

ENTRIES = {
    Topic.PEOPLE: [
        "Her sister Marta lives in Lisbon",
        "Seine Frau heißt Anna",
        "Su hermana vive en Madrid",
        "妹の名前は花子",
    ],
    Topic.WORK: [
        "Works at Nordwind as an engineer",
        "Travaille chez Renault",
        "在上海工作",
        "The server runs Debian 12",
    ],
    Topic.HOME: ["The alarm code of the cottage is 4711", "Lives in Zürich", "猫の名前はミソ", "Has two cats"],
    Topic.HEALTH: ["Allergic to peanuts", "Ist gegen Nüsse allergisch", "Vegetarian since 2019"],
    Topic.PREFERENCES: ["Prefers short answers", "Mag grünen Tee", "Le gusta el té verde", "喜欢绿茶"],
    Topic.PLANS: ["Wants to run a marathon in spring", "Trip to Japan in October", "Planea un viaje a Chile"],
    Topic.DATES: ["Birthday: 3 May", "誕生日は5月3日", "Hochzeitstag: 8. Juli"],
    Topic.OTHER: ["Car plate ZH 123456", "xyzzy"],
}


@pytest.mark.parametrize("topic", ENTRIES)
def test_entries_of_six_languages_have_their_topic(topic):
    assert topics_of([("", text) for text in ENTRIES[topic]]) == [topic] * len(ENTRIES[topic])


def test_the_heading_above_an_entry_counts():
    assert topics_of([("Memory › Work", "Aurora")]) == [Topic.WORK]


def test_an_entry_without_words_is_of_no_topic():
    assert topics_of([("", "—"), ("", "")]) == [Topic.OTHER, Topic.OTHER]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("A kindergarten", Topic.OTHER),
        ("Kundenliste: 40", Topic.WORK),
        ("かれはピーナッツアレルギーがある", Topic.HEALTH),
        ("His birthday is on the day of his wedding, says his sister", Topic.DATES),
        ("x" * 4_000 + " sister", Topic.OTHER),
    ],
)
def test_a_word_counts_by_its_beginning_and_without_spaces_anywhere(text, topic):
    assert topics_of([("", text)]) == [topic]
