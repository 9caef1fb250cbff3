"""On a full disk every page and every operation of the API says so in a sentence."""

import errno
import json

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client

from memory.documents import write
from oneclaw.files import stored
from oneclaw.people import keys

pytestmark = pytest.mark.django_db
SAID = "the server’s disk is full or broken"


def full(*args, **how):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_database(*args, **how):
    raise OperationalError("could not extend file") from psycopg.errors.DiskFull("could not extend file")


@pytest.fixture
def page(ada):
    client = Client(raise_request_exception=False)
    client.force_login(ada)
    return client


@pytest.mark.parametrize("address", ["/import", "/settings/import/"])
def test_an_import_says_so(page, monkeypatch, address):
    monkeypatch.setattr("oneclaw.files.write", full)
    monkeypatch.setattr(stored.StoredFiles, "write", full)
    monkeypatch.setattr("django.core.files.uploadhandler.TemporaryFileUploadHandler.new_file", full)
    monkeypatch.setattr("django.core.files.uploadhandler.MemoryFileUploadHandler.file_complete", full)
    file = SimpleUploadedFile("conversations.json", b"[]" * 10)
    response = page.post(address, {"file": file, "password": "correct horse battery"})
    assert (response.status_code, SAID in response.content.decode()) == (507, True), response.content.decode()[-2000:]


@pytest.mark.parametrize("fails", [full, full_database])
def test_an_operation_of_the_api_says_so(ada, monkeypatch, fails):
    monkeypatch.setattr(write, "apply", fails)
    _, token = keys.make(ada, "Program", "never")
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    response = client.post(
        "/api/v1/memory/documents/MEMORY.md", json.dumps({"text": "- Tea"}), content_type="application/json"
    )
    assert (response.status_code, response.json()["code"]) == (507, "not_stored"), response.content
    assert SAID in response.json()["text"]


def test_another_error_is_none_of_the_disk(page, monkeypatch):
    def broken(*args, **how):
        raise OSError(errno.ENOENT, "No such file")

    monkeypatch.setattr("memory.views.home.state_of", broken)
    response = page.get("/memory/")
    assert response.status_code == 500
    assert SAID not in response.content.decode()
