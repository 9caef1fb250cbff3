"""Search finds what was written, in the spaces asked and in no other."""

import datetime as dt
import unicodedata
from dataclasses import replace

import pytest
from django.utils import timezone

from memory.models import MemoryDocument, TextVector
from memory.search.manager import HybridSearchManager

NOTES = """# Notes

## Travel
- The kayak is red and lies in the garage.
- Flights to Lisbon leave on Tuesdays.

## Work
Maria leads the budget review.
The build id is RX-4471, see parse_config() in loader.py.
"""
TALK = """# Thursday

## 10:00 Talk

Ada: I went to the swimming pool with my sister.
Bob: Which pool was it?
Ada: The one by the river, it opened last week.
Bob: I prefer the lake.
Ada: My favourite colour is green.
Bob: Mine is yellow, since I was a child.
"""


@pytest.fixture
def notes(ada, write):
    return write(ada, "MEMORY.md", NOTES)


def test_the_line_that_answers_comes_first_with_its_exact_lines_and_heading(ada, notes, search):
    best = search(ada, "Where is the kayak?", slack=0)[0]
    assert (best.path, best.start_line, best.end_line, best.heading) == ("MEMORY.md", 4, 4, "Notes › Travel")
    assert best.snippet == "- The kayak is red and lies in the garage."


@pytest.mark.parametrize("embeddings", ["none", "local"])
@pytest.mark.parametrize(("query", "line"), [("kayak", 3), ("What colour is the boat?", 4), ("car", 5)])
def test_in_a_memory_of_a_few_lines_too(ada, write, search, settings, embeddings, query, line):
    settings.EMBEDDINGS = embeddings
    write(ada, "MEMORY.md", "# Notes\n\n- The kayak is red.\n- The boat is blue.\n- The car is grey.\n")
    assert search(ada, query, slack=0, min_score=0)[0].start_line == line


@pytest.mark.parametrize("query", ["RX-4471", "rx-4471", "4471", "parse_config", "parse_config()", "loader.py"])
def test_ids_and_code_identifiers_are_found(ada, notes, search, query):
    assert "RX-4471" in search(ada, query)[0].snippet


def test_one_missing_word_does_not_lose_the_question(ada, notes, search):
    assert "Lisbon" in search(ada, "Do the flights to Lisbon leave in the zeppelin?", min_score=0)[0].snippet


@pytest.mark.parametrize("choice", ["local", "none"])
def test_a_word_of_one_note_is_found_above_the_floor_whatever_the_vectors_say(ada, notes, search, settings, choice):
    settings.EMBEDDINGS = choice
    assert "budget" in search(ada, "budget")[0].snippet


@pytest.mark.parametrize("query", ["(", "[a-z]+", "\\", "a' OR 1=1 --", "%s %(x)s", "' & | ! <->", "*"])
def test_marks_of_regular_expressions_and_of_sql_are_only_characters(ada, notes, search, query):
    search(ada, query)


def test_chinese_and_japanese_are_found_without_spaces(ada, write, search):
    write(ada, "memory/2026-01-01.md", "- 我们下周去上海看展览。\n- 猫は東京の公園で寝ている。\n- Nothing else.\n")
    assert "上海" in search(ada, "上海")[0].snippet
    assert "東京" in search(ada, "東京の公園", min_score=0)[0].snippet


def test_words_are_found_in_other_forms_in_their_own_language(ada, write, search):
    write(ada, "notizen.md", "- Die Häuser sind alt und nicht in der Stadt.\n- Wir haben auch einen Garten.\n")
    assert "Häuser" in search(ada, "Haus", min_score=0)[0].snippet


@pytest.mark.parametrize("choice", ["local", "none"])
def test_a_memory_of_one_line_is_found_by_its_one_word(ada, write, search, settings, choice):
    settings.EMBEDDINGS = choice
    write(ada, "MEMORY.md", "- My sister Grace lives in Lisbon and loves sardines\n")
    assert "sardines" in search(ada, "What do you know about sardines?")[0].snippet
    assert search(ada, "Which zeppelin refuted the trombone?") == []


def test_nonsense_finds_nothing(ada, notes, write, search):
    write(ada, "memory/2026-01-01.md", TALK)
    assert search(ada, "How many purple elephants refuted the trombone?") == []
    assert search(ada, "zorgle wibblefax plen?") == []


