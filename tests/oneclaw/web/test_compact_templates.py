"""Line breaks of templates that a page does not show are not served."""

from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template

from oneclaw.web.compact_templates import compact, tokens_of

TEMPLATES = sorted((Path(settings.BASE_DIR) / "templates").rglob("*.html"))


@pytest.mark.parametrize(
    ("source", "served"),
    [
        # Next to blocks, and in them at both ends.
        ("<ul>\n  <li>\n    Tea\n  </li>\n</ul>\n<p>Cup</p>", "<ul><li>Tea</li></ul><p>Cup</p>"),
        ("<button>\n  Save\n</button>", "<button>Save</button>"),
        # Between words and elements in a line, a space is seen.
        ("<b>Tea</b>\n  <b>Cup</b>", "<b>Tea</b> <b>Cup</b>"),
        ("Tea\n  {{ cup }}", "Tea {{ cup }}"),
        ("<button>Save</button>\n<button>Close</button>", "<button>Save</button> <button>Close</button>"),
        # In branches, what is around all of them counts.
        ("<p>{% if a %}\n  Tea\n  {% elif b %}\n  Cup\n{% endif %}\n</p>",
         "<p>{% if a %}Tea{% elif b %}Cup{% endif %}</p>"),
        ("Tea, {% if a %}\n  hot{% else %}\n  cold{% endif %}", "Tea, {% if a %}hot{% else %}cold{% endif %}"),
        ("Tea{% if a %}\n  hot{% endif %}", "Tea{% if a %} hot{% endif %}"),
        # What comes before in a loop may be its end.
        ("<p>{% for a in b %}\n  {{ a }}{% endfor %}</p>", "<p>{% for a in b %} {{ a }}{% endfor %}</p>"),
        ("<p>{% load i18n %}\n  Tea</p>", "<p>{% load i18n %}Tea</p>"),
        ("<p>{% translate 'x' as y %}\n  Tea</p>", "<p>{% translate 'x' as y %}Tea</p>"),
        # Attributes.
        ('<a\n  href="/"\n  class="b">Tea</a>', '<a href="/" class="b">Tea</a>'),
        ('<a{% if x %}\n  href="{% url \'a\' %}"{% endif %}\n>Tea</a>',
         '<a{% if x %} href="{% url \'a\' %}"{% endif %}>Tea</a>'),
        ('<li\n  {% if a > b %} class="c"{% endif %}>', '<li{% if a > b %} class="c"{% endif %}>'),
        ('<i title="Tea\n  cup">', '<i title="Tea\n  cup">'),
        # Nothing is touched where it is shown, or belongs to a translation.
        ("<pre>\n  Tea\n\n  Cup</pre>", "<pre>\n  Tea\n\n  Cup</pre>"),
        ("<textarea\n  id='a'>\n Tea\n</textarea>", "<textarea id='a'>\n Tea\n</textarea>"),
        ("<p>{% blocktranslate trimmed %}\n Tea\n{% endblocktranslate %}</p>",) * 2,
        ("<!-- Tea\n -->Tea", "<!-- Tea\n -->Tea"),
        ("Tea  cup", "Tea  cup"),
    ],
)  # fmt: skip
def test_what_is_served_of_a_template(source, served):
    assert compact(source) == served
    assert compact(served) == served


@pytest.mark.parametrize("path", TEMPLATES, ids=str)
def test_every_template_keeps_its_words(path):
    source = path.read_text()
    assert "".join(token.text for token in tokens_of(source)) == source
    assert "".join(compact(source).split()) == "".join(source.split())


def test_the_pages_are_loaded_by_it():
    source = get_template("base.html").template.source
    assert source.startswith("{% load")
    assert "\n  <meta" not in source
