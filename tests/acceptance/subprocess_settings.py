"""The settings of a process that a test starts, which uses the database of the test."""

import json
import os

from oneclaw.settings import *  # noqa: F403
from oneclaw.settings import DATABASES

DATABASES["default"] |= json.loads(os.environ["TEST_DATABASE"])
