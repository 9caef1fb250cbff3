"""Every key of Message.meta that the code reads or writes is in its schema."""

import re

import pytest
from django.conf import settings

from chat.conversations import transcript
from chat.models import ChatSession, Message, MessageMeta, default_agent

LITERAL = re.compile(r"""\bmeta(?:\[|\.get\()"(\w+)"|\bmeta=\{"(\w+)\"""")
CONSTANT = re.compile(r'^\s*(?:\w+, )*(\w*KEY) = .*?"(\w+)"$', re.MULTILINE)
# Modules whose `meta` is that of a token of Markdown.
OF_TOKENS = {"formulas.py", "html_tags.py", "footnotes.py", "attribute_lists.py"}
KEYS_OF_MESSAGES = {
    *("META_KEY", "HOOK_TEXT_KEY", "LOST_KEY", "SOURCES_KEY", "FROM_KEY", "ANSWER_LINES_KEY", "WITHOUT_MEMORY_KEY"),
    *("PLAIN_KEY", "INSTEAD_OF_KEY", "UPSTREAM_KEY", "PASTED_KEY", "PEER_KEY", "SERVER_SAID_KEY"),
}


# Keys of `meta` that queries read by a column.
QUERIED = re.compile(r'meta__(?:by|from)\b(?!_)|meta__has_key="(?:by|from)"|meta__has_key=FROM_KEY|meta__\{FROM_KEY')


@pytest.fixture(scope="module")
def sources():
    files = [path for app in ("chat", "memory") for path in (settings.BASE_DIR / app).rglob("*.py")]
    return {path: path.read_text() for path in files if path.name not in OF_TOKENS and "migrations" not in path.parts}


def test_every_literal_key_is_in_the_schema(sources):
    found = {key for text in sources.values() for pair in LITERAL.findall(text) for key in pair if key}
    assert {"by", "cards", "hops"} <= found
    assert found - set(MessageMeta.__annotations__) == set()


def test_every_key_with_a_name_is_in_the_schema(sources):
    found = {}
    for path, text in sources.items():
        for name, key in CONSTANT.findall(text):
            if name in KEYS_OF_MESSAGES:
                found.setdefault(name, set()).add((path.name, key))
    assert found.keys() == KEYS_OF_MESSAGES
    keys = {key for pairs in found.values() for _, key in pairs}
    assert keys - set(MessageMeta.__annotations__) == set()


def test_what_is_queried_of_it_is_read_by_its_column(sources):
    found = {path.name for path, text in sources.items() if QUERIED.search(text)}
    # Its model declares the columns.
    assert found == {"conversations.py"}


def test_the_columns_follow_every_write_of_it(ada):
    session = ChatSession.objects.create(key="columns", owner=ada, agent=default_agent())
    written = transcript.append(session, Message.Role.USER, text="By itself", meta={"by": "schedule"})
    rows = Message.objects.filter(pk=written.pk)
    assert list(rows.filter(by="schedule")) == [written]
    assert not rows.without_relayed().exists()
    rows.update(meta={"from": {"number": 3, "name": "Ada"}})
    assert rows.values_list("by", "author_number").get() == (None, 3)
    assert rows.without_relayed().exists()
