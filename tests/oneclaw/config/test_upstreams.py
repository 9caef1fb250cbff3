"""The file of ONECLAW_UPSTREAMS: a mistake in it stops the start and is named."""

import json

import pytest
from django.core.exceptions import ImproperlyConfigured

from oneclaw.config.upstreams import read_upstreams

URL = "https://models.example.org"


@pytest.mark.parametrize(
    ("said", "mistake"),
    [
        ([], "the file must be an object"),
        ({"b": {"url": "ftp://x", "models": {"m": {}}}}, "b.url must be an address"),
        ({"b": {"url": URL, "models": {}}}, "b.models must name at least one model"),
        ({"b": {"url": URL, "key": "secret", "models": {"m": {}}}}, "b has “key”"),
        ({"b": {"url": URL, "key_variable": "NOT_SET_HERE", "models": {"m": {}}}}, "b.key_variable must name"),
        ({"b": {"url": URL, "models": {"m": {"price": "two"}}}}, "b.models.m.price must be written like 2/10"),
        ({"b": {"url": URL, "models": {"m": {"instead_of": "x"}}}}, "b.models.m.instead_of must be a list"),
    ],
)
def test_a_mistake_is_named(tmp_path, said, mistake):
    path = tmp_path / "upstreams.json"
    path.write_text(json.dumps(said))
    with pytest.raises(ImproperlyConfigured, match=mistake):
        read_upstreams(str(path))


def test_without_a_file_there_are_none():
    assert read_upstreams("") == ()


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ImproperlyConfigured, match="which cannot be read"):
        read_upstreams("/nowhere/upstreams.json")
