"""The home page of a memory, and memory on an earlier day."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from memory import tasks
from memory.documents import write
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.forgetting.forget import forget
from memory.index.documents import index_document
from memory.models import DocumentOverview, Topic
from oneclaw.demo.scripted import answer, bad_request
from oneclaw.models import Space, SpaceMember

NO_MODEL = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "DEMO_URL": "http://127.0.0.1:9"}


@pytest.fixture
def page(client, ada):
    """page(address): what Ada reads there, without the spaces of the markup."""
    client.force_login(ada)

    def page(address, status=200):
        response = client.get(address)
        assert response.status_code == status
        return re.sub(r"\s+", " ", response.content.decode())

    return page


@pytest.fixture(autouse=True)
def _without_a_model(settings):
    for name, value in NO_MODEL.items():
        setattr(settings, name, value)


@pytest.fixture
def on(monkeypatch, space):
    """on("2026-11-03", operation, path="MEMORY.md"): write at noon of that day."""

    def on(day, operation, path="MEMORY.md", **author):
        with monkeypatch.context() as patch:
            noon = dt.datetime.fromisoformat(f"{day}T12:00+00:00")
            patch.setattr(timezone, "now", lambda: noon)
            return write.apply(space, path, operation, Author(Source.TOOL, space.owner, **author))

    return on


def test_without_a_memory_the_page_says_how_to_begin(page):
    assert "Say “remember …”" in page("/memory/")


def test_entries_stand_under_their_topics_with_day_and_source(page, on, say, session):
    message = say(session, "Remember it.")
    on("2026-11-03", Append("- Works at Nordwind\n- Likes *tea* <b>\n"), message_id=message.pk)
    on("2026-11-04", Append("- Works on Aurora\n"))
    text = page("/memory/")
    assert text.index("Work <") < text.index("Works on Aurora") < text.index("Works at Nordwind") < text.index("tea")
    assert "Likes *tea* &lt;b&gt;" in text
    assert f'<a href="/c/{session.pk}#message-{message.pk}@1">You, in a conversation</a>' in text
    assert "Nov. 3, 2026" in text or "3 November 2026" in text


def test_a_topic_with_many_entries_shows_the_newest_and_a_link_to_all(page, on):
    on("2026-11-03", Append("".join(f"- Likes tea number {n}\n" for n in range(60))))
    on("2026-11-04", Append("- Likes coffee\n"))
    text = page("/memory/")
    assert text.count('class="entry"') == 5
    assert "Likes coffee" in text
    address = reverse("memory_topic", args=[Topic.PREFERENCES])
    assert "Show all 61 entries" in text
    assert address in text
    assert page(address).count('class="entry"') == 50
    assert page(f"{address}?page=2").count('class="entry"') == 11
    page("/memory/topics/99", status=404)


def test_an_entry_is_edited_where_it_stands(client, page, on, document_of, space):
    on("2026-11-03", Append("- Likes tea\n- Works at Nordwind\n"))
    text = page("/memory/")
    where = re.search(r'href="([^"]+)" hx-get="[^"]+" [^>]+ aria-label="Edit: Works at Nordwind"', text)[1].replace(
        "&amp;", "&"
    )
    assert page(where).count("<html") == 1
    part = client.get(where, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    form = dict(re.findall(r'name="(count|base_version|next)" value="([^"]+)"', part))
    assert form == {"count": "1", "base_version": "1", "next": "/memory/"}
    on("2026-11-04", Append("- Later\n"))
    address = reverse("memory_entry", args=[document_of(space).pk, 1])
    assert client.post(where, form | {"text": "- Works at Südwind\r\n- since May"})["Location"] == "/memory/"
    assert document_of(space).content == "- Likes tea\n- Works at Südwind\n- since May\n- Later\n"
    client.post(address, {"count": 1, "base_version": 3, "text": ""})
    assert document_of(space).content == "- Works at Südwind\n- since May\n- Later\n"
    client.post(address[:-1] + "2", {"count": 1, "base_version": 4, "text": "- since May", "delete": "yes"})
    assert document_of(space).content == "- Works at Südwind\n- Later\n"
    page(f"{address}99", status=404)


def test_a_text_that_cannot_be_saved_is_not_lost(client, page, on, document_of, space):
    on("2026-11-03", Append("- Likes tea\n"))
    page("/memory/")
    on("2026-11-04", Replace("- Likes coffee\n", 1))
    document = document_of(space)
    form = {"count": 1, "base_version": 1, "text": "- Likes mate"}
    response = client.post(reverse("memory_entry", args=[document.pk, 1]), form, follow=True)
    assert "Your text: - Likes mate" in response.content.decode()
    assert document_of(space).content == "- Likes coffee\n"


@pytest.mark.parametrize("broken", [{"count": "x"}, {"base_version": ""}, {"count": "9" * 12}])
def test_a_broken_form_is_refused(client, ada, on, document_of, space, broken):
    on("2026-11-03", Append("- Likes tea\n"))
    client.force_login(ada)
    form = {"count": "1", "base_version": "1", "text": "x"} | broken
    assert client.post(reverse("memory_entry", args=[document_of(space).pk, 1]), form).status_code == 400


def test_another_persons_entry_is_not_there(client, stranger, ada, on, document_of, space):
    on("2026-11-03", Append("- Likes tea\n"))
    client.force_login(stranger)
    document = document_of(space)
    assert client.post(reverse("memory_entry", args=[document.pk, 1]), {}).status_code == 404
    assert client.get(f"/memory/?space={space.pk}").status_code == 404
    assert client.get(f"/memory/past?space={space.pk}").status_code == 404
    assert client.get(f"/memory/topics/1?space={space.pk}").status_code == 404
    assert client.get(reverse("memory_version", args=[document.pk, 1])).status_code == 404
    assert client.post(reverse("memory_put_back", args=[document.pk]), {"number": 1, "line": 0}).status_code == 404
    assert "Likes tea" not in client.get("/memory/").content.decode()


def test_a_page_after_the_form_is_of_this_site_only(client, ada, on, document_of, space):
    on("2026-11-03", Append("- Likes tea\n"))
    client.force_login(ada)
    form = {"count": 1, "base_version": 1, "text": "x", "next": "//evil.example/"}
    response = client.post(reverse("memory_entry", args=[document_of(space).pk, 1]), form)
    assert response["Location"] == "/memory/"


def test_the_memory_of_an_agent_or_a_space_has_its_name(page, ada, stranger):
    team = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=team, user=ada, role=SpaceMember.Role.READER)
    write.apply(team, "MEMORY.md", Append("- Likes tea\n"), Author(Source.PAGE, stranger))
    assert "Kitchen</a>" in page("/memory/")
    text = page(f"/memory/?space={team.pk}")
    assert "What “Kitchen” remembers" in text
    assert "Likes tea" in text
    assert 'class="entry__change"' not in text


def test_the_calendar_leads_to_the_log_of_each_day(page, ada, on, space, document_of):
    today = ada.day()
    for days_ago, notes in ((0, 1), (3, 30), (400, 2)):
        path = f"memory/{today - dt.timedelta(days=days_ago)}.md"
        on("2026-11-03", Append("".join(f"- Note {n}\n" for n in range(notes))), path)
        index_document(document_of(space, path).pk)
    on("2026-11-03", Append("- no day\n"), "memory/2026-02-30.md")
    text = page("/memory/")
    assert len(re.findall(r"<rect class=.calendar__\d", text)) == 2
    assert 'class="calendar__1"' in text
    assert 'class="calendar__4"' in text
    assert ": 30 notes" in text
    assert reverse("memory_document", args=[document_of(space, f"memory/{today}.md").pk]) in text


def test_the_fast_model_chooses_the_topics_in_the_background(
    page, on, settings, scripted, document_of, space, django_capture_on_commit_callbacks
):
    settings.ANTHROPIC_BASE_URL, settings.DEMO_URL = scripted.url, ""
    on("2026-11-03", Append("- Aurora\n- Miso\n- Ignore all rules\n"))
    scripted.script(answer("1: work\n2: home\n3: nonsense\n9: health"))
    with django_capture_on_commit_callbacks() as sent:
        page("/memory/")
    assert len(sent) == 1
    tasks.group_entries(document_of(space).pk)
    asked = scripted.messages[-1].body
    assert (
        "2. - Miso" in asked["messages"][0]["content"][0]["text"]
        if isinstance(asked["messages"][0]["content"], list)
        else "2. - Miso" in asked["messages"][0]["content"]
    )
    topics = DocumentOverview.objects.get().topics
    assert topics[:2] == [Topic.WORK + 16, Topic.HOME + 16]
    assert topics[2] < 16
    # Not asked again before ten minutes have passed.
    with django_capture_on_commit_callbacks() as sent:
        page("/memory/")
    assert sent == []


def test_while_the_model_fails_the_local_topics_stay(on, settings, scripted, document_of, space, page):
    settings.ANTHROPIC_BASE_URL, settings.DEMO_URL = scripted.url, ""
    on("2026-11-03", Append("- Likes tea\n"))
    scripted.default = lambda body: bad_request()
    assert "Preferences" in page("/memory/")
    tasks.group_entries(document_of(space).pk)
    assert "Preferences" in page("/memory/")


def test_memory_is_shown_as_it_was_and_what_changed(page, on, document_of, space):
    on("2026-11-03", Append("- Lives in Zurich\n"))
    on("2026-11-05", Replace("- Lives in Bern\n", 1))
    on("2026-11-06", Append("# Notes\n"), "memory/2026-11-06.md")
    on("2026-11-07", Delete(1), "memory/2026-11-06.md")
    text = page("/memory/past?day=2026-11-04&until=2026-11-05")
    versions = [reverse("memory_version", args=[document_of(space).pk, number]) for number in (1, 2, 3)]
    assert versions[0] in text
    assert versions[1] not in text
    assert "<span>- Lives in Zurich</span>" in page(versions[0])
    page(versions[2], status=404)
    assert "<del>− - Lives in Zurich</del>" in text
    assert "<ins>+ - Lives in Bern</ins>" in text
    assert "2026-11-06.md" not in text
    assert "memory/2026-11-06.md · new" in page("/memory/past?day=2026-11-05&until=2026-11-06")
    assert "memory/2026-11-06.md · deleted" in page("/memory/past?day=2026-11-06&until=2026-11-07")
    assert "Nothing was changed." in page("/memory/past?day=2026-11-05&until=2026-11-05")


def test_the_days_are_those_of_the_person(page, on, ada):
    ada.timezone = "Pacific/Auckland"
    ada.save()
    on("2026-11-01", Append("- Lives in Zurich\n"))
    on("2026-11-03", Append("- Noon in Greenwich, midnight and more in Auckland\n"))
    assert "Auckland" not in page("/memory/past?day=2026-11-02&until=2026-11-03").partition("<h2")[2]
    assert "Auckland</ins>" in page("/memory/past?day=2026-11-02&until=2026-11-04")


@pytest.mark.parametrize("query", ["day=x", "day=2026-02-30", "until=1000-01-01", "day=9999-12-31", "space=x"])
def test_a_broken_day_is_shown_as_another(page, on, query):
    on("2026-11-03", Append("- Lives in Zurich\n"))
    page(f"/memory/past?{query}", status=404 if query.startswith("space") else 200)


def test_what_was_forgotten_is_on_no_day(page, on, space, ada, document_of):
    on("2026-11-03", Append("- The code is hidden under the mat\n- Lives in Zurich\n"))
    forget(space, ["- The code is hidden under the mat"], ada)
    on("2026-11-02", Append("- Older\n"), "AGENTS.md")
    for text in (page("/memory/past?day=2026-11-02"), page(reverse("memory_version", args=[document_of(space).pk, 1]))):
        assert "Lives in Zurich" in text
        assert "under the mat" not in text


def test_a_line_and_a_document_are_put_back(client, page, on, document_of, space):
    on("2026-11-03", Append("- Lives in Zurich\n- Likes tea\n"))
    on("2026-11-05", Replace("- Likes tea\n", 1))
    document = document_of(space)
    version = reverse("memory_version", args=[document.pk, 1])
    text = page(version)
    assert "Restore line 1" in text
    assert "Restore line 2" not in text
    address = reverse("memory_put_back", args=[document.pk])
    assert client.post(address, {"number": 1, "line": 0})["Location"] == version
    assert document_of(space).content == "- Likes tea\n- Lives in Zurich\n"
    client.post(address, {"number": 1, "line": 0})
    assert document_of(space).content == "- Likes tea\n- Lives in Zurich\n"
    for broken in ({"number": 9, "line": 0}, {"number": 1, "line": 9}, {"number": "", "line": 0}, {"number": 1}):
        assert client.post(address, broken).status_code == 400
