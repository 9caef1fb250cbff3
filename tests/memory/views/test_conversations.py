"""The page of the search finds conversations by what they are about."""

import re

import pytest

from chat.models import ChatSession, default_agent
from memory.index.conversations import request, run
from memory.policy import switches


@pytest.fixture
def shown(client, ada):
    """shown(question, **headers): [(address, title, snippet)] of conversations near in meaning, for Ada."""
    client.force_login(ada)

    def shown(question, **headers):
        page = client.get("/search", {"q": question}, headers=headers).content.decode()
        section = page.partition('id="found-related"')[2].partition("</section>")[0]
        return re.findall(r'href="([^"]+)"><span[^>]+>([^<]+)</span><span[^>]+>(.*?)</span></a>', section, re.DOTALL)

    return shown


@pytest.fixture
def said(say):
    """said(person, title, *texts): a conversation that is indexed."""

    def said(person, title, *texts):
        session = ChatSession.objects.create(key=title, owner=person, agent=default_agent(), title=title)
        for text in texts:
            say(session, text)
        assert run(request(session))
        return session

    return said


def test_what_is_meant_is_found_once_for_each_conversation_and_only_ones_own(shown, said, ada, stranger):
    rex = said(
        ada, "Rex", "We have a dog named Rex who eats dry kibble, no wet food.", "The dog eats kibble twice a day."
    )
    said(ada, "Taxes", "The quarterly return is done.")
    said(stranger, "Another dog", "My dog eats dry kibble, too.")
    ((address, title, snippet),) = shown("pet food")
    assert address.startswith(f"/c/{rex.pk}#message-")
    assert title == "Rex"
    assert "kibble" in snippet
    assert not re.search(r"\d\d:\d\d", snippet)
    # Its words are marked.
    assert "<mark>food</mark>" in shown("eating food")[0][2]
    # What is found by its words is not shown again.
    assert shown("kibble") == []
    assert shown("???") == shown("") == []
    # While they type, nothing is asked for a vector.
    assert shown("pet food", **{"HX-Request": "true"}) == []
    switches.choose(ada, switches.Switch.TRANSCRIPTS, False)
    assert shown("pet food") == []
