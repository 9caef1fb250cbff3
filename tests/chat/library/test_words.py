"""Whatever stands in a message is found by typing it, and by each of its parts."""

import random
import re
import unicodedata

import pytest
from django.db import connection

from chat.library import search
from chat.models import ChatSession
from oneclaw.words import folded, found_in, pieces_of
from tests.conversations import send, settle

SAID = {
    "code": "read settings.py, os.path.join and get_user_name() in user_service.getUserName",
    "release": "released as v1.2.3 on 2024-05-01 by ada@example.com, see https://example.com/path/page?id=7#top",
    "error": "error E-1042/B at 10.0.0.12, price 19.99 €, 08:30, C++ and #general",
    "paths": r"see src/components/Button.tsx, docker-compose.yml, node.js and C:\Users\ada",
    "meeting": "明日はZoomで会議、予算は300万円",
    "typed on a Mac": unicodedata.normalize("NFD", "März in Köln, 한국에서 커피"),
    "tag": "the tag <think> here",
    "accents": "We met Zoë at the café in the Bahnhofstraße, Łódź, Ångström, İstanbul",
    "party": "see you at the 🎉party🎈, привет Ёлка, ΟΔΟΣ, سَلام",
    "thai": "สวัสดีครับ ราคา 300 บาท",
    "full width": "ＡＢＣ１２３ 株式会社",
}
ASKED = {
    "code": "settings.py|os.path.join|path join|get_user_name|user name|GetUserName|getUser|join",
    "release": "v1.2.3|1.2.3|2024-05-01|05-01|ada@example.com|example.com/path|page|released by|id=7",
    "error": "E-1042|1042|e-1042/b|10.0.0.12|0.12|19.99|19|08:30|c++|#general|general",
    "paths": r"Button.tsx|button|components|docker-compose|compose|node.js|compose.yml|Users\ada",
    "meeting": "Zoom|zoomで|会議|300|300万円|万円|予算|明日はzoomで会議",
    "typed on a Mac": "März|marz|koln|KÖLN|한국|한국에서|커피|국에서",
    "tag": "think|<think>|“think”",
    "accents": "cafe|CAFÉ|zoe|bahnhofstrasse|Bahnhofstraße|lodz|angstrom|istanbul|strasse",
    "party": "🎉|party|ёлка|елка|οδος|سلام|привет",
    "thai": "สวัสดี|ครับ|300|ราคา",
    "full width": "abc|ABC123|１２３|会社|株式会社",
}


@pytest.fixture
def said(ada):
    """Return {title: the conversation with this text}."""
    made = {}
    for title, words in SAID.items():
        accepted = send(ada, words)
        settle(accepted, "Well.")
        ChatSession.objects.filter(pk=accepted.message.session_id).update(title=f"Title of {words}")
        made[title] = accepted.message.session
    return made


def test_what_stands_in_a_message_is_found_by_it_and_by_its_parts(ada, said):
    missed = []
    for title, questions in ASKED.items():
        for question in questions.split("|"):
            hits = search.messages(ada, question)
            found = {hit.message.session_id: hit for hit in hits}
            if said[title].pk not in found or "<mark>" not in found[said[title].pk].snippet:
                missed.append((title, question, [hit.snippet for hit in hits]))
            if said[title].pk not in {session.pk for session in search.titles(ada, question)}:
                missed.append((title, question, "title"))
    assert missed == []


def test_a_piece_with_several_words_has_them_together(ada, said):
    assert search.messages(ada, "path.os") == []
    assert search.messages(ada, "2024-01-05") == []
    assert search.messages(ada, "会予") == []
    assert search.messages(ada, "settings.py nowhere") == []


@pytest.mark.parametrize("seed", range(3))
def test_random_substrings_are_found(ada, said, seed):
    chance = random.Random(seed)
    texts = list(SAID.items())
    for _ in range(60):
        title, text = chance.choice(texts)
        text = unicodedata.normalize("NFC", text)
        begin = chance.randrange(len(text) - 6)
        question = text[begin : begin + chance.randrange(6, 40)]
        found = {hit.message.session_id for hit in search.messages(ada, question)}
        assert said[title].pk in found, (title, question)


def test_python_and_the_database_fold_alike(db):
    for text in SAID.values():
        with connection.cursor() as cursor:
            cursor.execute("SELECT oneclaw_folded(%s)", [text])
            assert cursor.fetchone() == (folded(text),)


def test_a_message_of_nothing_but_different_words_is_stored(ada):
    text = "".join(chr(0x4E00 + number % 20_000) + chr(0x3400 + number * 7 % 6_000) for number in range(50_000))
    settle(send(ada, "Look."), text)
    assert len(search.messages(ada, text[:10])) == 1


def test_marks_are_where_the_words_are():
    text = "Das Café in der Straße, caféine"
    assert [text[begin:end] for begin, end in found_in(text, ["cafe", "strasse"])] == ["Café", "Straße", "café"]
    assert found_in("nothing", []) == found_in("nothing", ["else"]) == []
    assert re.sub(r"\W", "", "".join(pieces_of(" “settings.py”, (a) ?! :* - "))) == "settingspya"
