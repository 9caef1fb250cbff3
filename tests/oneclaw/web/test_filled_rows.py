"""Rows that differ only by their texts are rendered once for each kind, and texts are filled in as they are."""

from oneclaw.web.filled_rows import RowTemplate, rendered_parts

ROW = RowTemplate("chat/spaces/_session.html", ("id", "name", "whose", "active"))


def test_texts_are_escaped_and_never_taken_for_slots():
    texts = {"id": "1", "name": "-slot-whose- <b>", "whose": "Ada", "active": ""}
    row = ROW.filled(texts)
    assert "-slot-whose- &lt;b&gt;</a>" in row
    assert row.count("Ada") == 1
    assert "-slot-active-" not in row


def test_one_kind_is_rendered_once():
    rendered_parts.cache_clear()
    for number in range(3):
        ROW.filled({"id": str(number), "name": "Tea", "whose": "Ada", "active": "now"})
    ROW.filled({"id": "4", "name": "Tea", "whose": "Ada", "active": ""})
    assert rendered_parts.cache_info().misses == 2
