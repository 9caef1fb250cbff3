"""What the pages hold, before any script runs."""

import datetime as dt
import re
import uuid

import pytest
from django.utils import timezone

from chat.library import sidebar
from chat.models import ChatSession, Message, default_agent
from oneclaw.models import User
from oneclaw.reasons import verbatim
from oneclaw.wordings import WORDINGS
from tests.conversations import FINISHED, TOOL_USE, send, settle


@pytest.fixture
def session(ada):
    accepted = send(ada, "What is <b>tea</b>?\nTell me.")
    settle(accepted, "Tea is **good**.")
    return accepted.message.session


@pytest.fixture
def signed_in(client, ada):
    client.force_login(ada)
    return client


def page(client, path):
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_a_conversation_stands_on_its_page(signed_in, session):
    html = page(signed_in, f"/c/{session.pk}")
    assert "What is &lt;b&gt;tea&lt;/b&gt;?\nTell me." in html
    assert '<div class="block" data-index="0"><p>Tea is <strong>good</strong>.</p></div>' in html
    assert 'data-seq="2" data-role="assistant" data-status="complete"' in html


def test_a_new_conversation_has_an_id_and_no_row(signed_in):
    first, second = page(signed_in, "/"), page(signed_in, "/")
    assert "data-new" in first
    assert first.partition('data-session="')[2][:36] != second.partition('data-session="')[2][:36]
    assert not ChatSession.objects.exists()


def test_a_saved_memory_is_a_card(signed_in, ada):
    accepted = send(ada)
    from chat.conversations import transcript

    results = transcript.finish_round(accepted.turn, accepted.answer, [TOOL_USE], **FINISHED)
    running = page(signed_in, f"/c/{accepted.message.session_id}")
    assert 'data-tool="toolu_1" data-state="running"' in running
    card = {"state": "done", "summary": "MEMORY.md", "lines": ["Ada likes <tea>."]}
    transcript.finish_tools(accepted.turn, accepted.answer, results, [], {"toolu_1": card})
    html = page(signed_in, f"/c/{accepted.message.session_id}")
    assert "Saved to memory" in html
    assert "Ada likes &lt;tea&gt;." in html
    assert 'data-state="running"' not in html


@pytest.mark.parametrize(
    ("status", "words", "buttons"),
    [
        ("stopped", "Stopped.", {"continue", "retry"}),
        ("interrupted", "the server stopped", {"continue", "retry"}),
        ("failed", "The key was &quot;refused&quot;.", {"continue", "retry"}),
        ("complete", "", set()),
    ],
)
def test_how_an_answer_ended_is_said_with_what_to_do(signed_in, ada, status, words, buttons):
    from chat.conversations import transcript

    accepted = send(ada)
    content = [{"type": "text", "text": "Half"}]
    transcript.finish_turn(
        accepted.turn, accepted.answer, content, status, code="key_refused", error=verbatim('The key was "refused".')
    )
    html = page(signed_in, f"/c/{accepted.message.session_id}")
    assert words in html
    assert {name for name in ("continue", "retry") if f'data-action="{name}"' in html} == buttons


def test_an_answer_without_a_word_cannot_be_continued(signed_in, ada):
    accepted = send(ada)
    settle(accepted, "", "failed")
    html = page(signed_in, f"/c/{accepted.message.session_id}")
    assert 'data-action="retry"' in html
    assert 'data-action="continue"' not in html


def test_an_answer_that_was_too_long_can_be_continued(signed_in, ada):
    from chat.conversations import transcript

    accepted = send(ada)
    content = [{"type": "text", "text": "Half"}]
    transcript.finish_turn(accepted.turn, accepted.answer, content, "complete", stop_reason="max_tokens")
    html = page(signed_in, f"/c/{accepted.message.session_id}")
    assert 'data-action="continue"' in html
    assert 'data-action="retry"' not in html


def test_the_number_of_queries_does_not_grow_with_the_conversation(
    signed_in, ada, session, django_assert_max_num_queries
):
    # Marks it read, and reads whether there are budgets, which a process knows from then on.
    page(signed_in, f"/c/{session.pk}")
    with django_assert_max_num_queries(8):
        page(signed_in, f"/c/{session.pk}")
    for _ in range(20):
        settle(send(ada, session_id=session.pk), "A *failed* one", "failed")
    for _ in range(30):
        settle(send(ada))
    page(signed_in, f"/c/{session.pk}")
    # One more reads the turns of all failed answers.
    with django_assert_max_num_queries(9):
        assert page(signed_in, f"/c/{session.pk}").count("<article") == 42