def test_a_question_about_somebody_unknown_finds_nothing(ada, write, search):
    write(ada, "memory/2026-01-01.md", TALK)
    assert search(ada, "What is the favourite colour of Zebulon?") == []
    assert search(ada, "What is the favourite colour of Ada?")


def test_the_person_named_is_preferred(ada, write, search):
    write(ada, "memory/2026-01-01.md", TALK)
    assert "green" in search(ada, "What colour does Ada like?", slack=0)[0].snippet
    assert "yellow" in search(ada, "What colour does Bob like?", slack=0)[0].snippet
    # However the name is written.
    assert "green" in search(ada, "what colour does ada like?", slack=0)[0].snippet
    assert "yellow" in search(ada, "Welches colour mag der Bob?", slack=0, min_score=0)[0].snippet


def test_the_days_meant_are_preferred(ada, write, search):
    for day in ("2026-11-09", "2026-11-18", "2026-11-20"):
        write(ada, f"memory/{day}.md", f"- Ran through the forest, as always ({day[-2:]}).\n- Slept.\n")
    today = dt.date(2026, 11, 21)
    for query, day in (("forest yesterday", "20"), ("forest last week", "09"), ("forest on 18 November", "18")):
        assert search(ada, query, today=today, slack=0)[0].path == f"memory/2026-11-{day}.md"


def test_a_passage_knows_its_day(ada, write, search):
    write(ada, "memory/2026-11-09.md", "- The boiler was serviced.\n")
    write(ada, "trips.md", "## 2025-05-03 Lisbon\n\n- We ate sardines.\n\n## Later\n\n- A kayak.\n")
    found = [search(ada, query)[0].day for query in ("boiler", "sardines", "kayak")]
    assert found == [dt.date(2026, 11, 9), dt.date(2025, 5, 3), None]


def test_how_the_legs_weigh_is_a_setting(ada, write, search, settings):
    write(ada, "dog.md", "- We have a dog named Rex who eats dry kibble.\n")
    write(ada, "prices.md", "- Food prices rose.\n")

    def lead():
        best, other = search(ada, "pet food", min_score=0)
        assert best.path == "prices.md"
        return best.score - other.score

    # Words and vectors both speak for the prices: the more they weigh, the more they lead.
    usual = lead()
    settings.SEARCH = replace(settings.SEARCH, text_weight=0.6)
    assert lead() > usual + 0.01
    settings.SEARCH = replace(settings.SEARCH, text_weight=0.3, vector_weight=1)
    assert lead() > usual + 0.01


def test_how_fast_a_note_fades_is_a_setting(ada, write, search, settings):
    settings.SEARCH = replace(settings.SEARCH, relevance=1)
    for path in ("memory/2026-01-05.md", "memory/2026-06-05.md"):
        write(ada, path, "- The boiler was serviced.\n- It rained.\n")
    for half_life, first in ((30, "memory/2026-06-05.md"), (0.1, "memory/2026-01-05.md")):
        settings.SEARCH = replace(settings.SEARCH, half_life_days=half_life)
        found = search(ada, "boiler", slack=0, min_score=0, today=dt.date(2026, 11, 21))
        assert found[0].path == first


def test_the_first_results_are_the_same_however_many_are_asked_for(ada, write, search):
    write(ada, "memory/2026-01-01.md", TALK * 10)
    everything = search(ada, "pool by the river", max_results=20, min_score=0)
    for count in (1, 2, 3, 6, 10):
        assert search(ada, "pool by the river", max_results=count, min_score=0) == everything[:count]
    scores = [passage.score for passage in everything]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_no_line_is_in_two_results(ada, write, search):
    write(ada, "memory/2026-01-01.md", TALK)
    for slack in (0, 1, float("inf")):
        shown = [
            line
            for passage in search(ada, "the pool", min_score=0, slack=slack)
            for line in range(passage.start_line, passage.end_line + 1)
        ]
        assert len(shown) == len(set(shown))


def test_a_filled_passage_stays_in_its_section_and_within_the_length(ada, notes, search, settings):
    settings.SEARCH = replace(settings.SEARCH, snippet_max_chars=120)
    best = search(ada, "kayak", slack=float("inf"))[0]
    assert (best.start_line, best.end_line) == (4, 5)
    assert len(best.snippet) <= 120


