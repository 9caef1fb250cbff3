"""A model as it would be in this life: it says, saves, titles and notes what life.py has, behind the strict server.

What it answers to a question comes from what the product found: it searches, and says the line that fits best.
"""

import collections
import json
import re
from collections.abc import Iterator
from typing import Any

from oneclaw.demo.replies import Reply, answer, tool_use
from tests.acceptance.lived_in.clock import MovedClock
from tests.acceptance.lived_in.life import Life, Talk
from tests.scripted import ScriptedModel
from tests.strict_api.api import StrictApi
from tests.strict_api.cache import Clock

HEADINGS = (
    *("Wanted", "Agreed", "Facts, names, numbers, dates", "Done", "Open", "Standing wishes", "Files and tools"),
    "How it stands now",
)
# Columns of the team's usage, and what they are called in an answer.
BILLED_AS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read_input_tokens",
    "written_tokens": "cache_creation_input_tokens",
}
TOLD_BY_ITSELF = "Nothing new has come up since yesterday."
SEEN, SAVING, KNOWS, DONE, RECALLS, FOUND_NOTHING = OWN_WORDS = (
    "I see.",
    "I save that.",
    "That is good to know about",
    "That is done.",
    "As far as I know:",
    "I found nothing about that.",
)
WORD = re.compile(r"[^\W_]{3,}")


class HouseTime(Clock):
    """The time by which the server's cache of prompts expires: that of the house."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: MovedClock | None = None

    def now(self) -> float:
        """Return the seconds since some moment."""
        return super().now() + (self.clock.shift_seconds if self.clock else 0)


class Ledger(StrictApi):
    """The strict server, with a list of what it has refused, and a sum of what it has billed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refused: list[str] = []
        # By the names of the columns of the team's usage.
        self.billed: collections.Counter[str] = collections.Counter()

    def answer(self, *arguments: Any) -> Reply:
        """Return the reply to a request."""
        reply = super().answer(*arguments)
        if reply.body is not None:
            self.refused.append(reply.body.decode())
        usage = {**reply.input_usage, **reply.usage}
        self.billed.update({column: usage.get(name) or 0 for column, name in BILLED_AS.items()})
        return reply


class LifeModel:
    """The model's server of a team's set-up."""

    def __init__(self, life: Life) -> None:
        self.talks = life.talks
        self.api = Ledger(clock=HouseTime())
        self.server = ScriptedModel(default=self.reply, api=self.api)

    def reply(self, body: dict[str, Any]) -> Reply:
        """Return the answer to a request."""
        newest = list(texts_of(body["messages"][-1]["content"]))
        asked = "\n".join(newest)
        if body["messages"][-1]["role"] == "user" and has_results(body["messages"][-1]):
            return answer(self._after_tools(body))
        if "<transcript" in asked:
            return answer(self._notes(asked))
        if "<conversation" in asked:
            title, summary = self._title_and_summary(asked)
            return answer(json.dumps({"title": title, "summary": summary}, ensure_ascii=False))
        if "<name_for" in asked:
            return answer(next((talk.title for talk in self._talks_in(asked)), "Something else"))
        if "<new_line" in asked or "<known_lines" in asked:
            return answer("NONE")
        if "<entries" in asked:
            return answer("\n".join(f"{number}: other" for number in re.findall(r"^\W*(\d+)", asked, re.MULTILINE)))
        if "<messages" in asked:
            return answer("\n\n".join(f"## {heading}\n-" for heading in HEADINGS))
        if "<title_for" in asked:
            return answer("something else")
        return self._talk(body, newest)

    def _talk(self, body: dict[str, Any], newest: list[str]) -> Reply:
        tools = {tool.get("name") for tool in body.get("tools") or []}
        if "heartbeat_respond" in tools:
            said = {"tell": True, "text": TOLD_BY_ITSELF, "note": "Looked."}
            return answer(tool_use("heartbeat_respond", said))
        talk = next((talk for talk in self._talks_in(newest[-1])), None)
        if talk is None:
            # Such as for what came with a folder.
            asked = newest[-1].strip()
            return answer(tool_use("memory_search", {"query": asked})) if asked.endswith("?") else answer(SEEN)
        if talk.saves:
            return answer(SAVING, tool_use("save_memory", {"content": talk.saves}))
        if talk.is_question:
            return answer(tool_use("memory_search", {"query": talk.words}))
        return answer(f"{KNOWS} {talk.subject}.")

    def _after_tools(self, body: dict[str, Any]) -> str:
        """Return what is said after a save, or the lines that fit the question best of all that a search has found."""
        said = [each for each in body["messages"] if each["role"] == "user" and not has_results(each)]
        # What was recalled stands before the words of the person, as in other messages.
        *_, words = ["", *(text for each in said for text in texts_of(each["content"]))]
        talk = next(self._talks_in(words), None)
        question = talk.words if talk and talk.is_question else words if talk is None and words.endswith("?") else ""
        if not question:
            return DONE
        asked = words_of(question)
        fits = {
            line.strip(): len(asked & words_of(line))
            for line in (*lines_found(body["messages"][-1]), *lines_of_memory(body))
            # Lines of memory: not what somebody, or this model, has said in this or another conversation.
            if not any(self._talks_in(line)) and not any(own in line for own in OWN_WORDS)
        }
        best = max(fits.values(), default=0)
        return f"{RECALLS} {' '.join(line for line, fit in fits.items() if fit == best)}" if fits else FOUND_NOTHING

    def _notes(self, transcript: str) -> str:
        return "\n".join(f"- {talk.note}" for talk in self._talks_in(transcript)) or "NO_REPLY"

    def _title_and_summary(self, conversation: str) -> tuple[str, str]:
        *_, last = [None, *self._talks_in(conversation)]
        return (last.title, last.summary) if last else ("Something else", "Something else was said.")

    def _talks_in(self, text: str) -> Iterator[Talk]:
        """Yield the talks whose words stand in a text, in the order of their places."""
        found = [(text.index(talk.words), talk) for talk in self.talks if talk.words in text]
        return iter(talk for _, talk in sorted(found, key=lambda pair: pair[0]))


def texts_of(content: Any) -> Iterator[str]:
    """Yield all texts of a message, those of results and documents too."""
    if isinstance(content, str):
        yield content
        return
    for block in content:
        for name in ("text", "content", "source", "title"):
            value = block.get(name)
            if isinstance(value, str) and not (name == "source" and block.get("type") == "image"):
                yield value
            elif isinstance(value, list):
                yield from texts_of(value)


def lines_found(message: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the passages that a search brings, without their titles and sources."""
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    for passage in (each for result in results for each in result["content"]):
        if passage["type"] == "search_result":
            yield from (line for text in texts_of(passage["content"]) for line in text.splitlines())


def lines_of_memory(body: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of MEMORY.md in the system text."""
    for text in texts_of(body.get("system") or []):
        yield from (line for line in text.splitlines() if line.startswith("- "))


def has_results(message: dict[str, Any]) -> bool:
    """Return whether a message brings the results of tools."""
    return not isinstance(message["content"], str) and any(
        block.get("type") == "tool_result" for block in message["content"]
    )


def words_of(text: str) -> set[str]:
    """Return the beginnings of the words of a text."""
    return {word.lower()[:5] for word in WORD.findall(text)}
