"""Finding one's own messages by their words."""

import uuid

import pytest

from chat import extensions
from chat.attachments import store
from chat.conversations import branches, forking, transcript
from chat.library import organise, search
from chat.models import Message, MessageWords
from chat.transfer import share
from oneclaw.models import User
from tests.conversations import send, settle


@pytest.fixture
def tea(ada):
    accepted = send(ada, "Which tea is <b>good</b> in Zürich?")
    settle(accepted, "Camomile, perhaps with honey. 我喜欢绿茶。")
    return accepted.message.session


def found(user: User, question: str) -> list[str]:
    return [str(each.snippet) for each in search.messages(user, question)]


@pytest.mark.parametrize(
    ("question", "snippets"),
    [
        ("camomile", ["<mark>Camomile</mark>, perhaps with honey. 我喜欢绿茶。"]),
        ("HONEY cam", ["<mark>Cam</mark>omile, perhaps with <mark>honey</mark>. 我喜欢绿茶。"]),
        ("good", ["Which tea is &lt;b&gt;<mark>good</mark>&lt;/b&gt; in Zürich?"]),
        ("zürich", ["Which tea is &lt;b&gt;good&lt;/b&gt; in <mark>Zürich</mark>?"]),
        ("绿茶", ["Camomile, perhaps with honey. 我喜欢<mark>绿茶</mark>。"]),
        ("绿茶 honey", ["Camomile, perhaps with <mark>honey</mark>. 我喜欢<mark>绿茶</mark>。"]),
        # In the middle of a word, when nothing else is found.
        ("omile", ["Cam<mark>omile</mark>, perhaps with honey. 我喜欢绿茶。"]),
        ("tea camomile", []),
        ("红茶", []),
        ("", []),
        ("?! :*", []),
        ("' & | ! :* ) ( <-> good", ["Which tea is &lt;b&gt;<mark>good</mark>&lt;/b&gt; in Zürich?"]),
    ],
)
def test_what_is_found(ada, tea, question, snippets):
    assert found(ada, question) == snippets


def test_the_newest_comes_first_and_a_snippet_is_short(ada, tea):
    settle(send(ada, "word " * 100 + "camomile" + " word" * 100), "Well.")
    newest, older = found(ada, "camomile")
    assert newest.startswith("…word")
    assert newest.endswith("…")
    assert "<mark>camomile</mark>" in newest
    assert len(newest) < 250
    assert older.startswith("<mark>")


def test_nobody_finds_what_others_said(ada, stranger, tea):
    assert found(stranger, "camomile") == []
    # What looks like the mark of an owner is a word like any other.
    settle(send(stranger, f"{ada.pk}:camomile '{ada.pk}:camomile'"), "Well.")
    assert len(found(ada, "camomile")) == 1
    assert found(ada, f"{stranger.pk}:camomile") == []
    assert search.titles(stranger, "tea") == []


def test_what_is_deleted_or_replaced_or_unfinished_is_not_found(ada, tea):
    Message.objects.filter(session=tea, seq=2).update(active=False)
    assert found(ada, "camomile") == []
    accepted = send(ada, "Unfinished business", session_id=tea.pk)
    Message.objects.filter(pk=accepted.answer.pk).update(text="half an answer")
    assert found(ada, "answer") == []
    settle(accepted, "A whole answer.")
    assert len(found(ada, "answer")) == 1
    assert not MessageWords.objects.filter(message__status="running").exists()
    organise.organise(ada, [tea.pk], "delete")
    assert found(ada, "answer") == []
    assert search.titles(ada, "tea") == []


def test_of_a_message_and_its_copies_one_is_found(ada, tea):
    camomile = tea.messages.get(seq=2)
    # Fork of a fork.
    fork = forking.fork(ada, camomile.pk)
    again = forking.fork(ada, fork.messages.get(seq=2).pk)
    assert [each.message for each in search.messages(ada, "camomile")] == [camomile]
    # What was said twice is found twice.
    settle(send(ada, "Camomile?", session_id=again.pk))
    settle(send(ada, "Camomile?", session_id=again.pk))
    assert len(found(ada, "camomile")) == 3
    organise.organise(ada, [tea.pk], "delete")
    assert [each.message.session for each in search.messages(ada, "honey")] == [fork]


