"""The schema of `Message.meta`: data of a message apart from the API's blocks. What is queried of it has a column."""

from typing import Any, TypedDict

# Functional syntax, because "from" is a keyword. All keys may be missing.
MessageMeta = TypedDict(
    "MessageMeta",
    {
        # -- What a person's message has --
        # Who wrote a message of the role user if not the person: "session", another conversation, "schedule", a
        # scheduled turn, "member", or "copy", another person whose link was copied. Queried as `Message.by`.
        "by": str,
        # The local time of a message by a schedule, as it is shown.
        "at": str,
        # Which member wrote it in a shared conversation, as the model was told: name and number, which is queried as
        # `Message.author_number` (chat/conversations/shared/authorship.py).
        "from": dict[str, Any],
        # Of a message by another conversation: its id, and how many conversations it has passed since a person's one.
        "origin": str,
        "hops": int,
        # What its person pasted: ranges [start, end] of code points of the text, in ascending order.
        "pasted": list[list[int]],
        # The peer behind a bridge who has written it, if that is not the person.
        "peer": Any,
        # The items that extensions added, by their names, and the text that hooks added (chat/context/per_message.py).
        "context": dict[str, list[dict[str, Any]]],
        "hook_text": str,
        # What is left out of it for who may not read all of it any more (chat/context/lost.py).
        "lost": dict[str, Any],
        "lost_before": dict[str, Any],
        # -- What an answer, or the results of its tools, have --
        # The cards of tools by tool_use id, with summaries and lines that are text or a Reason as JSON.
        "cards": dict[str, dict[str, Any]],
        # What of it was sent first (chat/context/view.py).
        "sent": dict[str, Any],
        # Whether it continues an answer that was cut off.
        "continued": bool,
        # The lines under it, by the names of extensions (chat.extensions.AnswerLine).
        "answer_lines": dict[str, dict[str, Any]],
        # The passages that it may cite, by their marks (chat/rendering/citations.py).
        "sources": dict[str, Any],
        # The server in ONECLAW_UPSTREAMS that has given it; the first server is not named.
        "upstream": str,
        # What the model's server said about one that has failed, for administrators.
        "server_said": str,
        # Whether its request held nothing of anybody's memory, or was sent as text alone; and the label of the chosen
        # model in whose place another one has answered (chat/answering.py).
        "without_memory": bool,
        "plain": bool,
        "instead_of": str,
    },
    total=False,
)
