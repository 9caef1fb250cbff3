"""Long results of tools that read are sent as fewer whole results; memory_get reads the rest by their address."""

import json

import pytest

from chat.context.results import SENT_MAX_CHARS, lines_of, sent_results, shares_of
from chat.conversations import transcript
from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession, Message
from memory.documents import write as documents
from memory.documents.write import Author, Replace, Source
from memory.tools.get import GET
from tests.conversations import FINISHED, abandon, send

OFFERED = {"memory_search", "memory_get", "save_memory"}


def found(count, mark="m2"):
    results = [
        {"mark": f"{mark}-{n}", "path": "MEMORY.md", "start_line": n, "end_line": n, "snippet": f"Line {n}. " * 30}
        for n in range(1, count + 1)
    ]
    return {"results": results, "marks": "End each statement …"}


def block_of(content, id="toolu_1"):
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def sent_of(block, name="memory_search", offered=OFFERED):
    shares = shares_of([block], [{"type": "tool_use", "id": block["tool_use_id"], "name": name}], offered)
    return sent_results([block], {"shares": shares})[0]["content"]


@pytest.fixture
def called(ada):
    """called(block): the conversation in which a call had this result."""

    def called(block, name="memory_search"):
        accepted = send(ada)
        use = {"type": "tool_use", "id": block["tool_use_id"], "name": name, "input": {}}
        results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
        transcript.finish_tools(accepted.turn, accepted.answer, results, [block], {})
        return ChatSession.objects.get(pk=accepted.message.session_id)

    return called


def read(session, **arguments):
    return GET.call(ToolCall("t", GET.name, arguments, session.owner, session, None)).content


@pytest.mark.parametrize(
    "name", ["memory_search", "memory_get", "documents_search", "sessions_history", "sessions_list"]
)
@pytest.mark.parametrize("count", [12, 60])
def test_fewer_whole_results_are_sent_in_place_of_cut_ones(name, count):
    content = found(count)
    block = block_of(content)
    sent = sent_of(block, name)
    assert len(block["content"]) > SENT_MAX_CHARS >= len(sent)
    told = json.loads(sent)
    assert 0 < len(told["results"]) < count
    assert told["results"] == content["results"][: len(told["results"])]
    assert told["left_out"].startswith(f"{count - len(told['results'])} more: memory_get with path ")


def test_the_way_to_the_rest_leads_to_the_first_result_that_was_left_out(called):
    block = block_of(found(60))
    told = json.loads(sent_of(block))
    line = int(told["left_out"].split("from_line ")[1].split()[0])
    rest = read(called(block), path="/results/toolu_1", from_line=line)
    assert rest["text"].startswith("  {\n")
    assert f'"mark": "m2-{len(told["results"]) + 1}"' in rest["text"].split("\n")[1]


def test_all_of_a_long_result_is_read_page_by_page(called):
    block = block_of("\n".join(f"{n}: " + "word " * n for n in range(120)) + "\n" + "x" * 5_000)
    session, line, lines = called(block), 1, []
    while True:
        page = read(session, path="/results/toolu_1", from_line=line)
        assert len(json.dumps(page, ensure_ascii=False)) <= SENT_MAX_CHARS
        lines += page["text"].split("\n")
        line += page["lines"]
        if line > page["total_lines"]:
            break
    assert lines == lines_of(block["content"])
    assert "".join(lines) == block["content"].replace("\n", "")


def test_what_is_no_list_is_sent_with_its_beginning_and_its_end(called):
    block = block_of("a" * 3_000 + "\n" + "b" * 3_000)
    sent = sent_of(block, "mcp_tool")
    assert (sent[:1_500], sent[-1_500:]) == ("a" * 1_500, "b" * 1_500)
    assert 'memory_get with path "/results/toolu_1" and from_line 2 shows them' in sent
    assert read(called(block), path="/results/toolu_1", from_line=2)["text"].startswith("a" * 1_000)


def test_results_that_were_sent_before_this_version_keep_their_bytes():
    block = block_of("a" * 6_000)
    (sent,) = sent_results([block], {"results": {"toolu_1": [1_500, 1_500]}})
    assert sent["content"] == (
        "a" * 1_500
        + '\n\n[… 3,000 characters are left out here; read_result with id "toolu_1" and from 1500 shows them …]\n\n'
        + "a" * 1_500
    )


def test_without_a_tool_that_reads_them_results_are_sent_whole_and_read_result_is_named_where_it_is():
    block = block_of(found(60))
    assert sent_of(block, offered={"memory_search"}) == block["content"]
    told = json.loads(sent_of(block, offered={"memory_search", "read_result"}))
    assert 'read_result with id "toolu_1" and from 0' in told["left_out"]


def test_results_of_other_conversations_have_no_address_here(called, ada):
    called(block_of(found(60)))
    other = send(ada)
    with pytest.raises(ToolError, match="There is no result of a call"):
        read(other.message.session, path="/results/toolu_1")


def test_one_reading_of_a_document_fits_into_what_is_sent(session, space):
    documents.apply(space, "long.md", Replace("\n".join("word " * 20 for _ in range(200)), 0), Author(Source.PAGE))
    Message.objects.create(session=session, seq=1, role="assistant")
    page = read(session, path="long.md")
    assert 0 < page["lines"] < page["total_lines"]
    assert len(json.dumps(page, ensure_ascii=False)) <= SENT_MAX_CHARS


def test_an_id_that_a_server_gives_again_names_the_newest_result(called, ada):
    session = called(block_of("the old one"))
    abandon(session.turns.get())
    accepted = send(ada, session_id=session.pk)
    use = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {}}
    results = transcript.finish_round(accepted.turn, accepted.answer, [use], **FINISHED)
    transcript.finish_tools(accepted.turn, accepted.answer, results, [block_of("the new one")], {})
    assert read(session, path="/results/toolu_1")["text"] == "the new one"
