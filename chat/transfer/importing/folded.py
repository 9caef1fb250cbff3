"""Find the parts that Open WebUI folds in the text of an answer: thoughts, calls of tools, and code that was run.

Any other <details>, and those that stand in code, are words of the answer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("reasoning", "tool_calls", "code_interpreter")
# What may begin code or a folded part: fences, signs that mean themselves, runs of backticks, and tags.
SIGN = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|\\.|(?P<run>`+)|<details\b(?P<tag>[^<>]*)>", re.MULTILINE)
ATTRIBUTE = re.compile(r"""\b(\w+)=(?:"([^"]*)"|'([^']*)')""")
END = re.compile(r"</details>")
# In code that was run, a tag may stand in the code.
END_AFTER_CODE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})|</details>", re.MULTILINE)
# Thoughts are a quotation, with its sign escaped or not.
QUOTED = ("> ", ">\n", "&gt;")


@dataclass(frozen=True)
class FoldedPart:
    """A folded part: its kind, the attributes of its tag, still escaped, and what is between its tags."""

    kind: str
    attributes: dict[str, str]
    inside: str


def parts_of(text: str) -> Iterator[str | FoldedPart]:
    """Yield the text and its folded parts in order. A part that does not end is one up to the end of the text."""
    done = at = 0
    while sign := SIGN.search(text, at):
        at = sign.end()
        if sign["fence"]:
            at = _end_of_fence(text, sign)
        elif sign["run"]:
            at = _end_of_code(text, sign)
        elif sign["tag"] is not None and not _is_indented(text, sign.start()):
            attributes = {name: double or single for name, double, single in ATTRIBUTE.findall(sign["tag"])}
            kind = attributes.get("type", "")
            if kind in KINDS:
                if sign.start() > done:
                    yield text[done : sign.start()]
                end, done = _end_of_part(text, at, kind)
                yield FoldedPart(kind, attributes, text[at:end])
                at = done
    if done < len(text):
        yield text[done:]


def _end_of_fence(text: str, fence: re.Match[str]) -> int:
    """Return where the block of code ends that begins with `fence`: with the text, if it is not closed."""
    sign, count = fence["fence"][0], len(fence["fence"])
    closed = re.compile(rf"^ {{0,3}}{sign}{{{count},}}[ \t]*$", re.MULTILINE).search(text, fence.end())
    return closed.end() if closed else len(text)


def _end_of_code(text: str, run: re.Match[str]) -> int:
    """Return where the code ends that begins with a run of backticks: with as many in the same paragraph; without
    them, the run is none."""
    paragraph = text.find("\n\n", run.end())
    same = re.compile(rf"(?<!`)`{{{len(run['run'])}}}(?!`)")
    closed = same.search(text, run.end(), len(text) if paragraph < 0 else paragraph)
    return closed.end() if closed else run.end()


def _is_indented(text: str, at: int) -> bool:
    """Return whether a tag is in a line that is code because it is indented."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return not before.strip() and ("\t" in before or len(before) > 3)


def _end_of_part(text: str, begin: int, kind: str) -> tuple[int, int]:
    """Return where the inside of a folded part ends, and where the text goes on."""
    at = begin
    while end := (END_AFTER_CODE if kind == "code_interpreter" else END).search(text, at):
        if end.lastgroup == "fence":
            at = _end_of_fence(text, end)
        elif kind == "reasoning" and _is_quoted(text, end):
            at = end.end()
        else:
            return end.span()
    first = END.search(text, begin)
    return first.span() if first and kind == "reasoning" else (len(text), len(text))


def _is_quoted(text: str, end: re.Match[str]) -> bool:
    """Return whether an end tag is inside of the quotation that thoughts are."""
    if not text.startswith(QUOTED, text.rfind("\n", 0, end.start()) + 1):
        return False
    line_end = text.find("\n", end.end())
    rest = text[end.end() : line_end if line_end >= 0 else len(text)]
    return bool(rest.strip()) or (line_end >= 0 and text.startswith(QUOTED, line_end + 1))
