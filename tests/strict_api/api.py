"""The strict server: it refuses what the Messages API refuses, and answers as the API would.

What it checks is documented where it is checked; each module says in its docstring what is assumed.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests import replies
from tests.replies import Reply
from tests.strict_api.answers import AnswerRoom, finish
from tests.strict_api.betas import COMPACTION, betas_of, check_betas
from tests.strict_api.cache import CacheUse, Clock, PromptCache
from tests.strict_api.citations import check_search_results, with_citations
from tests.strict_api.compaction import check_block, check_compaction, prompt_tokens, signed_block
from tests.strict_api.messages import check_messages
from tests.strict_api.models import MODELS, ModelRules, facts_of, model_info
from tests.strict_api.parameters import check_marks, check_parameters, thinks
from tests.strict_api.parts import Part, parts_of
from tests.strict_api.prefix import Prefix, check_prefix
from tests.strict_api.refusals import RefusedError, invalid, missing, too_large
from tests.strict_api.shape import check_plain, check_shape

log = logging.getLogger(__name__)

Body = dict[str, Any]
Headers = Mapping[str, str]

REQUEST_MAX_BYTES = 32 * 1024 * 1024
# Tokens of the thinking before an answer.
THINKING_TOKENS = 200


@dataclass
class StrictApi:
    """The rules of one server. `answer`, `count` and `models` return replies, refusals among them."""

    # A server of the plain Messages API: no betas, no adaptive thinking, no count of tokens, models without facts.
    plain: bool = False
    models_facts: Mapping[str, ModelRules] = field(default_factory=lambda: MODELS)
    thinking_tokens: int = THINKING_TOKENS
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self._cache = PromptCache(self.clock)

    def facts(self, model: str) -> ModelRules:
        """Return what the model accepts."""
        return facts_of(model, {} if self.plain else self.models_facts)

    def answer(self, body: Body, headers: Headers, raw: bytes, respond: Callable[[Body], Reply]) -> Reply:
        """Return the reply to a request whose bytes are `raw`; `respond` makes it when nothing is refused."""
        try:
            request = self._checked(body, headers, raw)
        except RefusedError as refusal:
            return _error(refusal)
        if body.get("compaction") is not None:
            return self._compacted(request, respond)
        if body["max_tokens"] == 0:
            return Reply(stop_reason="max_tokens", input_usage=self._use(request).usage(), usage={"output_tokens": 0})
        reply = respond(body)
        if reply.body is not None:
            return reply
        reply = replace(reply, blocks=tuple(with_citations(reply.blocks, body)))
        use = self._use(request)
        room = AnswerRoom.of(body["max_tokens"], request.tokens, request.facts.window_tokens)
        tokens = self.thinking_tokens if thinks(body, request.facts) and request.facts.described else 0
        finished = finish(reply, body, request.facts, request.prefix, room, tokens)
        found = request.prefix.transformations
        fields = {**reply.fields, **({"input_transformations": found} if found else {})}
        return replace(finished, input_usage=use.usage(), fields=fields)

    def count(self, body: Body, headers: Headers, raw: bytes) -> Reply:
        """Return the reply to a request to count tokens."""
        try:
            if self.plain:
                raise missing("Not found")
            request = self._checked(body, headers, raw, counting=True)
        except RefusedError as refusal:
            return _error(refusal)
        return replies.json_reply({"input_tokens": request.tokens})

    def models(self, names: Sequence[str], headers: Headers) -> Reply:
        """Return the reply to a request for the list of models."""
        try:
            found = [self._info(name, headers) for name in names]
        except RefusedError as refusal:
            return _error(refusal)
        return replies.json_reply({"data": found, "has_more": False, "first_id": names[0], "last_id": names[-1]})

    def model(self, name: str, names: Sequence[str], headers: Headers) -> Reply:
        """Return the reply to a request for one model."""
        try:
            if name in names or (not self.plain and self.facts(name).described):
                return replies.json_reply(self._info(name, headers))
            raise missing(f"model: {name}")
        except RefusedError as refusal:
            return _error(refusal)

    def _info(self, name: str, headers: Headers) -> dict[str, Any]:
        compaction = not self.plain and COMPACTION in betas_of(headers)
        return model_info(name, self.facts(name), plain=self.plain, compaction=compaction)

    def _checked(self, body: Body, headers: Headers, raw: bytes, *, counting: bool = False) -> "_Request":
        if len(raw) > REQUEST_MAX_BYTES:
            raise too_large()
        betas = frozenset() if self.plain else betas_of(headers)
        if self.plain:
            check_plain(body)
        elif "compaction" in body and COMPACTION not in betas:
            raise invalid(f"The `compaction` parameter requires anthropic-beta: {COMPACTION}")
        check_shape(body, beta=bool(betas), counting=counting)
        if betas:
            check_betas(body, betas)
        if counting:
            # It is accepted there, and ignored.
            body = {name: value for name, value in body.items() if name != "compaction"}
        facts = self.facts(body["model"])
        check_parameters(body, facts)
        if not counting:
            check_compaction(body, facts)
        parts = parts_of(body, raw)
        check_block(body, parts, betas)
        check_messages(body, facts, thinks=thinks(body, facts) and facts.described)
        check_search_results(body, facts)
        check_marks(parts, body)
        prefix = check_prefix(body, parts, facts, betas)
        shown = [
            replace(part, tokens=prefix.tokens[part.path]) if part.path in prefix.tokens else part
            for part in parts
            if part.path not in prefix.dropped
        ]
        request = _Request(body, facts, shown, prefix)
        if not counting:
            _check_window(request)
        return request

    def _use(self, request: "_Request") -> CacheUse:
        if self.plain:
            return CacheUse(fresh=request.tokens)
        return self._cache.use(request.body, request.parts, request.facts)

    def _compacted(self, request: "_Request", respond: Callable[[Body], Reply]) -> Reply:
        """Return the reply to a request for a summary, whose text the scripted reply has."""
        if request.tokens + prompt_tokens(request.body) >= request.facts.window_tokens:
            nothing = {"input_tokens": 0, "output_tokens": 0}
            usage = {**nothing, "iterations": [{"type": "compaction", **nothing}]}
            return Reply(stop_reason="model_context_window_exceeded", input_usage=usage, usage=usage)
        reply = respond(request.body)
        if reply.body is not None:
            return reply
        room = AnswerRoom.of(request.body["max_tokens"], request.tokens, request.facts.window_tokens)
        tokens = self.thinking_tokens if thinks(request.body, request.facts) and request.facts.described else 0
        finished = finish(reply, request.body, request.facts, request.prefix, room, tokens)
        summary = "".join("".join(block.deltas) for block in finished.blocks if block.key == "text")
        use = self._use(request).usage()
        spent = {"type": "compaction", **use, "output_tokens": finished.usage["output_tokens"]}
        usage = {"input_tokens": 0, "output_tokens": 0, "iterations": [spent]}
        if finished.stop_reason != "end_turn" or not summary:
            return replace(finished, blocks=(), input_usage=usage, usage=usage)
        prefix = request.prefix
        block = signed_block(
            summary,
            request.parts,
            request.facts,
            tools=prefix.tools,
            system=prefix.system,
            messages=prefix.messages,
            before=prefix.compactions,
        )
        whole = replies.whole_block(block)
        return replace(finished, blocks=(whole,), stop_reason="compaction", input_usage=usage, usage=usage)


@dataclass(frozen=True)
class _Request:
    """A request that was not refused."""

    body: Body
    facts: ModelRules
    # What the model is shown, and with which count of tokens.
    parts: list[Part]
    prefix: Prefix

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)


def _check_window(request: _Request) -> None:
    window, asked = request.facts.window_tokens, request.body["max_tokens"]
    if request.tokens > window:
        raise invalid(f"prompt is too long: {request.tokens} tokens > {window} maximum")
    if request.facts.reserves_output and request.tokens + asked > window:
        raise invalid(
            f"input length and `max_tokens` exceed context limit: {request.tokens} + {asked} > {window}, decrease "
            "input length or `max_tokens` and try again"
        )


def _error(refusal: RefusedError) -> Reply:
    log.info("Refused with status %d: %s", refusal.status, refusal)
    return replies.error(refusal.status, refusal.kind, refusal.message, details=refusal.details)