def test_stored_html_is_not_rendered_again(signed_in, session):
    Message.objects.filter(role="assistant").update(html='<div class="block" data-index="0">KEPT</div>')
    assert "KEPT" in page(signed_in, f"/c/{session.pk}")
    Message.objects.filter(role="assistant").update(html_version=0)
    assert "<strong>good</strong>" in page(signed_in, f"/c/{session.pk}")


def test_messages_after_a_place_come_as_pieces(signed_in, session):
    html = page(signed_in, f"/c/{session.pk}/messages?after=1")
    assert html.startswith("<article")
    assert html.count("<article") == 1
    assert page(signed_in, f"/c/{session.pk}/messages?after=2") == ""


@pytest.mark.parametrize("after", ["-1", "x", "1e3", "9" * 30, "٣"])
def test_a_place_that_is_none_is_not_found(signed_in, session, after):
    assert signed_in.get(f"/c/{session.pk}/messages?after={after}").status_code == 404


# -- Which model answers -------------------------------------------------------------------------


def test_the_demo_says_so_and_how_to_set_a_key(signed_in, settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    settings.DEMO_URL = "http://127.0.0.1:1"
    html = page(signed_in, "/")
    assert "Demo model." in html
    assert "Ask your administrator" in html
    assert "ANTHROPIC_API_KEY" not in html
    User.objects.update(is_staff=True)
    assert "ANTHROPIC_API_KEY" in page(signed_in, "/")


def test_without_any_model_the_page_says_how_to_set_one(signed_in, settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    html = page(signed_in, "/")
    assert "No model is connected." in html
    assert "ANTHROPIC_API_KEY" not in html
    User.objects.update(is_staff=True)
    assert "ANTHROPIC_API_KEY" in page(signed_in, "/")


def test_no_failure_tells_people_to_start_the_server_again():
    sentences = [str(wording) for code, wording in WORDINGS.items() if code.startswith("model.")]
    assert [sentence for sentence in sentences if "start OneClaw" in sentence] == []
    named = [sentence for sentence in sentences if "ANTHROPIC" in sentence or "ONECLAW_" in sentence]
    assert named
    assert all("your administrator" in sentence for sentence in named)


def test_with_a_key_nothing_is_said(signed_in, settings):
    settings.ANTHROPIC_API_KEY, settings.DEMO_URL = "key", "http://127.0.0.1:1"
    html = page(signed_in, "/")
    assert "demo" not in html
    assert "ANTHROPIC_API_KEY" not in html


# -- The list ------------------------------------------------------------------------------------


def test_the_list_is_by_the_persons_own_days(ada):
    now = timezone.now()
    days = [0, 1, 3, 20, 400]
    listed = [ChatSession(owner=ada, title=str(age), active_at=now - dt.timedelta(days=age)) for age in days]
    names = [when for when, _ in sidebar.by_day(listed, ada)]
    assert names[:4] == ["Today", "Yesterday", "Previous 7 days", "Previous 30 days"]
    assert names[4][-4:].isdigit()


def test_late_evening_there_is_not_tomorrow_here(ada):
    today = dt.date(2026, 11, 21)
    assert sidebar.day_heading(dt.date(2026, 11, 21), today) == "Today"
    assert sidebar.day_heading(dt.date(2026, 11, 22), today) == "Today"
    assert sidebar.day_heading(dt.date(2026, 11, 20), today) == "Yesterday"


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-21T00:00:00", "x"])
def test_behind_no_moment_there_is_no_part_of_the_list(signed_in, at):
    assert signed_in.get("/sessions/older", {"after": f"{at}_{uuid.uuid4()}"}).status_code == 404


def test_older_ones_are_one_click_away(signed_in, ada, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 2)
    for title in ("oldest", "older", "newest"):
        send(ada, title)
    assert page(signed_in, "/").count('class="session"') == 2
    assert 'href="?older"' in page(signed_in, "/")
    html = page(signed_in, "/?older")
    assert html.count('class="session"') == 3
    assert "?older" not in html.replace("&amp;older", "")


def rest(ada, count):
    """So many conversations, the newest first, some of them of the same moment."""
    agent, now = default_agent(), timezone.now()
    return [
        ChatSession.objects.create(
            key=f"k{n}", owner=ada, agent=agent, title=f"T{n}", last_seq=1, active_at=now - dt.timedelta(days=n // 3)
        )
        for n in range(count)
    ]


def names_in(html):
    return re.findall(r'class="session__link"[^>]*>([^<]+)<', html)


def test_older_ones_come_part_by_part_each_once(signed_in, ada, stranger, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 4)
    rest(ada, 9)
    html = page(signed_in, "/")
    seen, whens = names_in(html), re.findall(r'sessions__when">([^<]+)<', html)
    while found := re.search(r'hx-get="(/sessions/older[^"]+)"', html):
        html = page(signed_in, found[1])
        seen += names_in(html)
        whens += re.findall(r'sessions__when">([^<]+)<', html)
    assert sorted(seen) == [f"T{n}" for n in range(9)]
    assert len(seen) == 9
    # A part that goes on with the day of the one before has no heading again.
    assert whens == ["Today", "Yesterday", "Previous 7 days"]


def test_what_moved_up_meanwhile_makes_nobody_miss_or_see_one_twice(signed_in, ada, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 3)
    listed = rest(ada, 6)
    html = page(signed_in, "/")
    next_ones = re.search(r'hx-get="(/sessions/older[^"]+)"', html)[1]
    seen = names_in(html)
    last = next(session for session in listed if session.title == seen[-1])
    ChatSession.objects.filter(pk=last.pk).update(active_at=timezone.now())
    assert sorted(seen + names_in(page(signed_in, next_ones))) == [f"T{n}" for n in range(6)]


def test_the_list_comes_back_as_long_as_it_was(signed_in, ada, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 2)
    monkeypatch.setattr(sidebar, "LIST_MAX_SESSIONS", 5)
    rest(ada, 7)
    for listed, shown in (("", 2), ("?listed=4", 4), ("?listed=0", 2), ("?listed=999999", 5)):
        assert len(names_in(page(signed_in, f"/sessions{listed}"))) == shown
    pinned = ChatSession.objects.get(title="T6")
    answer = signed_in.post(
        "/conversations/organise", {"do": "pin", "id": pinned.pk, "listed": 4}, headers={"HX-Request": "true"}
    )
    assert len(names_in(answer.content.decode())) == 1 + 4
    # Without a script there is an end too.
    assert len(names_in(page(signed_in, "/?older"))) == 1 + 5


@pytest.mark.parametrize(
    "after", ["", "x", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00_6f1c0d4e-0000-4000-8000-000000000000", "٣_x"]
)
def test_no_place_in_the_list_is_no_page(signed_in, after):
    assert signed_in.get("/sessions/older", {"after": after}).status_code == 404


def test_a_stranger_has_an_older_list_of_their_own(client, ada, stranger, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 1)
    rest(ada, 3)
    client.force_login(ada)
    found = re.search(r'hx-get="(/sessions/older[^"]+)"', page(client, "/"))[1]
    client.force_login(stranger)
    assert names_in(page(client, found)) == []


def test_a_title_is_text(signed_in, session):
    signed_in.post(f"/c/{session.pk}/rename", {"title": "<script>alert(1)</script>"})
    html = page(signed_in, f"/c/{session.pk}")
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_renaming_works_as_a_plain_form(signed_in, session):
    assert 'name="title"' in page(signed_in, f"/c/{session.pk}/rename")
    response = signed_in.post(f"/c/{session.pk}/rename", {"title": "  Tea \n time "})
    assert response["Location"] == f"/c/{session.pk}"
    session.refresh_from_db()
    assert session.title == "Tea time"


@pytest.mark.parametrize("title", ["", "  ", "x" * 201, "a\x00b"])
def test_a_title_that_cannot_be_is_refused_with_a_sentence(signed_in, session, title):
    response = signed_in.post(f"/c/{session.pk}/rename", {"title": title})
    assert response.status_code == 422
    assert "The title" in response.content.decode()


def test_renaming_in_place_brings_the_list_and_the_heading(signed_in, session):
    response = signed_in.post(
        f"/c/{session.pk}/rename", {"title": "Tea time", "current": session.pk}, headers={"HX-Request": "true"}
    )
    html = response.content.decode()
    assert html.count("Tea time") >= 3
    assert 'hx-swap-oob="true"' in html
    assert 'aria-current="page"' in html


def test_the_icon_is_where_browsers_look_for_it(client, db):
    response = client.get("/favicon.ico")
    assert response.status_code in (301, 302)
    assert response["Location"].endswith("icon.svg")


# -- Errors --------------------------------------------------------------------------------------


def test_what_is_not_there_says_so_in_the_same_clothes(signed_in):
    response = signed_in.get("/nowhere")
    assert response.status_code == 404
    assert "css/oneclaw.css" in response.content.decode()


def test_a_form_without_its_token_is_refused_in_the_same_clothes(ada):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    response = strict.post("/settings/", {})
    assert response.status_code == 403
    assert "Nothing was changed" in response.content.decode()


def test_a_fault_of_the_server_shows_a_page_and_no_detail(signed_in, monkeypatch):
    signed_in.raise_request_exception = False
    monkeypatch.setattr(sidebar, "by_day", lambda sessions, user: 1 / 0)
    response = signed_in.get("/")
    assert response.status_code == 500
    html = response.content.decode()
    assert "Something went wrong" in html
    assert "division" not in html


# -- Whose ---------------------------------------------------------------------------------------

SESSION_PATHS = ["", "/messages", "/rename", "/menu"]


@pytest.mark.parametrize(
    "path", ["/", "/sessions", "/settings/", *(f"/c/{uuid.UUID(int=1)}{p}" for p in SESSION_PATHS)]
)
def test_nobody_sees_a_page_without_signing_in(client, db, path):
    response = client.get(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("path", SESSION_PATHS)
def test_not_yours_and_not_there_look_the_same(client, stranger, session, path):
    client.force_login(stranger)
    theirs, nobodys = (client.get(f"/c/{number}{path}") for number in (session.pk, uuid.uuid4()))
    assert (theirs.status_code, nobodys.status_code) == (404, 404)
    assert theirs.content == nobodys.content


@pytest.mark.parametrize("action", ["rename", "stop"])
def test_a_stranger_changes_nothing(client, stranger, session, action):
    client.force_login(stranger)
    assert client.post(f"/c/{session.pk}/{action}", {"title": "Mine", "current": session.pk}).status_code == 404
    session.refresh_from_db()
    assert (session.title, session.deleted_at) == ("What is <b>tea</b>?", None)


def test_a_stranger_cannot_write_into_a_conversation(transactional_db, client, stranger, session):
    client.force_login(stranger)
    response = client.post(f"/c/{session.pk}/send", {"client_id": uuid.uuid4(), "text": "Hello"})
    assert response.status_code == 404
    assert session.messages.count() == 2


def test_the_list_of_a_stranger_holds_nothing_of_yours(client, stranger, session):
    client.force_login(stranger)
    html = page(client, f"/sessions?current={session.pk}")
    assert "tea" not in html
    assert str(session.pk) not in html
    assert "tea" not in page(client, "/")


# -- Long conversations --------------------------------------------------------------------------


@pytest.fixture
def long(ada, session):
    """A hundred and fifty messages more."""
    for number in range(1, 76):
        settle(send(ada, f"Question {number}.", session_id=session.pk), f"Answer {number}.")
    return session


def seqs(html):
    return [int(seq) for seq in re.findall(r'<article[^>]*data-seq="(\d+)"', html)]


def test_a_long_conversation_opens_with_its_newest_messages(signed_in, long):
    html = page(signed_in, f"/c/{long.pk}")
    assert seqs(html) == list(range(103, 153))
    assert 'data-earlier="103"' in html
    assert seqs(page(signed_in, f"/c/{long.pk}?before=103")) == list(range(53, 103))


def test_earlier_messages_come_until_there_are_none(signed_in, long):
    got, before = [], 103
    while before:
        html = page(signed_in, f"/c/{long.pk}/messages?before={before}")
        got = seqs(html) + got
        before = int((re.findall(r'data-earlier="(\d+)"', html) or [0])[0])
    assert got == list(range(1, 103))
    assert page(signed_in, f"/c/{long.pk}/messages?before=1") == ""


def test_a_page_begins_with_what_a_person_said(signed_in, long):
    # 52 messages before it: the first two would be half a turn.
    Message.objects.filter(session=long, seq=104).update(active=False)
    assert seqs(page(signed_in, f"/c/{long.pk}"))[0] == 103
    assert seqs(page(signed_in, f"/c/{long.pk}/messages?before=104&to=60")) == list(range(59, 104))
    assert seqs(page(signed_in, f"/c/{long.pk}/messages?before=104&to=0")) == list(range(1, 104))


@pytest.mark.parametrize("query", ["before=x", "before=٣", "before=-1", "before=5&to=x", "after=1e3"])
def test_a_place_that_is_none_is_not_there(signed_in, session, query):
    assert signed_in.get(f"/c/{session.pk}/messages?{query}").status_code == 404
