"""How much of the model's window the requests of one turn have taken: a turn grows by the results of its tools."""

from collections.abc import Sequence

from django.conf import settings

from chat.compaction.budget import WindowBudget, budget_of
from chat.context import tokens
from oneclaw import llm
from oneclaw.llm.estimate import estimated_tokens
from oneclaw.spend.usage import is_counted, whole_usage


class TurnRoom:
    """The tokens of the next request of a turn, as far as they are known, and those that it may have."""

    def __init__(self) -> None:
        self._request: llm.Request | None = None
        # What the person's message was sent as, with its files and what was found for it.
        self._prompt: object = ""
        self._used = 0

    def asked(self, request: llm.Request) -> None:
        """Note the request that is sent; the first one ends with the person's message."""
        if self._request is None and request.messages:
            self._prompt = request.messages[-1]["content"]
        self._request = request

    def answered(self, finished: llm.Finished, content: Sequence[llm.Block]) -> None:
        """Note how the answer with these blocks ended, which the next request begins with."""
        usage = whole_usage(finished.usage)
        if is_counted(usage):
            self._used = tokens.tokens_after(usage)
        elif self._request is not None:
            parts = [self._request.system, self._request.tools, self._request.messages, content]
            self._used = estimated_tokens(parts, self._facts.chars_per_token)

    def brought(self, results: Sequence[llm.Block]) -> None:
        """Note what the next request has in addition."""
        self._used += estimated_tokens(results, self._facts.chars_per_token)

    def made(self) -> None:
        """Note that earlier messages have given way, as far as there were any: how long the next request is now, its
        answer says."""
        self._used = 0

    @property
    def left(self) -> int:
        """Return the tokens that may still be added to the next request; negative when it is too long already."""
        return self._budget.usable - self._used

    @property
    def is_taken_by_prompt(self) -> bool:
        """Return whether the person's message alone takes more than half of the window."""
        return estimated_tokens(self._prompt, self._facts.chars_per_token) > self._budget.window // 2

    @property
    def _facts(self) -> llm.Facts:
        return llm.cached_facts(self._request.model if self._request else settings.MODEL)

    @property
    def _budget(self) -> WindowBudget:
        window = tokens.window_of(self._facts, settings.CONTEXT)
        return budget_of(window, settings.COMPACTION_RESERVE, settings.KEEP_TOKENS)
