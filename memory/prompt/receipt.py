"""The receipt: what of a person's memory went to the model with one of their messages."""

import re

from django.urls import reverse

from chat.context import per_message
from chat.extensions import Detail
from chat.models import ChatSession, Message
from memory.models import MemoryDocument
from memory.policy.access import spaces_of

# As oneclaw.llm.quoting puts them into a prompt (memory/prompt/context.py, memory/prompt/recall.py).
QUOTED = re.compile(
    r"<(?P<tag>memory|file|recalled)(?P<about>(?: \w+=\"[^\"]*\")*)>\n(?P<text>.*?)\n</(?P=tag)>", re.DOTALL
)
ABOUT = re.compile(r"(\w+)=\"([^\"]*)\"")


def details(session: ChatSession, message: Message) -> list[Detail]:
    """Return the workspace files and curated memory in the system prompt, and what was recalled for the message."""
    parts = [*QUOTED.finditer(session.system_prompt or ""), *QUOTED.finditer(message.meta.get(per_message.KEY) or "")]
    named = [(dict(ABOUT.findall(part["about"])), part["text"]) for part in parts]
    paths = {path_of(about) for about, _ in named}
    found = MemoryDocument.objects.present().filter(space__in=spaces_of(session), path__in=paths)
    ids = dict(found.values_list("path", "pk"))
    return [
        Detail(
            f"{path_of(about)}:{about['lines']}" if "lines" in about else path_of(about),
            text,
            reverse("memory_document", args=[ids[path_of(about)]]) if path_of(about) in ids else "",
        )
        for about, text in named
    ]


def path_of(about: dict[str, str]) -> str:
    return about.get("file") or about.get("name") or ""