def test_deleted_copies_hide_no_original(ada, tea, monkeypatch):
    monkeypatch.setattr(search, "CANDIDATES", 2)
    for _ in range(3):
        fork = forking.fork(ada, tea.messages.get(seq=2).pk)
        organise.organise(ada, [fork.pk], "delete")
    assert len(found(ada, "camomile")) == 1


def test_a_search_that_stops_says_so(client, ada, tea, monkeypatch):
    settle(send(ada, "Camomile once more?", session_id=tea.pk), "Well.")
    client.force_login(ada)
    for most, is_said in ((2, False), (1, True)):
        monkeypatch.setattr(search, "MAX_MESSAGES", most)
        page = client.get("/search", {"q": "camomile"}).content.decode()
        assert page.count("#message-") == most
        assert ("Only the newest 1 results are shown. Add a word to narrow the search." in page) == is_said


def test_files_are_found_by_their_names(client, ada, stranger):
    old, new, _unsent = (store.store_file(ada, name, b"Tea") for name in ("Tea <1>.txt", "grüntee.md", "tea.csv"))
    theirs = store.store_file(stranger, "tea.md", b"Theirs")
    said = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Look", files=[old.pk, new.pk])
    settle(said)
    transcript.accept(stranger, uuid.uuid4(), uuid.uuid4(), "Look", files=[theirs.pk])
    forking.fork(ada, said.message.pk)

    def names(question):
        return [(each.snippet, each.message) for each in search.files(ada, question)]

    assert names("tea") == [("<mark>Tea</mark> &lt;1&gt;.txt", said.message)]
    assert names("TEE md") == [("grün<mark>tee</mark>.<mark>md</mark>", said.message)]
    assert names("txt csv") == names("") == []
    client.force_login(ada)
    page = client.get("/search", {"q": "grüntee"}, headers={"HX-Request": "true"}).content.decode()
    assert f'href="/c/{said.message.session_id}#message-{said.message.pk}@1"' in page
    assert "No conversation contains" not in page
    # An edited message has the file in place of the first one.
    branches.edit(ada, said.message.pk, uuid.uuid4(), "See")
    again = Message.objects.get(text="See")
    assert names("tea")[0][1] == again
    organise.organise(ada, [again.session_id], "delete")
    assert names("tea")[0][1].session.parent_id == again.session_id


def test_titles_hold_every_word(ada, tea):
    assert [session.pk for session in search.titles(ada, "good TEA")] == [tea.pk]
    assert search.titles(ada, "good coffee") == []
    assert [session.pk for session in search.titles(ada, "")] == [tea.pk]


def test_the_page_and_its_fragment(client, ada, tea):
    client.force_login(ada)
    page = client.get("/search", {"q": "camomile"}).content.decode()
    message = tea.messages.get(seq=2)
    assert f'href="/c/{tea.pk}#message-{message.pk}@2"' in page
    assert "<html" in page
    fragment = client.get("/search", {"q": "nowhere\x00"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment
    assert "No conversation contains all of these words." in fragment
    client.logout()
    assert client.get("/search").status_code == 302


def test_commands_are_on_every_page_of_a_person_and_on_no_other(client, ada, tea):
    shared = f"/s/{share.share(tea.owner, tea, 'day')[1]}"
    addresses = ["/", "/memory/", "/settings/", "/conversations", "/agents/", "/prompts/", "/nowhere"]
    client.force_login(ada)
    having = [each for each in [*addresses, shared] if b'id="palette"' in client.get(each).content]
    assert having == addresses
    client.logout()
    assert b'id="palette"' not in client.get("/accounts/login/").content


def test_a_search_masks_no_more_of_a_message_than_what_is_near(ada, monkeypatch):
    read = []
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvgIBADANBgkq\n" * 190 + "-----END PRIVATE KEY-----"
    settle(send(ada, "Where is it?"), "lorem ipsum " * 50_000 + f"{key} needle")
    monkeypatch.setattr(extensions.memory(), "masked", lambda text: read.append(len(text)) or text)
    (found,) = search.messages(ada, "needle")
    assert "<mark>needle</mark>" in found.snippet
    assert len(key) < read[0] <= 2 * search.MASKED_CHARS


def test_a_whole_key_is_masked_where_its_last_words_are_found(ada):
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvgIBADANBgkq\n" * 190 + "-----END PRIVATE KEY-----"
    settle(send(ada, "Where is it?"), "lorem ipsum " * 5_000 + f"{key} needle")
    (found,) = search.messages(ada, "needle")
    assert "MIIE" not in found.snippet
    assert "removed" in found.snippet
