"""A few lines a week, passed plans, and lines that a newer one contradicts are asked about: still true?"""

import datetime as dt
import re
from unittest import mock

import pytest
from django.utils import timezone

from memory.documents import write
from memory.forgetting.forget import forget
from memory.models import Review
from memory.policy import switches
from memory.text.plans import passed_day
from memory.tools import decisions, reviews
from memory.tools.contradictions import Contradicted
from memory.views.inbox import waiting_items

WRITTEN, TODAY = dt.date(2026, 3, 1), dt.date(2026, 11, 23)


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("- Dentist on 14 June at 3 pm", dt.date(2026, 6, 14)),
        ("- Zahnarzt am 14.6.2026", dt.date(2026, 6, 14)),
        ("- Dentiste le 14 juin 2026", dt.date(2026, 6, 14)),
        ("- Dentista el 14 de junio", dt.date(2026, 6, 14)),
        ("- 歯医者 6月14日", dt.date(2026, 6, 14)),
        ("- 看牙医 2026年6月14日", dt.date(2026, 6, 14)),
        ("- Trip from 2026-06-10 to 2026-06-14", dt.date(2026, 6, 14)),
        ("- Trip on June 14, 2027", None),
        ("- Moved to Bern on 1 February 2020", None),
        ("- Birthday: 14 June", None),
        ("- Jeden 14. Juni: Fest", None),
        ("- Likes tea", None),
        ("- 31 February 2026", None),
    ],
)
def test_the_day_of_a_plan_has_passed(line, day):
    assert passed_day(line, WRITTEN, TODAY) == day


@pytest.fixture
def written_ago(append):
    """written_ago(space, days, *lines): lines of MEMORY.md that were written so many days ago."""

    def written_ago(space, days, *lines):
        at = timezone.now() - dt.timedelta(days=days)
        with mock.patch("django.utils.timezone.now", return_value=at):
            append(space, "".join(f"- {line}\n" for line in lines))

    return written_ago


@pytest.fixture
def at(client, ada):
    client.force_login(ada)
    return client


def shown(user):
    return [each.text for each in reviews.pending(user)]


def test_at_most_five_old_lines_are_asked_about_in_a_week_the_oldest_first(ada, space, written_ago):
    written_ago(space, 200, *(f"Old fact number {n}" for n in range(4)))
    written_ago(space, 150, *(f"Younger fact number {n}" for n in range(4)))
    written_ago(space, 5, "A new fact")
    reviews.ask(ada)
    reviews.ask(ada)
    assert len(shown(ada)) == 5
    assert sum("Old fact" in line for line in shown(ada)) == 4


def test_a_yes_moves_the_date_and_the_next_week_asks_about_others(ada, space, written_ago):
    written_ago(space, 200, *(f"Old fact number {n}" for n in range(6)))
    reviews.ask(ada)
    first = shown(ada)
    for each in reviews.pending(ada):
        reviews.answer(each, "yes", ada)
    assert shown(ada) == []
    Review.objects.update(asked_at=timezone.now() - dt.timedelta(days=8))
    reviews.ask(ada)
    assert len(shown(ada)) == 1
    assert not set(first) & set(shown(ada))


def test_a_passed_plan_is_asked_about_once(ada, space, written_ago, at):
    day = timezone.now().date() - dt.timedelta(days=3)
    written_ago(space, 30, f"Dentist on {day:%Y-%m-%d}", "Likes green tea")
    reviews.ask(ada)
    assert shown(ada) == [f"- Dentist on {day:%Y-%m-%d}"]
    page = at.get("/memory/inbox/").content.decode()
    assert "has passed. Is this still true?" in page
    at.post(f"/memory/reviews/{Review.objects.get().pk}", {"answer": "yes"})
    reviews.ask(ada)
    assert shown(ada) == []


def test_a_line_that_is_no_longer_true_is_deleted(ada, space, written_ago, at, document_of):
    written_ago(space, 200, "Lives in Zurich", "Likes green tea")
    reviews.ask(ada)
    review = next(each.review for each in reviews.pending(ada) if "Zurich" in each.text)
    at.post(f"/memory/reviews/{review.pk}", {"answer": "no"})
    assert document_of(space).content == "- Likes green tea\n"
    assert at.post(f"/memory/reviews/{review.pk}", {"answer": "no"}).status_code == 404


