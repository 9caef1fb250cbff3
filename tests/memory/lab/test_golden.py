"""Golden questions: kept once, run, and compared after a change; and why a line is not found."""

import re
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from memory import tasks
from memory.access.sources import Sources
from memory.forgetting.forget import forget
from memory.lab import explain, golden
from memory.models import GoldenQuestion, LabRun, MemoryDocument
from oneclaw.models import Space


@pytest.fixture
def remembered(ada, write, space):
    """Ada's own space, with three lines."""
    write(ada, "MEMORY.md", "# Memory\n\n- **Allergic** to peanuts\n- The boat is called Heron\n- Lives in Bern\n")
    return space


def test_a_question_is_kept_once_without_markdown(remembered):
    first = golden.keep(remembered, "What is  the boat called?", "- The boat is called **Heron**")
    again = golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    assert first == again
    assert (first.question, first.expected) == ("What is the boat called?", "The boat is called Heron")
    assert golden.keep(remembered, " ", "x") is golden.keep(remembered, "x", "- ") is None


def test_only_the_newest_questions_stay(remembered, monkeypatch):
    monkeypatch.setattr(golden, "MAX_QUESTIONS", 2)
    for number in range(3):
        golden.keep(remembered, f"question {number}", "line")
    assert list(remembered.golden_questions.order_by("pk").values_list("question", flat=True)) == [
        "question 1",
        "question 2",
    ]


def test_a_run_stores_the_rank_of_each_line(remembered, ada):
    golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    golden.keep(remembered, "Which train did he take?", "The train to Basel")
    made = golden.run(remembered, ada)
    assert (made.found, made.total, made.share) == (1, 2, 0.5)
    assert list(remembered.golden_questions.order_by("pk").values_list("rank", flat=True)) == [1, None]


def test_without_questions_there_is_no_run(remembered, ada):
    assert golden.run(remembered, ada) is None
    assert LabRun.objects.count() == 0


def test_a_change_of_a_setting_runs_them_again_and_a_lower_share_is_told(remembered, ada, settings, client, write):
    golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    tasks.run_golden_questions()
    tasks.run_golden_questions()
    assert LabRun.objects.count() == 1
    assert golden.drop(remembered) is None
    write(ada, "MEMORY.md", "- Nothing of the kind\n")
    settings.SEARCH = replace(settings.SEARCH, half_life_days=7)
    tasks.run_golden_questions()
    assert LabRun.objects.count() == 2
    newest, before = golden.drop(remembered)
    assert (newest.found, before.found) == (0, 1)
    client.force_login(ada)
    assert "Fewer questions find their line" in client.get("/memory/lab").content.decode()


def test_a_lower_share_without_a_change_is_no_warning(remembered, ada, write):
    golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    golden.run(remembered, ada)
    write(ada, "MEMORY.md", "- Nothing of the kind\n")
    golden.run(remembered, ada)
    assert golden.drop(remembered) is None


def test_a_forgotten_line_leaves_the_lab(remembered, ada, space):
    golden.keep(space, "What is the boat called?", "The boat is called Heron")
    golden.keep(space, "Is it true that the boat is called Heron now?", "Lives in Bern")
    golden.keep(space, "Where does she live?", "Lives in Bern")
    MemoryDocument.objects.filter(space=space).delete()
    from memory.documents.write import Append, Author, Source, apply

    apply(space, "MEMORY.md", Append("- The boat is called Heron\n"), Author(Source.PAGE, ada))
    forget(space, ["- The boat is called Heron"], ada)
    assert list(GoldenQuestion.objects.values_list("question", flat=True)) == ["Where does she live?"]


def test_the_command_says_the_share_and_fails_after_a_drop(remembered, ada, settings, capsys, write):
    golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    call_command("memory", "lab", "--user", ada.email)
    assert "1 of 1 questions find their line." in capsys.readouterr().out
    write(ada, "MEMORY.md", "- Nothing of the kind\n")
    settings.SEARCH = replace(settings.SEARCH, relevance=0.6)
    with pytest.raises(CommandError, match="1 of 1 found it"):
        call_command("memory", "lab", "--user", ada.email, "--json")
    assert '"found": 0' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("question", "line", "sentence"),
    [
        ("What is the boat called?", "boat is called Heron", "It is found, as result 1."),
        ("What is the boat called?", "**Allergic** to peanuts", "It is result "),
        ("What is the boat called?", "never said", "No document contains these words."),
        ("What is the boat called?", " ", "Enter some words of the line."),
        ("qqqq zzzz", "Lives in Bern", "memory seems to have no answer"),
    ],
)
def test_why_a_line_is_not_found(remembered, ada, question, line, sentence):
    found = explain.why_not([remembered], Sources(), question, line, max_results=1, today=ada.day())
    assert sentence in found.sentence


def test_a_line_that_is_not_indexed_yet_is_said(remembered, ada):
    MemoryDocument.objects.update(content="- A new line\n", version=9)
    found = explain.why_not([remembered], Sources(), "boat", "A new line", max_results=1)
    assert found.sentence == "MEMORY.md was changed and is not in the search index yet."


def test_the_lab_of_another_person_is_not_there(client, remembered, stranger):
    kept = golden.keep(remembered, "What is the boat called?", "The boat is called Heron")
    client.force_login(stranger)
    for address in ("/memory/lab", "/memory/lab/keep", "/memory/lab/run"):
        method = client.get if address.endswith("lab") else client.post
        assert method(f"{address}?space={remembered.pk}").status_code == 404
    client.post(f"/memory/lab/{kept.pk}/drop")
    assert GoldenQuestion.objects.count() == 1
    assert Space.objects.own_of(stranger).golden_questions.count() == 0


def test_a_person_asks_keeps_runs_and_removes(client, remembered, ada):
    client.force_login(ada)
    text = client.get("/memory/lab?q=What is the boat called?&why=peanuts").content.decode()
    assert "The boat is called Heron" in text
    # A bar is as long as its number says.
    bars = re.findall(r'value="(\d+)">(\d+)</meter> (\d+) %', text)
    assert len(bars) == text.count("<meter")
    assert all(value == shown == said for value, shown, said in bars)
    client.post("/memory/lab/keep", {"question": "What is the boat called?", "expected": "The boat is called Heron"})
    assert "1 of 1 question finds its line." in client.post("/memory/lab/run", follow=True).content.decode()
    assert "found as result 1" in client.get("/memory/lab").content.decode()
    client.post(f"/memory/lab/{GoldenQuestion.objects.get().pk}/drop")
    assert GoldenQuestion.objects.count() == 0
