"""`manage.py hooks` lists who is asked at which point, in order, and what a process has switched off."""

import json
import os
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from chat import extensions
from chat.extensions import ContextFiles, Extension, Hook
from chat.extensions.hooks import POINTS


@pytest.fixture
def house():
    hooks = [
        Hook("tool_result_persist", print, "redact", order=5, changes={"content"}, must=True),
        Hook("tool_result_persist", print, "early", order=1),
        Hook("context_files", lambda context: None, "broken", changes={"files"}),
    ]
    extension = extensions.register(Extension("house", hooks=hooks))
    yield extension
    extensions.unregister(extension)


def listed(**options):
    out = StringIO()
    call_command("hooks", stdout=out, **options)
    return out.getvalue()


def test_json_has_each_point_with_its_hooks_in_order(db, house):
    points = json.loads(listed(json=True))["points"]
    assert [each["point"] for each in points] == list(POINTS)
    persist = next(each for each in points if each["point"] == "tool_result_persist")
    assert persist["seconds"] == 2.0
    known = {"extension": "house", "switched_off": []}
    assert persist["hooks"] == [
        {"name": "early", "order": 1, "changes": [], "must": False, **known},
        {"name": "redact", "order": 5, "changes": ["content"], "must": True, **known},
    ]


def test_what_a_process_has_switched_off_is_said_with_the_reason(db, house):
    assert "broken of house; changes files; on\n" in listed()
    for _ in range(5):
        extensions.run_hooks(ContextFiles(user_id=1, session_id=uuid4(), files=()))
    text = listed()
    assert f"broken of house; changes files; SWITCHED OFF in process {os.getpid()} on " in text
    assert "the answer is of the type NoneType, not ContextFiles" in text
    (hook,) = next(each["hooks"] for each in json.loads(listed(json=True))["points"] if each["hooks"])
    assert [each["pid"] for each in hook["switched_off"]] == [os.getpid()]


def test_points_without_hooks_are_listed_too(db):
    text = listed()
    assert text.count("  (none)\n") == len(POINTS)
    assert "before_tool_call: 5 s; a failing handler: the call is refused\n" in text
