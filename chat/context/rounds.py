"""The context rounds of a request: which of them it is made with, and how they change the messages that are sent.

A round is used from the first request of a turn on (chat/compaction/room.py), as long as its last message is on the
shown branch and its owner has not undone it. During a turn nothing changes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chat.context.heads import withhold_thinking
from chat.context.notices import NOT_SENT_SUMMARY
from chat.models import ChatSession, ContextRound
from oneclaw.llm import ApiMessage, Block

# The decisions about a result of a tool in a round that prunes.
TRIM, CLEAR = "trim", "clear"
# Of a trimmed result, its beginning and its end; the numbers and sentences are those of OpenClaw's pruning.
TRIMMED_MIN_CHARS, TRIMMED_EDGE_CHARS = 4_000, 1_500
CLEARED = "[Old tool result content cleared]"


@dataclass(frozen=True)
class RoundsInView:
    """The rounds that a request is made with."""

    # The summary in place of the messages up to `through_seq`; None: all messages are sent.
    compact: ContextRound | None = None
    # {tool_use id: TRIM or CLEAR} of shortened results.
    decisions: Mapping[str, str] = field(default_factory=dict)
    # The numbers of all of them, in order.
    numbers: Sequence[int] = ()
    # Whether a sentence takes the place of the summary, which must not be sent (chat/context/without_memory.py).
    is_withheld: bool = False

    @property
    def through_seq(self) -> int:
        """Return the number of the last message that the summary covers; 0 without one."""
        return self.compact.through.seq if self.compact else 0

    @property
    def trusted_seq(self) -> int:
        """Return the number up to which the API vouches for thinking: of messages before its own summary was used."""
        return self.compact.used_after_seq if self.compact and self.compact.block else 0

    def replacement(self) -> list[ApiMessage]:
        """Return the messages that replace those up to `through_seq`."""
        if self.compact is None:
            return []
        if self.is_withheld:
            return [{"role": "user", "content": [NOT_SENT_SUMMARY]}]
        if self.compact.block:
            return [{"role": "assistant", "content": [self.compact.block]}]
        return [{"role": "user", "content": [{"type": "text", "text": self.compact.text}]}]

    def pruned(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the blocks of a message with the shortened results in place of those that were decided on."""
        return [
            with_text(block, shortened(block, self.decisions[block["tool_use_id"]]))
            if block["type"] == "tool_result" and block.get("tool_use_id") in self.decisions
            else block
            for block in blocks
        ]


NO_ROUNDS = RoundsInView()


def rounds_for_turn(session: ChatSession, before_seq: int, *, has_rounds: bool = True) -> RoundsInView:
    """Return the rounds of a turn that begins now, whose first message follows `before_seq`, and record them. Without
    `has_rounds` none were ever made.

    When they are not those of the last request, thinking up to `before_seq` is withheld, because the messages before it
    has changed; a summary that the API itself made keeps it valid.
    """
    rounds = rounds_in_view(session) if has_rounds else NO_ROUNDS
    if list(rounds.numbers) != session.used_rounds:
        if not continues(rounds, session.used_rounds):
            withhold_thinking(session, before_seq)
        ChatSession.objects.filter(pk=session.pk).update(used_rounds=list(rounds.numbers))
        session.used_rounds = list(rounds.numbers)
    return rounds


def rounds_in_view(session: ChatSession) -> RoundsInView:
    """Return the rounds that the next turn of `session` uses, besides one that begins with it."""
    return combined(session.context_rounds.usable().exclude(used_at=None).select_related("through"))


def rounds_of_last_request(session: ChatSession) -> RoundsInView:
    """Return the rounds that the last request of `session` was made with, as far as they exist, undone or not."""
    if not session.used_rounds:
        return NO_ROUNDS
    return rounds_with(session, session.used_rounds)


def rounds_with(session: ChatSession, numbers: Sequence[int]) -> RoundsInView:
    """Return the finished rounds of `session` with these numbers."""
    made = session.context_rounds.filter(status=ContextRound.Status.DONE, number__in=numbers)
    return combined(made.order_by("number").select_related("through")) if numbers else NO_ROUNDS


def combined(rounds: Iterable[ContextRound]) -> RoundsInView:
    """Return what `rounds`, oldest first, do together: the newest summary, and what was shortened after it."""
    kept = list(rounds)
    compact = next((each for each in reversed(kept) if each.kind == ContextRound.Kind.COMPACT), None)
    through = compact.through.seq if compact else 0
    prunes = [each for each in kept if each.kind == ContextRound.Kind.PRUNE and each.through.seq > through]
    decisions = {id: how for each in prunes for id, how in each.decisions.items()}
    numbers = sorted(each.number for each in [*prunes, *filter(None, [compact])])
    return RoundsInView(compact, decisions, numbers)


def continues(rounds: RoundsInView, before: Sequence[int]) -> bool:
    """Return whether thinking stays valid when `rounds` follow those with the numbers `before`: when the only new one
    is a summary with a block of the API."""
    new = set(rounds.numbers) - set(before)
    return bool(rounds.compact and rounds.compact.block and new == {rounds.compact.number})


def shortened(block: Block, decision: str) -> str:
    """Return the text of a tool's result after `decision`."""
    text = text_of_result(block)
    if decision == CLEAR:
        return CLEARED
    if len(text) <= TRIMMED_MIN_CHARS:
        return text
    edge = TRIMMED_EDGE_CHARS
    said = f"[Tool result trimmed: kept first {edge} chars and last {edge} chars of {len(text)} chars.]"
    return f"{text[:edge]}...{text[-edge:]}\n\n{said}"


def text_of_result(block: Block) -> str:
    """Return the text of a tool_result block."""
    content = block.get("content") or ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def with_text(block: Block, text: str) -> Block:
    """Return a copy of a tool_result block with `text` as its content."""
    changed: Block = {**block, "content": text}
    return changed
