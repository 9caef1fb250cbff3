"""Programs of the cast, each with a key of its person."""

import pytest

from tests.programs import Program


@pytest.fixture
def adas(ada):
    return Program(ada)


@pytest.fixture
def strangers(stranger):
    return Program(stranger)