def test_a_line_that_comes_back_after_a_no_is_not_said_to_be_true(ada, space, written_ago, at, append):
    written_ago(space, 200, "Lives in Zurich", "Likes green tea")
    reviews.ask(ada)
    for each in reviews.pending(ada):
        at.post(f"/memory/reviews/{each.review.pk}", {"answer": "no" if "Zurich" in each.text else "yes"})
    append(space, "- Lives in Zurich\n")
    home = at.get("/memory/").content.decode()
    assert "Lives in Zurich" in home
    assert home.count("still true on") == 1


def test_one_is_asked_at_a_time_and_each_answer_is_taken_back(ada, space, written_ago, at, document_of):
    written_ago(space, 200, "Lives in Zurich", "Likes green tea", "Plays the oboe")
    reviews.ask(ada)
    before = document_of(space).content
    asked = [each.review.pk for each in reviews.pending(ada)]
    first, second, third = [each.words for each in reviews.pending(ada)]

    def page(address="/memory/inbox/"):
        html = at.get(address).content.decode()
        return re.search(r'class="review__text">(.*?)<', html), " ".join(re.sub("<[^>]*>", " ", html).split())

    def post(review, what="", **fields):
        return page(at.post(f"/memory/reviews/{review}{what}", fields).url)

    asked_first, words = page()
    assert asked_first[1] == first
    assert "1 of 3" in words
    assert "Saved on" in words
    asked_next, words = post(asked[0], answer="no")
    assert (asked_next[1], document_of(space).content) == (second, before.replace(f"- {first}\n", ""))
    assert "2 of 3" in words
    assert "Removed: not true any more. Undo" in words
    change = document_of(space).revisions.order_by("-number").first().pk
    again, words = post(asked[0], "/undo", done=1, last=asked[0], choice="no", change=change)
    assert (again[1], document_of(space).content) == (first, before)
    assert "1 of 3" in words
    asked_next, words = post(asked[0], answer="later")
    assert asked_next[1] == second
    assert "Asked again later. Undo" in words
    again, words = post(asked[0], "/undo", later=asked[0], last=asked[0], choice="later")
    assert again[1] == first
    post(asked[1], answer="yes")
    assert len(shown(ada)) == 2
    again, words = post(asked[1], "/undo", done=1, last=asked[1], choice="yes")
    assert (again[1], len(shown(ada))) == (second, 3)
    # Taking it back twice changes nothing, and a line leads to its question.
    post(asked[1], "/undo", done=1, last=asked[1], choice="yes")
    assert document_of(space).content == before
    assert page(f"/memory/inbox/?review={asked[2]}")[0][1] == third
    for number in asked:
        last, words = post(number, answer="yes", done=2)
    assert last is None
    assert "That was all. Kept: still true. Undo" in words


def test_a_question_whether_a_line_is_true_has_no_badge(ada, space, written_ago, at):
    written_ago(space, 200, "Lives in Zurich")
    reviews.ask(ada)
    assert waiting_items(ada) is None


def test_confirming_lines_by_oneself_does_not_use_up_the_questions_of_the_week(ada, space, written_ago, document_of):
    written_ago(space, 200, "Lives in Zurich", "Likes green tea")
    reviews.confirm(document_of(space), ["- Lives in Zurich"])
    reviews.ask(ada)
    assert shown(ada) == ["- Likes green tea"]


def test_a_line_is_asked_about_when_a_newer_one_says_otherwise(ada, space, written_ago, at, document_of):
    written_ago(space, 60, "Works at Nordwind", "Likes green tea")
    written_ago(space, 10, "Now works at Südwind")
    reviews.ask(ada)
    reviews.ask(ada)
    (only,) = reviews.pending(ada)
    assert (only.text, only.newer) == ("- Works at Nordwind", "- Now works at Südwind")
    page = at.get("/memory/inbox/").content.decode()
    assert "A newer line says otherwise. Is this still true?" in page
    assert f'<a href="/memory/{document_of(space).pk}/#line-3">Now works at Südwind</a>' in page
    assert "A newer line says otherwise" in at.get("/memory/").content.decode()
    at.post(f"/memory/reviews/{only.review.pk}", {"answer": "no"})
    assert document_of(space).content == "- Likes green tea\n- Now works at Südwind\n"
    assert shown(ada) == []


