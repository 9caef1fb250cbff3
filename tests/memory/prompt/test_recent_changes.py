"""What a person has just changed in the folder is in the prompt of the next new conversation."""

import os
import threading
import time
from types import SimpleNamespace

import pytest
from django.conf import settings

from chat.context.prompt import build_request
from memory.files import disk, recent_changes
from tests.conversations import send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(space):
    file = settings.WORKSPACES / str(space.pk) / "MEMORY.md"
    file.parent.mkdir(parents=True)
    return file


def prompt_of(person):
    return build_request(send(person, "Hello").turn).system[0]["text"]


def saved_long_ago(file, text):
    file.write_text(text)
    os.utime(file, (time.time() - 3600,) * 2)


def test_what_lies_changed_in_the_folder_is_in_a_new_prompt(ada, file):
    saved_long_ago(file, "- likes tea\n")
    assert "likes tea" in prompt_of(ada)
    saved_long_ago(file, "- likes coffee\n")
    assert "likes coffee" in prompt_of(ada)


def test_a_prompt_waits_for_a_file_that_was_saved_just_now(ada, file, monkeypatch):
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 0.3)
    file.write_text("- likes")
    writer = threading.Timer(0.15, lambda: file.write_text("- likes tea\n"))
    writer.start()
    assert "likes tea" in prompt_of(ada)
    writer.join()


def test_a_file_that_is_never_done_does_not_hold_up_a_prompt(ada, file, monkeypatch):
    monkeypatch.setattr(recent_changes, "WAIT_SECONDS", 0.2)
    file.write_text("- likes")
    assert "likes" not in prompt_of(ada)


def test_a_folder_in_which_nothing_changed_is_not_read(ada, append, space, file, monkeypatch):
    saved_long_ago(file, "- likes tea\n")
    monkeypatch.setattr(recent_changes, "CLOCK_STEP_SECONDS", -1)
    prompt_of(ada)
    monkeypatch.setattr(recent_changes, "scan_folder", SimpleNamespace)
    assert "likes tea" in prompt_of(ada)


def test_the_own_save_of_a_moment_ago_is_not_waited_for(ada, append, space, file):
    append(space, "- likes tea")
    began = time.monotonic()
    assert "likes tea" in prompt_of(ada)
    append(space, "- likes coffee")
    assert "likes coffee" in prompt_of(ada)
    assert time.monotonic() - began < recent_changes.WAIT_SECONDS
