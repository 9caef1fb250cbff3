"""The contents of docs/decisions: each file with its title, and the titles of its decisions.

python -m tests.decisions    # write them into docs/decisions/README.md
"""

import re
from pathlib import Path

DECISIONS = Path(__file__).resolve().parent.parent / "docs" / "decisions"
CONTENTS = DECISIONS / "README.md"


def with_contents() -> str:
    """Return the text of the README with the contents as they are now. Its introduction and the order of its files are
    kept; files that it does not name yet come last."""
    text = CONTENTS.read_text()
    named = [DECISIONS / name for name in re.findall(r"^## \[.+\]\((.+)\)$", text, re.MULTILINE)]
    files = {path: _contents_of(path) for path in [*named, *sorted(DECISIONS.glob("*.md"))] if path != CONTENTS}
    return "\n".join([text.partition("\n## ")[0], *files.values()])


def _contents_of(path: Path) -> str:
    text = path.read_text()
    title = text.partition("\n")[0].removeprefix("# ")
    decisions = "".join(f"- {decision}\n" for decision in re.findall(r"^## (.+)$", text, re.MULTILINE))
    return f"## [{title}]({path.name})\n\n{decisions}" if decisions else f"## [{title}]({path.name})\n"


if __name__ == "__main__":
    CONTENTS.write_text(with_contents())