def test_a_confirmed_line_is_asked_about_again_only_after_another_newer_line(ada, space, written_ago):
    written_ago(space, 60, "Works at Nordwind")
    written_ago(space, 10, "Works at Südwind")
    reviews.ask(ada)
    reviews.answer(reviews.pending(ada)[0], "yes", ada)
    reviews.ask(ada)
    assert shown(ada) == []
    written_ago(space, -1, "Works at Westwind")
    reviews.ask(ada)
    newer = {each.text: each.newer for each in reviews.pending(ada)}
    assert newer == {"- Works at Nordwind": "- Works at Westwind", "- Works at Südwind": "- Works at Westwind"}


def test_a_note_of_a_later_day_counts_and_one_that_names_nobody_does_not(ada, space, written_ago, append):
    written_ago(space, 40, "Lives in Bern", "Works at Nordwind")
    day = timezone.now().date()
    append(space, "- Works at Südwind\n- Ada moved to Basel.\n", f"memory/{day - dt.timedelta(days=5)}.md")
    append(space, "- Ada lives in Genf.\n", f"memory/{day - dt.timedelta(days=45)}.md")
    reviews.ask(ada)
    (only,) = reviews.pending(ada)
    assert (only.text, only.newer) == ("- Lives in Bern", "- Ada moved to Basel.")
    assert only.newer_document.path == f"memory/{day - dt.timedelta(days=5)}.md"


def test_without_its_newer_line_nothing_is_asked(ada, space, written_ago, document_of, append):
    written_ago(space, 60, "Works at Nordwind")
    written_ago(space, 10, "Works at Südwind")
    reviews.ask(ada)
    forget(space, ["- Works at Südwind"], ada)
    assert shown(ada) == []
    assert not Review.objects.exists()


def test_what_the_person_decided_about_a_contradiction_is_not_asked_again(ada, space, written_ago, document_of):
    written_ago(space, 60, "Works at Nordwind")
    written_ago(space, 10, "Works at Südwind")
    revision = document_of(space).revisions.get(number=2)
    decisions.ask_about_contradiction(revision, Contradicted("MEMORY.md", 1, 1, "- Works at Nordwind"))
    reviews.ask(ada)
    assert shown(ada) == []


def test_lines_of_different_sections_are_compared_only_when_they_name_somebody(ada, space, written_ago):
    written_ago(space, 60, "Works at Nordwind", "Ada lives in Bern")
    at = timezone.now() - dt.timedelta(days=10)
    with mock.patch("django.utils.timezone.now", return_value=at):
        content = "- Works at Nordwind\n- Ada lives in Bern\n\n## Tom\n\n- Works at Südwind\n- Ada lives in Basel\n"
        write.apply(space, "MEMORY.md", write.Replace(content, 1), write.Author(write.Source.PAGE, ada))
    reviews.ask(ada)
    assert shown(ada) == ["- Ada lives in Bern"]


def test_a_changed_line_is_not_asked_about(ada, space, written_ago, at, document_of):
    written_ago(space, 200, "Lives in Zurich")
    reviews.ask(ada)
    document = document_of(space)
    at.post(f"/memory/{document.pk}/edit", {"content": "- Lives in Bern\n", "base_version": document.version})
    assert shown(ada) == []


def test_switched_off_nothing_is_asked(ada, space, written_ago):
    written_ago(space, 200, "Lives in Zurich")
    switches.choose(ada, switches.Switch.REVIEWS, False)
    reviews.ask(ada)
    assert not Review.objects.exists()


def test_a_stranger_is_asked_nothing_and_answers_nothing(ada, stranger, space, written_ago, client):
    written_ago(space, 200, "Lives in Zurich")
    reviews.ask(ada)
    client.force_login(stranger)
    assert shown(stranger) == []
    assert client.post(f"/memory/reviews/{Review.objects.get().pk}", {"answer": "no"}).status_code == 404
