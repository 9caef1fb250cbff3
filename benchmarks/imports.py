"""How long an export of another program takes until all of it is found: by words on the page, and in memory.

    python benchmarks/imports.py [--conversations 900] [--messages 6]

The product runs as `./oneclaw.sh run` starts it, with its embedded database. Prints seconds since the upload.
"""

import argparse
import io
import json
import random
import sys
import time
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from stage import Stage, stage

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
SUBJECTS = ("garden", "boat", "recipe", "journey", "budget", "school", "choir", "bicycle", "server", "contract", "flat")
WORDS_COUNT = 40
LIMIT_SECONDS = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=900)
    parser.add_argument("--messages", type=int, default=6)
    options = parser.parse_args()
    with stage(people=1, roles=("",)) as running:
        measure(running, options.conversations, options.messages)


def measure(running: Stage, count: int, messages: int) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    from chat.models import ChatSession, ImportJob
    from chat.transfer.importing import jobs
    from memory.models import TranscriptIndex
    from oneclaw.models import User

    user = User.objects.get()
    data = export(count, messages)
    began = time.monotonic()
    jobs.begin(user, SimpleUploadedFile("export.zip", data))
    indexed = TranscriptIndex.objects.filter(due_at=None, through_seq__gt=0)
    last = f"/search?q=marker{count - 1}"
    steps: dict[str, Callable[[], bool]] = {
        "all conversations are stored": lambda: ChatSession.objects.count() >= count,
        "the last one is found by its words": lambda: "No conversation" not in page(running, last),
        "the import says that it is done": lambda: not ImportJob.objects.exclude(status="done").exists(),
        "memory finds all of it by words": lambda: indexed.count() >= count,
        "memory finds all of it by meaning": lambda: indexed.exclude(embedded_by=None).count() >= count,
    }
    print(f"{count} conversations of {messages} messages, {len(data) // 1024} kB")
    while steps:
        for name in [name for name, is_done in steps.items() if is_done()]:
            del steps[name]
            print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)
        if time.monotonic() - began > LIMIT_SECONDS:
            print(f"not within {LIMIT_SECONDS} s: {', '.join(steps)}")
            return
        time.sleep(0.5)


def page(running: Stage, path: str) -> str:
    """Return the page at `path` as the person sees it."""
    request = urllib.request.Request(running.url + path, headers={"Cookie": running.cookies[0]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def export(count: int, messages: int) -> bytes:
    """Return a zipped export of ChatGPT with so many conversations."""
    from tests.imports import CHATGPT, ROOT, node, tree

    choice = random.Random(7)
    found = []
    for number in range(count):
        nodes, parent = [dict(ROOT, children=[])], "root"
        for at in range(messages):
            said = " ".join(choice.choice(SUBJECTS) + str(choice.randrange(200)) for _ in range(WORDS_COUNT))
            text = f"{said}. marker{number}" if at == 0 else f"{said}."
            nodes.append(
                node(f"m{at}", parent, "user" if at % 2 == 0 else "assistant", text, 1.7e9 + 3600 * number + at)
            )
            parent = f"m{at}"
        found.append(CHATGPT | {"id": f"c{number}", "conversation_id": f"c{number}", "title": f"Talk {number}"} | {
            "current_node": parent, "mapping": tree(*nodes)
        })  # fmt: skip
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("conversations.json", json.dumps(found))
    return kept.getvalue()


if __name__ == "__main__":
    main()