def test_a_stranger_finds_nothing_of_it_although_it_would_be_the_nearest(ada, stranger, notes, write, search):
    write(stranger, "MEMORY.md", "- I like tea.\n- It rained on Monday.\n")
    assert all("kayak" not in passage.snippet for passage in search(stranger, "red kayak in the garage", min_score=0))


def test_two_spaces_with_the_same_text_each_have_their_own(ada, stranger, write, search):
    mine, theirs = (write(person, "MEMORY.md", "- The key is under the mat.\n") for person in (ada, stranger))
    assert [passage.document_id for passage in search(ada, "key under the mat")] == [mine.pk]
    mine.delete()
    assert [passage.document_id for passage in search(stranger, "key under the mat")] == [theirs.pk]


def test_a_blank_query_asks_nobody(notes, django_assert_num_queries):
    manager = HybridSearchManager([notes.space])
    with django_assert_num_queries(0):
        assert manager.search("  \n") == []
        assert manager.search("kayak", max_results=0) == []
        assert HybridSearchManager([]).search("kayak") == []


def test_a_search_takes_two_round_trips(notes, django_assert_num_queries):
    manager = HybridSearchManager([notes.space])
    with django_assert_num_queries(2):
        assert manager.search("kayak")


def test_a_zero_vector_does_no_harm(ada, notes, search):
    TextVector.objects.update(vector=[0.0] * 256)
    assert "kayak" in search(ada, "kayak")[0].snippet


def test_while_a_document_waits_for_its_index_the_old_one_answers(ada, notes, search):
    MemoryDocument.objects.filter(pk=notes.pk).update(content="- All else.\n", version=notes.version + 1)
    assert "kayak" in search(ada, "kayak")[0].snippet


def test_of_equal_notes_the_newer_comes_first_and_the_curated_one_never_fades(ada, write, search, settings):
    settings.SEARCH = replace(settings.SEARCH, relevance=1)
    for path in ("memory/2026-01-05.md", "memory/2026-11-20.md", "MEMORY.md", "memory/2026-06-05.md"):
        write(ada, path, "## 2026-01-05\n\n- The boiler was serviced.\n- It rained.\n")
    paths = [passage.path for passage in search(ada, "boiler", slack=0, min_score=0, today=dt.date(2026, 11, 21))]
    assert paths[0] == "MEMORY.md"
    # A heading's day goes before the file's.
    write(ada, "memory/2026-11-20.md", "- The boiler was serviced.\n- It rained.\n")
    write(ada, "memory/2026-06-05.md", "- The boiler was serviced.\n- It rained.\n")
    write(ada, "memory/2026-01-05.md", "- The boiler was serviced.\n- It rained.\n")
    MemoryDocument.objects.get(path="MEMORY.md").delete()
    paths = [passage.path for passage in search(ada, "boiler", slack=0, min_score=0, today=dt.date(2026, 11, 21))]
    assert paths[:3] == ["memory/2026-11-20.md", "memory/2026-06-05.md", "memory/2026-01-05.md"]


def test_age_does_not_beat_what_fits_better(ada, write, search):
    write(ada, "memory/2020-01-05.md", "- The boiler was serviced by Petra.\n- It rained.\n")
    write(ada, "memory/2026-11-20.md", "- The boiler hummed.\n- It rained.\n")
    best = search(ada, "Who serviced the boiler?", slack=0, min_score=0, today=dt.date(2026, 11, 21))[0]
    assert best.path == "memory/2020-01-05.md"


def test_lines_that_say_the_same_make_room_for_others(ada, write, search, settings):
    for day in range(1, 9):
        write(ada, f"memory/2026-03-0{day}.md", "- Watered the tomato plants on the balcony.\n")
    write(ada, "MEMORY.md", "- Tomato soup needs basil, says Petra.\n- Tea.\n")

    def place():
        found = search(ada, "tomato plants", slack=0, min_score=0, max_results=20)
        scores = [passage.score for passage in found]
        assert scores == sorted(scores, reverse=True)
        for count in (1, 3):
            assert search(ada, "tomato plants", slack=0, min_score=0, max_results=count) == found[:count]
        return next(at for at, passage in enumerate(found) if "basil" in passage.snippet)

    assert place() == 1
    settings.SEARCH = replace(settings.SEARCH, relevance=1)
    assert place() == 8


