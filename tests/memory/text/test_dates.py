"""The days that a question means, counted from the person's own today: a Saturday in November."""

import datetime as dt

import pytest

from memory.text.dates import Period, asks_when, day_in, periods_meant

TODAY = dt.date(2026, 11, 21)


def days(first, last=None):
    return Period(dt.date.fromisoformat(first), dt.date.fromisoformat(last or first))


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What did we plan in March?", days("2026-03-01", "2026-03-31")),
        ("What happened in December?", days("2025-12-01", "2025-12-31")),
        ("Who came in March 2024?", days("2024-03-01", "2024-03-31")),
        ("Who called yesterday?", days("2026-11-20")),
        ("What was last week about?", days("2026-11-09", "2026-11-15")),
        ("What did I eat on Monday?", days("2026-11-16")),
        ("What happened two days ago?", days("2026-11-19")),
        ("Was war im März?", days("2026-03-01", "2026-03-31")),
        ("Was haben wir vorgestern gekocht?", days("2026-11-19")),
        ("Wer kam am 3. Mai 2023?", days("2023-05-03")),
        ("Qui est venu le 3 mai 2023 ?", days("2023-05-03")),
        ("¿Qué comimos ayer?", days("2026-11-20")),
    ],
)
def test_a_question_means_days(question, meant):
    assert periods_meant(question, TODAY) == [meant]


@pytest.mark.parametrize(
    "question", ["May I march in?", "What did Bob say about his boat?", "on 31.02.2026", "version 3"]
)
def test_other_words_mean_no_days(question):
    assert periods_meant(question, TODAY) == []


def test_who_asks_for_a_time_is_told_from_who_names_one():
    assert asks_when("When did Ada move?")
    assert asks_when("Wann ist Ada umgezogen?")
    assert not asks_when("Who moved when it rained?")


def test_a_path_tells_its_day():
    assert day_in("memory/2026-11-21.md") == TODAY
    assert day_in("memory/2026-02-31.md") is None
