"""The dialog that adds a document to a message says that there is none only to a person who has asked for one."""

import uuid

import pytest

pytestmark = pytest.mark.django_db


def test_nothing_is_missing_before_a_name_was_typed(client, ada):
    client.force_login(ada)
    address = f"/c/{uuid.uuid4()}/documents"
    assert "No document has this name." not in client.get(address, {"words": ""}).content.decode()
    assert "are listed here" in client.get(address, {"words": ""}).content.decode()
    assert "No document has this name." in client.get(address, {"words": "harbour"}).content.decode()
