"""What `collectstatic` makes of the scripts and styles: every name that a file says is there, and hashed."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string

from oneclaw.ops import static_files


@pytest.fixture
def collected(settings):
    static_files.collect()
    # The storage was made before this test chose the folder.
    staticfiles_storage.__dict__.pop("base_location", None)
    return Path(settings.STATIC_ROOT)


def test_scripts_and_styles_name_each_other_by_their_hashed_names(collected):
    named = re.compile(r"""(?:from\s*|import\s*\(?|url\()["']?((?:\.|fonts/)[^"')]+)""")
    seen = 0
    for file in [*collected.glob("js/*.js"), *collected.glob("css/*.css"), *collected.glob("vendor/*/*.css")]:
        if not re.search(r"\.[0-9a-f]{12}\.", file.name):
            continue
        for name in named.findall(file.read_text()):
            seen += 1
            assert re.search(r"\.[0-9a-f]{12}\.(js|woff2)$", name), (file.name, name)
            assert (file.parent / name).exists(), (file.name, name)
    assert seen > 8 + 20


def test_what_every_visit_loads_is_small(collected):
    scripts = [finders.find("django_htmx/htmx-2.min.js"), *Path(finders.find("js/chat.js")).parent.glob("*.js")]
    import gzip

    assert sum(len(gzip.compress(Path(script).read_bytes())) for script in scripts) < 60_000


@pytest.mark.parametrize("path", ["/accounts/login/", "/nowhere", "/"])
def test_every_page_forbids_script_and_style_inside_it(client, db, path):
    response = client.get(path, follow=True)
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


def test_no_template_has_a_style_or_a_script_inside_it():
    found = []
    for file in Path("templates").rglob("*.html"):
        html = file.read_text()
        if re.search(r"<style|\sstyle=|\son[a-z]+=\"|<script(?![^>]*\ssrc=)|javascript:", html):
            found.append(str(file))
    assert found == []
    assert render_to_string("404.html")
