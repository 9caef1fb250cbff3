"""What the answers of one turn may cite: the passages that were really sent in it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from chat.context.passages import cited_calls, sources_of_prompt, sources_of_results
from chat.context.results import ResultShares, fitted, sent_results, shares_of
from chat.context.view import META_KEY
from chat.models import Message, Turn
from chat.rendering.citations import SOURCES_KEY
from oneclaw import llm


class TurnSources:
    """The passages of a turn, by their marks."""

    def __init__(self) -> None:
        self._titles: dict[str, Any] = {}
        # The names of the tools in the last request, and its model.
        self._offered: Collection[str] = frozenset()
        self._model = ""

    def asked(self, turn: Turn, request: llm.Request) -> dict[str, Any]:
        """Note the next request of `turn`; return what is stored with its answer."""
        self._offered, self._model = frozenset(tool["name"] for tool in request.tools), request.model
        self._titles |= sources_of_prompt(turn.prompt)
        return self.meta

    def found(
        self, uses: Sequence[llm.Block], results: Mapping[str, llm.Block], row: Message, room_tokens: int
    ) -> list[llm.Block]:
        """Note the results of the calls `uses`, by tool_use id, and in their `row` how the model is sent them: in
        `room_tokens`, if that is possible. Return them as they are sent."""
        content = list(results.values())
        shares: ResultShares = shares_of(content, uses, self._offered)
        shares = fitted(content, shares, self._offered, room_tokens, llm.cached_facts(self._model).chars_per_token)
        cited = cited_calls(uses, results, shares, self._model)
        if sent := {name: value for name, value in (("shares", shares), ("cited", cited)) if value}:
            row.meta = {META_KEY: sent}
        self._titles |= sources_of_results(uses, results)
        return sent_results(content, {"shares": shares})

    @property
    def meta(self) -> dict[str, Any]:
        """Return what is stored with an answer that may cite them."""
        return {SOURCES_KEY: dict(self._titles)} if self._titles else {}
