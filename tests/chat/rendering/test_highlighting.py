"""Code: its language, its colours, and that both schemes can be read."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from chat.rendering.highlighting import CLASSES, CODE_MAX_CHARS, highlighted
from chat.rendering.incremental import render

STYLES = (Path(settings.BASE_DIR) / "static" / "code.css").read_text()
COLOURS = dict(re.findall(r"--code-([a-z]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", STYLES))


def test_a_fence_names_its_language_and_has_colours():
    html = render('```python title="x"\ndef f(): return "a < b"\n```')
    assert html.startswith('<pre class="code" tabindex="0" data-language="python"><code>')
    assert '<span class="k">def</span>' in html
    assert "a &lt; b" in html


@pytest.mark.parametrize("info", ["", "nosuchlanguage", "text"])
def test_code_of_no_known_language_is_plain(info):
    assert "<span" not in render(f"```{info}\nif x: pass\n```")


def test_indented_code_is_code():
    assert render("    if x < y") == '<pre class="code" tabindex="0"><code>if x &lt; y\n</code></pre>'


def test_very_long_code_is_plain():
    assert "<span" not in highlighted("if x:\n" * CODE_MAX_CHARS, "python")


def test_code_that_takes_too_long_is_plain(monkeypatch):
    monkeypatch.setattr("chat.rendering.highlighting.HIGHLIGHTING_SECONDS", -1)
    assert highlighted("if x < y: pass", "python") == "if x &lt; y: pass"


@pytest.mark.parametrize("language", ["python", "json", "html", "javascript", "bash", "sql", "diff", "yaml", "c++"])
def test_colours_change_no_character(language):
    code = 'def f(x):\n\treturn {"a": [1, 2.5], \'b\': None}  # <é> & 🦀\n\n\n- x\n+ y\n@@ 1 @@\n\\ "open\n'
    html = highlighted(code, language)
    plain = re.sub(r"</?span[^>]*>", "", html)
    assert plain == code.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert set(re.findall(r'class="([^"]*)"', html)) <= CLASSES


def brightness(colour):
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", [name for name in COLOURS if name != "background"])
def test_every_colour_can_be_read_in_both_schemes(name):
    for colour, background in zip(COLOURS[name].split(", "), COLOURS["background"].split(", "), strict=True):
        lighter, darker = sorted([brightness(colour), brightness(background)], reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, colour)
