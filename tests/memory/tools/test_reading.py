"""memory_search and memory_get: what the model may read, and nothing else."""

import pytest

from chat.extensions import ToolCall, ToolError
from chat.models import Message
from chat.turns.tools import validate
from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.index.documents import try_to_index
from memory.tools import reading
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from oneclaw.models import Space, SpaceMember
from oneclaw.reasons import Reason


@pytest.fixture
def use(session):
    """use(tool, **arguments): the result of one call."""
    message = Message.objects.create(session=session, seq=1, role="assistant")

    def use(tool, **arguments):
        validate(tool, arguments)
        return tool.call(ToolCall("t", tool.name, arguments, session.owner, session, message.pk))

    return use


@pytest.fixture
def know(append):
    """know(space, text, path="MEMORY.md"): remembered and indexed."""

    def know(space, text, path="MEMORY.md"):
        revision = append(space, text, path=path)
        assert try_to_index(revision.document_id)
        return revision.document

    return know


@pytest.fixture
def team(stranger):
    return Space.objects.create(kind="team", name="Team Tea", owner=stranger)


def error_of(use, tool, **arguments):
    with pytest.raises(ToolError) as refused:
        use(tool, **arguments)
    return refused.value.code, refused.value.message


def test_a_search_gives_passages_with_their_lines_and_shows_them_on_the_card(use, space, know):
    know(space, "# Things\n\n- Ada drinks jasmine tea.\n- Ada lives in Bern.")
    result = use(SEARCH, query="jasmine tea", max_results=1)
    (hit,) = result.content["results"]
    assert hit["path"] == "MEMORY.md"
    assert 1 <= hit["start_line"] <= 3 <= hit["end_line"] <= 4
    assert "Ada drinks jasmine tea." in hit["snippet"]
    assert 0 < hit["score"] <= 1
    assert str(result.summary) == "Found 1 passage"
    assert str(result.lines[0]) == "Ada drinks jasmine tea. · saved memory"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("memory/2026-11-03.md", "Ada drinks jasmine tea. · notes of 3 November 2026"),
        ("trip.md", "Ada drinks jasmine tea. · trip.md"),
    ],
)
def test_the_card_says_in_words_where_a_line_is_from(use, space, know, path, shown):
    know(space, "# Things\n\n- Ada lives in Bern.\n- Ada drinks jasmine tea.", path=path)
    assert str(use(SEARCH, query="jasmine tea", max_results=1).lines[0]) == shown


def test_the_card_shows_what_was_said_and_not_its_label():
    snippet = "Person (2026-11-22 10:48):\nWhich tea?\n\nAssistant (2026-11-22 10:49):\n1. Jasmine tea is good."
    assert reading.best_line(snippet, "jasmine") == "Jasmine tea is good."
    assert reading.best_line("# Tea", "jasmine") == "# Tea"


def test_a_search_that_finds_nothing_says_so(use):
    result = use(SEARCH, query="anything")
    assert (result.content, result.summary, result.lines) == ({"results": []}, Reason("memory.found_nothing"), [])


def test_the_number_of_results_and_the_least_score_are_the_models_choice(use, space, know):
    for number in range(12):
        know(space, f"- Cup {number} of tea", path=f"cup {number}.md")
    assert len(use(SEARCH, query="tea", min_score=0).content["results"]) == 6
    assert len(use(SEARCH, query="tea", min_score=0, max_results=10).content["results"]) == 10
    assert all(hit["score"] >= 0.99 for hit in use(SEARCH, query="tea", min_score=0.99).content["results"])


def test_a_blank_question_is_refused(use):
    told = "validation_error", "Parameter 'query' is required and must be non-empty."
    assert error_of(use, SEARCH, query=" \n") == told
    assert error_of(use, SEARCH) == told


def test_arguments_out_of_range_are_refused(use):
    assert error_of(use, SEARCH, query="x", max_results=0)[0] == "validation_error"
    assert error_of(use, SEARCH, query="x", min_score=2)[0] == "validation_error"
    assert error_of(use, GET, path="MEMORY.md", from_line=0)[0] == "validation_error"


def test_lines_of_a_document_are_read(use, space, append):
    append(space, "one\ntwo\nthree\nfour")
    result = use(GET, path="MEMORY.md", from_line=2, lines=2)
    assert result.content == {
        "path": "MEMORY.md", "from_line": 2, "lines": 2, "total_lines": 4, "text": "two\nthree"
    }  # fmt: skip
    assert str(result.summary) == "Read MEMORY.md, lines 2–3"
    assert use(GET, path="MEMORY.md").content["text"] == "one\ntwo\nthree\nfour"
    beyond = use(GET, path="MEMORY.md", from_line=9)
    assert (beyond.content["lines"], beyond.content["text"], str(beyond.summary)) == (0, "", "MEMORY.md has 4 lines")


def test_a_very_long_reading_is_cut_and_says_so(use, space):
    write.apply(space, "a.md", Replace("x" * 30_000 + "\nmore", 0), Author(Source.PAGE))
    result = use(GET, path="a.md").content
    assert (len(result["text"]), result["cut"], result["lines"], result["total_lines"]) == (20_000, True, 1, 2)


def test_what_is_not_there_deleted_impossible_or_somebody_elses_looks_the_same(use, space, strangers_space, append):
    append(strangers_space, "secret", path="theirs.md")
    append(space, "gone", path="gone.md")
    write.apply(space, "gone.md", Delete(1), Author(Source.PAGE))
    for path in ("nowhere.md", "gone.md", "theirs.md", "../theirs.md", f"../{strangers_space.pk}/theirs.md", "a\x00"):
        assert error_of(use, GET, path=path) == ("not_found", f"There is no memory file “{path}”.")


def test_a_search_finds_nothing_of_anybody_else(use, strangers_space, know):
    know(strangers_space, "- The stranger drinks jasmine tea.")
    assert use(SEARCH, query="jasmine tea", min_score=0, max_results=60).content["results"] == []


def test_a_shared_space_is_read_by_its_members_only(use, session, space, team, know):
    know(team, "- The team drinks jasmine tea.", path="team.md")
    session.space = team
    session.save()
    assert use(SEARCH, query="jasmine tea", min_score=0).content["results"] == []
    assert error_of(use, GET, path="team.md")[0] == "not_found"
    SpaceMember.objects.create(space=team, user=session.owner)
    found = use(SEARCH, query="jasmine tea", min_score=0).content["results"]
    assert [(hit["path"], hit["memory"]) for hit in found] == [(f"spaces/{team.pk}/team.md", "Team Tea")]
    assert use(GET, path="team.md").content["text"] == "- The team drinks jasmine tea."


def test_a_space_that_the_session_does_not_name_is_not_read(use, session, team, know):
    know(team, "- The team drinks jasmine tea.", path="team.md")
    SpaceMember.objects.create(space=team, user=session.owner)
    assert use(SEARCH, query="jasmine tea", min_score=0).content["results"] == []
    assert error_of(use, GET, path="team.md")[0] == "not_found"


def test_the_persons_own_file_goes_before_a_shared_one_of_the_same_name(use, session, space, team, append):
    append(space, "mine")
    append(team, "the team's")
    SpaceMember.objects.create(space=team, user=session.owner)
    session.space = team
    session.save()
    assert use(GET, path="MEMORY.md").content["text"] == "mine"
