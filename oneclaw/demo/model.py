"""The demo model: a few rules behind the Messages API, for running OneClaw without an API key.

Its answers say that it is not a real model. `manage.py serve` starts it and sets ONECLAW_DEMO_URL; oneclaw.llm then
sends it requests over HTTP as to any other model.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from oneclaw.demo import intents
from oneclaw.demo.messages_server import MessagesServer, RecordedRequest
from oneclaw.demo.replies import Reply, ReplyBlock, answer, error, json_reply, text, tool_use
from oneclaw.demo.results import fields_of, passages_of, text_of

MODEL = "oneclaw-demo"
# The headings of a summary with which a conversation goes on.
HEADINGS = (
    *("Wanted", "Agreed", "Facts, names, numbers, dates", "Done"),
    *("Open", "Standing wishes", "Files and tools", "How it stands now"),
)
# The pace of answers: a little faster than people read.
DELTA_PAUSE_SECONDS, DELTA_CHARS = 0.02, 7

# About as many bytes of a request make a token.
TOKEN_BYTES = 4
# The document of curated memory.
CURATED = "MEMORY.md"
# Further lines of a search that an answer mentions.
MORE_LINES = 2
# The line before each message of a conversation in a result, and what Markdown adds at the beginning of a line.
LABEL = re.compile(r"(?:^|: )(?P<who>[A-Z]\w+) \(\d{4}-\d\d-\d\d \d\d:\d\d\):\s*$")
MARK = re.compile(r"^\s*(?:[-*+•>]\s+|\d{1,3}[.)]\s+)+")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIMED = re.compile(r"^\[[^\]\n]{0,60}\d:\d\d[^\]\n]{0,60}\]\s{0,9}(?P<who>[^:\n]{1,60}):\s*", re.MULTILINE)
UNTIMED = re.compile(r"^(?P<who>person|user|assistant):\s*", re.IGNORECASE)
ASSISTANT = re.compile(r"(?:assistant|oneclaw|ai|model|tool|system)\b", re.IGNORECASE)
ATTACHED = re.compile(r'(?:\[image: |<file name=")([^"\]]+)')
NAMED = re.compile(r"\b(?:my name is|i am called|ich heiße|ich heisse)\s+(\w+)", re.IGNORECASE)
WHAT_I_AM = (
    "I am OneClaw's **demo model**: a few rules, no intelligence. "
    "To talk with a real model, set `ANTHROPIC_API_KEY` and start OneClaw again."
)
WHAT_I_DO = (
    "Until then you can try how OneClaw remembers:\n\n"
    "- *Remember that my cat is called Miso.* – I save it to your memory.\n"
    "- *What is my cat called?* – I search your memory and answer from it.\n"
    "- Press *End*, or open another conversation: notes of what you told me here are kept in your memory."
)


class DemoModel(MessagesServer):
    """The demo model on a loopback port."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(reply_to, port)


def start(port: int = 0) -> DemoModel:
    """Start the demo model and return it, with its `.url` and `.stop()`. Raise OSError when the port is taken."""
    model = DemoModel(port)
    model.start()
    return model


