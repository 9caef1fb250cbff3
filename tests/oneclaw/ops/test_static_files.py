"""Static files are collected under hashed names, few files made of many, and only when they have changed."""

import os

import pytest
from django.conf import settings as configured
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.storage import storages

from oneclaw.ops import static_files


@pytest.fixture
def source(settings, tmp_path):
    """A folder of scripts, one of which imports the other."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "page.js").write_text('import { f } from "./part.js";\nf();\n')
    (folder / "part.js").write_text("export function f() {}\n")
    settings.STATICFILES_DIRS = [folder]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "found"
    return folder


def storage():
    return storages.create_storage(configured.STORAGES["staticfiles"])


def test_a_collected_file_has_a_name_that_changes_with_it(source):
    assert static_files.collect()
    name = storage().stored_name("part.js")
    assert name != "part.js"
    assert (configured.STATIC_ROOT / name).read_text() == (source / "part.js").read_text()


def collected(name):
    return (configured.STATIC_ROOT / storage().stored_name(name)).read_text()


def test_a_script_is_collected_with_what_it_imports(source):
    static_files.collect()
    assert "import" not in collected("page.js")
    assert "function f(){}" in collected("page.js")
    before = storage().stored_name("page.js")
    (source / "part.js").write_text("export function f() { return 1; }\n")
    static_files.collect()
    assert storage().stored_name("page.js") != before


def test_what_a_script_fetches_when_it_is_needed_is_fetched_by_its_hashed_name(source):
    (source / "part.js").write_text('export async function f() {\n  await import("./lazy.js");\n}\n')
    (source / "lazy.js").write_text("window.lazy = true;\n")
    static_files.collect()
    assert f'import("./{storage().stored_name("lazy.js")}")' in collected("page.js")


def test_nothing_is_done_until_something_changes(source):
    assert static_files.collect()
    assert not static_files.collect()
    before = storage().stored_name("part.js")
    (source / "part.js").write_text("export function f() { return 1; }\n")
    os.utime(source / "part.js", (1, 1))
    assert static_files.collect()
    assert storage().stored_name("part.js") != before


def test_before_a_collection_names_are_plain():
    assert staticfiles_storage.url("icon.svg") == "/static/icon.svg"
