"""The cast, made anew for each test."""

from typing import Any

import pytest

from tests.access.cast import Cast
from tests.access.rows import make_cast


@pytest.fixture
def cast(transactional_db: None, scripted: object, settings: Any) -> Cast:
    """People with rows of every kind, of the author alone and of their space."""
    settings.RECALL = "every"
    return make_cast()