def reply_to(request: RecordedRequest) -> Reply:
    """Return the reply to a request: an answer under the demo model's own name, whichever model was asked, or the list
    of models. It claims no capability, so it is sent what every server of the Messages API understands."""
    match request.method, request.path.partition("?")[0]:
        case "POST", "/v1/messages":
            made = reply(request.body)
            usage = {"input_tokens": len(request.raw) // TOKEN_BYTES + 1}
            return replace(made, fields={**made.fields, "model": MODEL}, input_usage=usage)
        case "GET", "/v1/models":
            described = {"type": "model", "id": MODEL, "display_name": MODEL, "created_at": "2026-01-01T00:00:00Z"}
            return json_reply({"data": [described], "has_more": False, "first_id": MODEL, "last_id": MODEL})
    return error(404, "not_found_error", f"Not found: {request.path}")


def reply(body: dict[str, Any]) -> Reply:
    """Return the answer to the JSON of a request: to its newest message, or to the results of tools."""
    asked = _words(body["messages"][-1])
    results = [block for block in _blocks(body["messages"][-1]) if block.get("type") == "tool_result"]
    if results:
        return _say(*_after_tools(body, results))
    if "<messages>" in asked:
        return answer(_continued(_inside(asked, "earlier_summary"), _inside(asked, "messages")))
    if "<transcript>" in asked:
        return answer(_notes(_inside(asked, "transcript")))
    if "<new_line>" in asked:
        return answer("NONE")
    if "<conversation>" in asked:
        return answer(_summary(_inside(asked, "conversation")))
    if "<name_for>" in asked:
        return answer(_title(next(_persons_words(_inside(asked, "name_for")), "")))
    if "<title_for>" in asked:
        return answer(_title(_inside(asked, "title_for")))
    return _answer(body, asked)


def _answer(body: dict[str, Any], asked: str) -> Reply:
    tools = set() if body.get("tool_choice") == {"type": "none"} else {tool["name"] for tool in body.get("tools") or []}
    keep = intents.to_remember(asked)
    if keep and "save_memory" in tools:
        return _say(tool_use("save_memory", {"content": keep[:5000]}))
    if files := _files(body["messages"][-1]):
        return _say(f"You sent {files}. A real model would read it; I cannot.\n\n{WHAT_I_AM}")
    if intents.about_the_past(asked):
        if "memory_search" in tools:
            return _say("Let me look.", tool_use("memory_search", _search(asked)))
        return _say("I found nothing about that.")
    first = len(body["messages"]) == 1
    if intents.HELP.search(asked.lower()):
        return _say(f"{WHAT_I_AM}\n\n{WHAT_I_DO}")
    rest = intents.greeting(asked)
    if not rest.strip():
        return _say(f"Hello{_name(body)}!\n\n{WHAT_I_AM}\n\n{WHAT_I_DO}" if first else f"Hello again{_name(body)}!")
    heard = f"You wrote:\n\n{_quoted(rest.strip())}"
    if first:
        return _say(f"{heard}\n\n{WHAT_I_AM}\n\n{WHAT_I_DO}")
    return _say(f"{heard}\n\nA real model would answer that; I can only save and find what you ask me to remember.")


# -- After the tools -----------------------------------------------------------------------------


def _after_tools(body: dict[str, Any], results: list[dict[str, Any]]) -> Iterator[str]:
    calls = {
        block["id"]: block
        for message in body["messages"]
        for block in _blocks(message)
        if block.get("type") == "tool_use"
    }
    for result in results:
        call = calls.get(result.get("tool_use_id"), {"name": "", "input": {}})
        if result.get("is_error"):
            yield f"That did not work: {_problem(result)}"
        elif call["name"] == "save_memory":
            yield _after_saving(fields_of(result), str(call["input"].get("content", "")))
        elif call["name"] == "memory_search":
            yield _found(result, str(call["input"].get("query", "")))
        else:
            yield f"{call['name']} says:\n\n{_quoted(text_of(result)[:500])}"


def _after_saving(fields: dict[str, Any], line: str) -> str:
    """Return what the result of save_memory says has become of `line`. The card shows a line that was saved."""
    if fields.get("waiting"):
        became = "This waits for your yes"
    elif fields.get("proposed"):
        became = "I proposed this to the space; another owner or editor has to approve it"
    elif fields.get("declined"):
        became = "You have declined this before, so I did not save it"
    elif fields.get("already_known"):
        became = "Your memory has this already"
    else:
        return "I will remember that."
    return f"{became}:\n\n{_quoted(line)}"


def _search(asked: str) -> dict[str, Any]:
    """Return the arguments of a search for `asked`; without a least score when it names no subject."""
    query = {"query": asked.strip()[:280]}
    return query if intents.subjects(asked) else {**query, "min_score": 0}


def _found(result: dict[str, Any], question: str) -> str:
    """Return a sentence with the line that answers `question` best, and up to MORE_LINES others with as many of its
    words; curated memory first, because it is authoritative. What an assistant said is left out: it is no memory of the
    person."""
    passages = sorted(passages_of(result), key=lambda passage: passage.path != CURATED)
    asked = _content_words(question)
    lines = []
    for rank, each in enumerate(passages):
        speaker_is_person = True
        for line in each.text.splitlines():
            if label := LABEL.search(line):
                speaker_is_person = not ASSISTANT.match(label["who"])
                continue
            said = MARK.sub("", line).strip()
            if said and speaker_is_person and not line.lstrip().startswith("#") and not said.endswith("?"):
                lines.append((-len(asked & _content_words(said)), rank, said, each.path))
    if not lines:
        return "I found nothing about that in your memory. Tell me, and ask me to remember it."
    # A line of curated memory with any of the words comes before notes with more of them.
    best, *rest = sorted(lines, key=lambda line: (line[0] == 0 or line[3] != CURATED, *line[:2]))
    answer = f"From {_origin(best[3])}: **{best[2].rstrip('.')}**."
    others = [said for shared, _, said, _ in rest if said != best[2] and shared == best[0]]
    if others := list(dict.fromkeys(others))[:MORE_LINES]:
        answer += " I also found: " + "; ".join(f"*{each.rstrip('.')}*" for each in others) + "."
    return answer


def _origin(path: str) -> str:
    """Return the place of a passage in words."""
    if path == CURATED:
        return "what you asked me to remember"
    if day := DAY.search(path):
        return f"the notes of {day[0]}"
    return "an earlier conversation" if path.startswith("/c/") else path or "your memory"


def _content_words(words: str) -> set[str]:
    """Return the words of at least three letters, without their endings."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{3,}", words.lower())}


def _problem(result: dict[str, Any]) -> str:
    error = fields_of(result).get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or text_of(result)[:500])


# -- Summaries and titles ------------------------------------------------------------------------


def _notes(transcript: str) -> str:
    """Return the person's own statements as bullets, or NO_REPLY when there are none."""
    said = [statement for words in _persons_words(transcript) for statement in intents.statements(words)]
    asked = [line for line in map(intents.to_remember, said) if line]
    notes = list(dict.fromkeys([*asked, *(line for line in said if not intents.to_remember(line))]))
    return "\n".join(f"- {note[:300]}" for note in notes[:8]) or "NO_REPLY"


def _summary(conversation: str) -> str:
    """Return title and summary as JSON, made of the person's own words."""
    words = list(_persons_words(conversation))
    said = [statement for line in words for statement in intents.statements(line)]
    title = _title(words[0]) if words else "Hello"
    return json.dumps({"title": title, "summary": " ".join(said[:3])[:400]}, ensure_ascii=False)


def _continued(earlier: str, messages: str) -> str:
    """Return a summary under the headings that the product asks for: what was wanted before, and the person's lines."""
    before = [line for line in earlier.splitlines() if line.startswith("- ")]
    said = [f"- {line[:200]}" for line in _persons_words(messages)]
    lines = "\n".join([*before, *said][-40:]) or "-"
    return "\n\n".join(f"## {heading}\n{lines if heading == HEADINGS[0] else '-'}" for heading in HEADINGS)


def _persons_words(transcript: str) -> Iterator[str]:
    """Yield the person's lines. A line may begin with its speaker; lines without one belong to the last speaker."""
    # When lines begin with times, a colon alone does not mark a speaker.
    begins = TIMED if TIMED.search(transcript) else UNTIMED
    speaking = True
    for line in transcript.splitlines():
        speaker = begins.match(line)
        if speaker:
            speaking = not ASSISTANT.match(speaker["who"])
            line = line[speaker.end() :]
        if speaking and line.strip():
            yield line


def _title(words: str) -> str:
    rest = intents.greeting(words).split()
    said = " ".join((rest if len(rest) > 2 else words.split())[:6]).strip(" .,;:!?`")
    return said[:60] or "Hello"


# -- Small parts ---------------------------------------------------------------------------------


def _say(*parts: str | ReplyBlock) -> Reply:
    return answer(
        *(text(part, size=DELTA_CHARS) if isinstance(part, str) else part for part in parts), pace=DELTA_PAUSE_SECONDS
    )


def _name(body: dict[str, Any]) -> str:
    """Return how the person is addressed, if the prompt says their name."""
    system = body.get("system") or ""
    words = system if isinstance(system, str) else "\n".join(block.get("text", "") for block in system)
    found = NAMED.search(words)
    return f", {found[1]}" if found else ""


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _files(message: dict[str, Any]) -> str:
    """Return the names of the attached files; "" when there are none."""
    titles = [block.get("title", "a document") for block in _blocks(message) if block.get("type") == "document"]
    texts = (block["text"] for block in _blocks(message) if block.get("type") == "text")
    named = [found[1] for text in texts if (found := ATTACHED.match(text))]
    return ", ".join(f"*{name}*" for name in [*named, *titles])


def _words(message: dict[str, Any]) -> str:
    """Return what the person wrote: the last text. The texts before it were added by the product."""
    return next((block["text"] for block in reversed(_blocks(message)) if block.get("type") == "text"), "")


def _inside(words: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)(?:</{tag}>|\Z)", words, re.DOTALL)
    return found[1].strip() if found else ""


def _quoted(words: str) -> str:
    return "\n".join(f"> {line}" for line in words[:2000].splitlines())
