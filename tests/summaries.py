"""A model that summarises when chat/compaction asks it to, and otherwise says a few words."""

from chat.compaction.checks import HEADINGS
from oneclaw.demo.scripted import answer, text

SUMMARY_BEGINNING = "You write the summary with which"


def is_summary(body):
    """Return whether the body of a request asks for a summary of a conversation: the fast model, or the model's own
    server."""
    if body.get("compaction"):
        return True
    system = body.get("system") or [{"text": ""}]
    return system[0]["text"].startswith(SUMMARY_BEGINNING)


def summary(*facts):
    """Return a summary with all headings and these lines."""
    lines = "\n".join(f"- {fact}" for fact in facts or ["Nothing else."])
    return "\n\n".join(f"## {heading}\n{lines if heading == HEADINGS[2] else '-'}" for heading in HEADINGS)


def replying(words="Fine."):
    """Return a responder that summarises where it is asked to, and otherwise answers `words`."""

    def reply(body):
        return answer(text(summary("They talked."))) if is_summary(body) else answer(words)

    return reply
