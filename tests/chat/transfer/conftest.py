"""An import from a file to its end."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chat.transfer.importing import jobs
from tests.imports import as_json


@pytest.fixture
def bring(ada):
    """bring(value or bytes, user=Ada): the finished job of a file with this in it."""

    def bring(value, user=ada):
        data = value if isinstance(value, bytes) else as_json(value)
        job = jobs.begin(user, SimpleUploadedFile("conversations.json", data))
        while jobs.run(job.pk):
            pass
        job.refresh_from_db()
        assert list(jobs.path_of(job.pk).parent.iterdir()) == []
        return job

    return bring
