"""What a person is told is in their own language: by pages, by the socket, and of what was stored before."""

import json
import uuid

import pytest
from django.test import Client as Browser
from django.utils import timezone, translation
from django.utils.html import escape

from chat.conversations import transcript
from chat.conversations.message_pages import page_messages
from chat.models import Message, Turn
from chat.turns.tools import call_tool
from memory.policy.paths import BadPathError
from oneclaw import llm
from oneclaw.models import User
from oneclaw.reasons import Reason, verbatim
from oneclaw.text import InvalidTextError, validated_text
from oneclaw.threads import in_database
from oneclaw.web.body_limit import BodyLimitMiddleware
from tests import scripted as model
from tests.chat.live.test_socket import Client
from tests.conversations import send, settle

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = {
    "en": "Settings",
    "de": "Einstellungen",
    "fr": "Paramètres",
    "es": "Ajustes",
    "ja": "設定",
    "zh-hans": "设置",
}
BUSY = "Es läuft noch eine Antwort. Warte sie ab oder halte sie an."
GONE = "Dieses Gespräch gibt es nicht mehr."
REFUSED = (
    "Der Server des Modells hat den API-Schlüssel abgelehnt. Bitte deine Administration, ihn zu prüfen "
    "(ANTHROPIC_API_KEY)."
)


def speak(person: User, language: str) -> User:
    User.objects.filter(pk=person.pk).update(language=language)
    person.refresh_from_db()
    return person


def test_the_language_of_the_settings_is_that_of_the_page(client, ada):
    client.force_login(ada)
    kept = {"first_name": "Ada", "timezone": "Europe/Zurich", "appearance": ""}
    for language, word in SETTINGS.items():
        assert client.post("/settings/", kept | {"language": language}).status_code == 302
        html = client.get("/settings/").content.decode()
        assert f"<h1>{word}</h1>" in html
        assert f'<html lang="{language}" dir="ltr"' in html
        assert ada.email in html


def test_keys_are_called_as_they_are_on_the_persons_keyboard(client, ada):
    client.force_login(speak(ada, "de"))
    html = client.get("/").content.decode()
    assert 'data-key="Strg K"' in html
    assert "<kbd>Strg Umschalt O</kbd>" in html
    assert "Umschalt-Enter beginnt eine neue Zeile" in html
    # What a Mac puts another key in the place of.
    assert '<dialog class="dialog shortcuts" id="shortcuts" data-ctrl="Strg"' in html


def test_who_is_not_signed_in_is_spoken_to_as_the_browser_says(db):
    html = Browser().get("/accounts/login/", headers={"Accept-Language": "zh-CN,zh;q=0.9"}).content.decode()
    assert '<html lang="zh-hans" dir="ltr"' in html
    # A language that is read from right to left would turn the page, if it were offered.
    with translation.override("ar"):
        assert translation.get_language_bidi()


async def test_a_refusal_by_the_socket_is_in_the_persons_language(ada, scripted):
    await in_database(speak, ada, "de")
    scripted.script(model.answer(model.text(["One."] + [" more"] * 200, pace=0.1)))
    async with Client(ada) as client:
        session = await client.open()
        await client.send(session, "Hello")
        await client.hear("block")
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text="Again")
        assert (await client.hear("error"))["text"] == BUSY
        await client.say("stop", message=None)
        done = await client.hear("done", final=True)
        article = [frame for frame in client.seen if frame["type"] == "message" and frame["id"] == done["message"]][-1]
        assert 'aria-label="Antwort"' in article["html"]
        await client.say("open", session=str(uuid.uuid4()), last_seq=2)
        assert (await client.hear("error"))["text"] == GONE
    assert translation.get_language() == "en"


async def test_without_a_choice_of_their_own_the_browsers_language_counts(ada):
    client = Client(ada)
    client.socket.scope["headers"] = [(b"accept-language", b"pt;q=0.9, de-CH;q=0.8, en;q=0.1")]
    async with client:
        await client.say("open", session=str(uuid.uuid4()), last_seq=2)
        assert (await client.hear("error"))["text"] == GONE


async def test_two_people_beside_each_other_are_each_told_in_their_own(ada, stranger):
    await in_database(speak, ada, "de")
    async with Client(ada) as german, Client(stranger) as english:
        for client, told in ((german, GONE), (english, "This conversation no longer exists."), (german, GONE)):
            await client.say("open", session=str(uuid.uuid4()), last_seq=2)
            assert (await client.hear("error"))["text"] == told


async def test_a_failure_is_kept_once_and_shown_to_each_in_their_language(ada, scripted):
    await in_database(speak, ada, "de")
    scripted.script(model.key_refused())
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        assert (await client.hear("error"))["text"] == REFUSED
    turn = await in_database(Turn.objects.get)
    assert turn.error == Reason("model.key_refused")
    browser = Browser()
    await in_database(browser.force_login, ada)
    assert REFUSED in (await in_database(browser.get, f"/c/{session}")).content.decode()
    await in_database(speak, ada, "en")
    html = (await in_database(browser.get, f"/c/{session}")).content.decode()
    assert escape("The model's server refused the API key.") in html
    assert REFUSED not in html


async def test_what_somebody_else_wrote_arrives_in_the_language_of_who_looks_on(ada, scripted):
    await in_database(speak, ada, "de")
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        client.seen.clear()
        # As by another process, which speaks no language of anybody's.
        with translation.override("fr"):
            await in_database(settle, await in_database(send, ada, "From elsewhere", session), "Well.")
            await in_database(transcript.notify_changed, session)
        article = await client.hear("message", seq=4)
        assert 'aria-label="Antwort"' in article["html"]


