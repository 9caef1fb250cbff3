"""A conversation with a model that signs its thinking."""

import logging

import pytest

from oneclaw import invariants
from tests.talk import MODEL, Talk


@pytest.fixture
def talk(ada, scripted, settings, caplog):
    """A conversation of Ada's, in which nothing may be logged as an error and every invariant holds at the end."""
    settings.MODEL = MODEL
    yield Talk(ada, scripted)
    logged = caplog.get_records("call")
    assert [record.message for record in logged if record.levelno >= logging.ERROR] == []
    assert list(invariants.check()) == []
