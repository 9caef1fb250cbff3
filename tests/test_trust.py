"""The table of docs/trust.md names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| ([\d., ]+) \| .+ \| (tests/[\w/]+\.py)(?:::(test_\w+))? \|$", re.MULTILINE)


def test_each_item_has_a_test_that_is_there():
    text = (ROOT / "docs" / "trust.md").read_text()
    rows = ROW.findall(text)
    assert len(rows) == sum(line.startswith("| ") for line in text.splitlines()) - 1 > 30
    missing = [
        f"{path}::{name}"
        for _item, path, name in rows
        if not (ROOT / path).is_file() or (name and f"def {name}(" not in (ROOT / path).read_text())
    ]
    assert missing == []