def test_cards_that_were_kept_in_one_language_are_shown_in_another(ada, client):
    use = {"type": "tool_use", "id": "t1", "name": "save_memory", "input": {"content": "Tea."}}
    card = {"state": "done", "summary": "MEMORY.md", "lines": [], "result": "", "seconds": 0.1}
    accepted = send(ada)
    results = transcript.finish_round(accepted.turn, accepted.answer, [use])
    following = transcript.finish_tools(accepted.turn, accepted.answer, results, [], {"t1": card})
    transcript.finish_turn(accepted.turn, following, [{"type": "text", "text": "Kept."}], "complete")
    answer = Message.objects.get(pk=accepted.answer.pk)
    assert "Saved to memory" in answer.html
    messages = Message.objects.filter(session=answer.session).order_by("seq")
    with translation.override("de"):
        german = page_messages(messages)
    assert "Im Gedächtnis gespeichert" in german
    assert ">Eingabe<" in german
    assert "Saved to memory" not in german
    assert "Saved to memory" in page_messages(messages)


def test_what_ended_with_the_server_is_told_in_the_readers_language(ada):
    use = {"type": "tool_use", "id": "t1", "name": "save_memory", "input": {"content": "Tea."}}
    accepted = send(ada)
    transcript.finish_round(accepted.turn, accepted.answer, [use])
    transcript.interrupt_own_turn(accepted.turn)
    with translation.override("de"):
        assert "Unterbrochen." in page_messages(Message.objects.order_by("seq"))


def test_a_failed_call_is_told_in_the_readers_language_and_kept_in_none(ada):
    use = {"type": "tool_use", "id": "t1", "name": "memory_get", "input": {"path": "x.md"}}
    accepted = send(ada)
    with translation.override("fr"):
        results = transcript.finish_round(accepted.turn, accepted.answer, [use])
        result, card = call_tool(accepted.turn, accepted.answer, use, "")
        transcript.finish_tools(accepted.turn, accepted.answer, results, [result], {"t1": card})
    answer = Message.objects.get(pk=accepted.answer.pk)
    assert card["summary"] == {"code": "memory.missing", "params": {"path": "x.md"}}
    assert 'data-tool="t1"' in answer.html
    assert "x.md" not in answer.html
    messages = Message.objects.filter(session=answer.session).order_by("seq")
    shown = {}
    for language in ("en", "de", "fr"):
        with translation.override(language):
            shown[language] = page_messages(messages)
    assert "There is no x.md." in shown["en"]
    assert "x.md gibt es nicht." in shown["de"]
    assert "x.md" in shown["fr"]
    assert "There is no x.md." not in shown["de"] + shown["fr"]


def test_what_a_tool_found_is_told_in_the_readers_language(ada):
    use = {"type": "tool_use", "id": "t1", "name": "memory_search", "input": {"query": "tea"}}
    accepted = send(ada)
    with translation.override("de"):
        results = transcript.finish_round(accepted.turn, accepted.answer, [use])
        _, card = call_tool(accepted.turn, accepted.answer, use, "")
        transcript.finish_tools(accepted.turn, accepted.answer, results, [], {"t1": card})
    messages = Message.objects.filter(session=accepted.message.session).order_by("seq")
    assert "Found nothing" in page_messages(messages)
    with translation.override("de"):
        assert "Nichts gefunden" in page_messages(messages)


def test_a_sentence_is_made_when_it_is_asked_for():
    with pytest.raises(InvalidTextError) as refused:
        validated_text("a" * 16_001, max_chars=16_000)
    assert str(refused.value) == "The message has 16,001 characters; at most 16,000 can be sent at once."
    with translation.override("de"):
        assert refused.value.sentence.startswith("Die Nachricht hat ")
        with pytest.raises(InvalidTextError, match=r"hat 16\.001 Zeichen; höchstens 16\.000 können"):
            validated_text("a" * 16_001, max_chars=16_000)
        assert llm.RateLimitedError(retry_after=30).sentence.endswith("Versuche es in 30 Sekunden noch einmal.")
        assert llm.RateLimitedError(retry_after=1).sentence.endswith("Versuche es in 1 Sekunde noch einmal.")
        assert llm.RateLimitedError().reason.in_english.endswith("Wait a little and try again.")
        assert llm.RateLimitedError(retry_after=3600).reason.in_english.endswith("Try again in 60 minutes.")
    # Without names, a percent sign is one.
    assert str(BadPathError("100%")) == "100%"


def test_the_history_says_why_in_the_readers_language():
    restored = Reason("change.restored", {"number": 3})
    assert str(restored) == "Restored version 3"
    with translation.override("de"):
        assert str(restored) == "Version 3 wiederhergestellt"
        assert restored.in_english == "Restored version 3"
        assert str(Reason("change.saved")) == "In einem Gespräch gespeichert"
        assert str(verbatim("What an admin wrote, 100%")) == "What an admin wrote, 100%"
    assert verbatim("") is None


def test_what_the_model_is_told_is_english_and_on_the_persons_clock_whoever_asks(ada):
    from chat.context.prompt import build_request

    accepted = send(ada)
    with translation.override("de"), timezone.override("Asia/Tokyo"):
        told = build_request(accepted.turn).system[0]["text"]
    assert f"{ada.local(accepted.message.session.created_at):%A, %-d %B %Y}" in told


async def test_what_is_refused_before_anybody_knows_who_asks_is_in_the_browsers_language():
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"content-length", b"11"), (b"accept-language", b"de-AT,de;q=0.9")]}
    await BodyLimitMiddleware(None, 10)(scope, None, send)
    assert json.loads(sent[1]["body"])["text"] == "Diese Anfrage ist zu groß."
