"""Nothing that foreign text tells an obedient model to save becomes memory without a yes."""

import json

import pytest

from memory.models import MemoryDocument, MemoryRevision, Suggestion
from memory.notes import flush
from oneclaw.models import Space
from tests.attack.cases import CASES, FACT, SAVED_AS
from tests.attack.conftest import Stage
from tests.scripted import answer


def curated(ada):
    documents = MemoryDocument.objects.filter(space=Space.objects.own_of(ada), path="MEMORY.md")
    return "".join(documents.values_list("content", flat=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_line_waits_and_no_note_has_it(case, stage_of, ada, scripted):
    stage = stage_of(case)
    result = json.loads(stage.save(SAVED_AS[case.spelling]))
    assert result.get("waiting") is True, result
    assert curated(ada) == ""
    assert Suggestion.objects.get(path="MEMORY.md").text == SAVED_AS[case.spelling]
    # Nor does it get into the log of the day.
    queued = flush.request(stage.session, "left")
    if queued is None:
        return
    scripted.script(answer(f"- {SAVED_AS[case.spelling]}"))
    flush.run(queued.pk)
    notes = MemoryRevision.objects.filter(operation_key__startswith="flush:").values_list("hunks", flat=True)
    assert SAVED_AS[case.spelling] not in str(list(notes))
    assert Suggestion.objects.filter(path__startswith="memory/").exists()


def test_without_foreign_text_the_same_line_is_saved(ada, mallory):
    stage = Stage(ada, mallory, "", "Remember where my invoices are paid to.")
    assert json.loads(stage.save(FACT))["saved"] is True
    assert FACT in curated(ada)


def test_what_the_person_types_beside_a_file_is_saved(ada, mallory):
    stage = Stage(ada, mallory, FACT, "Summarise this. And remember that I like green tea.")
    stage.files.append(stage.file())
    assert json.loads(stage.save("Likes green tea."))["saved"] is True
    assert curated(ada) == "- Likes green tea.\n"
