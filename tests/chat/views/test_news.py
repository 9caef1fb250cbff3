"""The page of what is new shows the newest release, and folds the older ones."""

import pytest

from chat.views.pages import changes

pytestmark = pytest.mark.django_db


def test_only_the_newest_release_is_open(client, ada):
    client.force_login(ada)
    page = client.get("/news").content.decode()
    (newest, blocks), *older = changes()
    assert blocks
    assert older
    assert all(texts for _name, texts in older)
    shown, _, folded = page.partition("<details>")
    assert f"<h2>{newest}</h2>" in shown
    assert blocks[-1] in shown
    assert page.count("<details>") == len(older)
    assert older[0][0] in folded
    assert older[0][0] not in shown