def test_a_heading_is_shown_with_its_text_and_not_instead_of_it(ada, write, search):
    write(ada, "MEMORY.md", "# Notes\n\n## Holiday plans\n\n- First to Lisbon.\n- Then to Porto.\n\n## Empty plans\n")
    for slack in (0, 0.5):
        found = search(ada, "holiday plans", slack=slack, min_score=0)
        assert found[0].snippet.startswith(("- First", "- Then"))
        assert found[0].heading == "Notes › Holiday plans"
        assert not any(passage.snippet.startswith("## Holiday") for passage in found)
    assert any("Empty" in passage.snippet for passage in search(ada, "empty plans", min_score=0))


@pytest.mark.parametrize("others", [0, 3])
def test_what_is_meant_is_found_by_its_meaning_in_a_small_memory(ada, write, search, others):
    write(ada, "MEMORY.md", "- We have a dog named Rex who eats dry kibble.\n" + "- The kayak is red.\n" * others)
    assert "Rex" in search(ada, "pet food")[0].snippet
    assert search(ada, "quarterly tax return") == []


HASH = "0123456789abcdef" * 8
CHINESE = (
    "我们下周去上海看展览然后再去北京参加会议之后回到广州与家人团聚并且准备明年春天的"
    "旅行计划包括东京大阪京都以及札幌的雪祭和温泉旅馆最后拜访成都的熊猫基地"
)


@pytest.mark.parametrize("choice", ["local", "none"])
@pytest.mark.parametrize(
    ("line", "query"),
    [
        (f"- The sum is {HASH}.", HASH),
        (f"- See https://www.example.org/{'a-long-way/' * 6}zanzibar.html", "zanzibar"),
        (f"- {CHINESE}", "熊猫基地"),
        ("- Frau Müller kommt.", unicodedata.normalize("NFD", "Müller")),
        ("- Zimmer ＡＢＣ１２３.", "ＡＢＣ１２３"),
        ("- A party 🎂 on Friday.", "🎂"),
        ("- אני אוהב שוקולד", "שוקולד"),
        ("- Язык программирования Rust", "rust"),
        ("# " + "heading " * 100 + "zanzibar", "zanzibar"),
    ],
)
def test_whatever_stands_in_one_line_only_finds_it(ada, write, search, settings, choice, line, query):
    settings.EMBEDDINGS = choice
    write(ada, "MEMORY.md", f"- The kayak is red.\n- Nothing else.\n{line}\n")
    assert search(ada, query)[0].end_line == 3


@pytest.mark.parametrize("choice", ["local", "none"])
def test_a_name_that_is_also_a_word_without_meaning_is_found(ada, write, search, settings, choice):
    settings.EMBEDDINGS = choice
    lines = (
        "The kayak is red.",
        "My brother Will lives in Oslo.",
        "It will rain.",
        "Ben works in IT.",
        "Can it float?",
    )
    for number, line in enumerate(lines):
        write(ada, f"{number}.md", f"- {line}\n")
    assert search(ada, "Who is Will?")[0].path == "1.md"
    assert search(ada, "Where does Will's dog sleep?", min_score=0)[0].path == "1.md"
    assert search(ada, "Who knows about IT?", min_score=0)[0].path == "3.md"
    assert search(ada, "Will the kayak be red?")[0].path == "0.md"
    assert search(ada, "What will it do?") == []


def test_a_word_without_meaning_is_nobody_in_a_memory_that_knows_no_such_name(ada, write, search):
    write(ada, "MEMORY.md", "- The kayak is red.\n- will lives in a tent.\n- It will rain.\n")
    plain, named = (search(ada, f"Does the kayak {name}float?", min_score=0) for name in ("", "Will "))
    assert [(one.snippet, one.text_score) for one in plain] == [(one.snippet, one.text_score) for one in named]
    assert plain[0].score == pytest.approx(named[0].score, abs=0.05)
    assert "tent" in search(ada, "Who is in a tent, Will?")[0].snippet


def test_a_deleted_document_is_not_found_although_its_index_is_late(ada, notes, search):
    MemoryDocument.objects.filter(pk=notes.pk).update(deleted_at=timezone.now(), content="", version=notes.version + 1)
    assert search(ada, "kayak", min_score=0) == []


def test_bytes_that_are_no_text_in_a_question_do_no_harm(ada, notes, search):
    assert "kayak" in search(ada, "kayak\x00 \ud800")[0].snippet
