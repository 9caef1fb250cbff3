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
from memory.lab import golden
from memory.models import DocumentOverview, Flush, LabRun, MemoryDocument, Review, Topic, content_hash
from oneclaw.models import Space, SpaceMember
from tests.scripted import answer, bad_request
from tests.spending import paid_for

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


def test_each_entry_has_a_card_with_its_topic_its_day_and_its_source(page, on, say, session):
    message = say(session, "Remember it.")
    on("2026-11-03", Append("- Works at Nordwind\n- Likes *tea* <b>\n"), message_id=message.pk)
    on("2026-11-04", Append("- Works on Aurora\n"))
    text = page("/memory/")
    cards = text.partition('class="about__cards"')[2]
    assert cards.index("Works on Aurora") < cards.index("Works at Nordwind") < cards.index("tea")
    assert re.search(rf'data-topic="{Topic.WORK}"\s*>\s*<p class="entry__text"', cards)
    assert '<span class="entry__topic">Preferences</span>' in cards
    assert f'data-topic="{Topic.WORK}">Work <b>2</b></a>' in text
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


def test_the_page_says_what_it_knows_in_numbers_and_in_short(page, ada, on, space, document_of):
    today = ada.day()
    coming = today + dt.timedelta(days=40)
    on("2026-10-03", Append("# Ada\n\n- Works at Nordwind\n"))
    on("2026-10-04", Append(f"- The lighthouse project ends on {coming}\n- Likes **green** tea\n- A\n- B\n- C\n"))
    ago = today.replace(year=today.year - 1, day=min(today.day, 28))
    on("2026-10-04", Append("# A day\n\n## 14:32 Soup\n\n- Tried the soup with lemon\n"), f"memory/{ago}.md")
    text = page("/memory/")
    assert "This is what I know about you" in text
    assert "<b>6</b> things you told me · <b>1</b> day of notes ·" in text
    assert "the newest of 4 October 2026: <bdi>The lighthouse project ends on" in text
    short = text.partition('id="short"')[2].partition("</ul>")[0]
    assert "Works at Nordwind" not in short
    assert "Likes green tea<a" in short
    assert 'href="#line-2-4"' in text
    up = text.partition('class="about__coming"')[2].partition("</ul>")[0]
    assert f"{coming:%-d %B}" in up
    assert "The lighthouse project ends on" in up
    if ago.day == today.day:
        assert "A year ago today" in up
        assert "Tried the soup with lemon" in up
    assert 'class="about__map-count"' in text
    ada.first_name = "Ada <b>"
    ada.save()
    assert "Ada &lt;b&gt;, this is what I know about you" in page("/memory/")


def test_one_entry_or_one_note_alone_makes_a_page(page, on, ada):
    on("2026-11-03", Append("- Likes tea\n"))
    text = page("/memory/")
    assert "<b>1</b> thing you told me ·" in text
    assert 'class="calendar__total"' in text
    assert 'id="short"' not in text
    assert 'class="about__topics"' not in text
    on("2026-11-03", Replace("", 1))
    on("2026-11-03", Append("- noted\n"), f"memory/{ada.day()}.md")
    text = page("/memory/")
    assert "<b>1</b> day of notes" in text
    assert 'class="calendar__total"' not in text
    assert 'id="short"' not in text


def test_what_is_above_the_entries_follows_its_documents(page, on, ada):
    on("2026-11-03", Append("- Likes tea\n"))
    assert "<b>1</b> thing you told me" in page("/memory/")
    on("2026-11-04", Append("- Likes coffee\n"))
    assert "<b>2</b> things you told me" in page("/memory/")
    on("2026-11-04", Append("- noted\n"), f"memory/{ada.day()}.md")
    assert "<b>1</b> day of notes" in page("/memory/")
    ada.language = "de"
    ada.save()
    assert "Suchen" in page("/memory/")


def test_a_note_that_was_rewritten_is_not_quoted_from_what_was_kept(page, on, ada, space):
    day = ada.day().replace(year=ada.day().year - 1)
    path = f"memory/{day}.md"
    on("2026-11-03", Append("- Likes tea\n"))
    on(f"{day}", Append("- Tried the lentil soup\n"), path)
    assert "Tried the lentil soup" in page("/memory/")
    # As many chunks as before, and not indexed anew yet.
    write.apply(space, path, Replace("- Tried the carrot soup\n", 1), Author(Source.PAGE, ada))
    shown = page("/memory/")
    assert "Tried the carrot soup" in shown
    assert "lentil" not in shown


@pytest.mark.parametrize(
    "line",
    [
        "x" * 3_000,
        "أختي إيناس تعيش في لشبونة",
        "妹のイネスはリスボンに住んでいる" * 30,
        "👩‍👩‍👧‍👦" * 200,
        "<script>alert(1)</script>",
        "**",
    ],
)
def test_odd_texts_have_cards(page, on, line):
    on("2026-11-03", Append(f"- {line}\n"))
    text = page("/memory/")
    assert text.count('class="entry"') == 1
    assert "<script>alert" not in text


def test_another_persons_memory_is_not_there(client, stranger, ada, on, document_of, space):
    on("2026-11-03", Append("- Likes tea\n"))
    client.force_login(stranger)
    document = document_of(space)
    assert client.get(f"/memory/?space={space.pk}").status_code == 404
    assert client.get(f"/memory/past?space={space.pk}").status_code == 404
    assert client.get(f"/memory/diary?space={space.pk}").status_code == 404
    assert "Likes tea" not in client.get("/memory/diary?day=2026-11-03").content.decode()
    assert client.get(f"/memory/topics/1?space={space.pk}").status_code == 404
    assert client.get(reverse("memory_version", args=[document.pk, 1])).status_code == 404
    assert client.post(reverse("memory_put_back", args=[document.pk]), {"number": 1, "line": 0}).status_code == 404
    assert "Likes tea" not in client.get("/memory/").content.decode()


def test_the_memory_of_an_agent_or_a_space_has_its_name(page, ada, stranger):
    team = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=team, user=ada, role=SpaceMember.Role.READER)
    write.apply(team, "MEMORY.md", Append("- Likes tea\n"), Author(Source.PAGE, stranger))
    assert "Kitchen</a>" in page("/memory/")
    text = page(f"/memory/?space={team.pk}")
    assert "What “Kitchen” remembers" in text
    assert "Likes tea" in text
    assert 'class="entry__acts"' not in text


def test_opening_it_takes_six_statements_however_much_there_is(
    client, ada, on, space, django_assert_num_queries, django_capture_on_commit_callbacks
):
    client.force_login(ada)
    words = ["likes", "works", "lives", "birthday", "doctor", "sister", "plans"]
    for lines, days in ((14, 2), (700, 60)):
        version = MemoryDocument.objects.filter(path="MEMORY.md").values_list("version", flat=True).first() or 0
        content = "".join(f"- Entry {n} {words[n % 7]}\n" for n in range(lines))
        on("2026-11-03", Replace(content, version))
        for number in range(days):
            path = f"memory/{ada.day() - dt.timedelta(days=number)}.md"
            if not MemoryDocument.objects.filter(path=path).exists():
                on("2026-11-03", Append("- noted\n"), path)
        client.get("/memory/")
        # The session, the person, the memories, the curated memory without its content, and the state of the rest.
        with django_assert_num_queries(6):
            assert client.get("/memory/").status_code == 200


def test_kept_entries_follow_all_that_they_show(page, on, say, session, space, ada, document_of):
    message = say(session, "Remember it.")
    on("2026-11-03", Append("- Likes tea\n"), message_id=message.pk)
    link = f'href="/c/{session.pk}#message-{message.pk}@1"'
    assert link in page("/memory/")
    assert link in page("/memory/")
    line = {"kind": Review.Kind.STILL_TRUE, "line_hash": content_hash("- Likes tea")}
    review = Review.objects.create(document=document_of(space), answered_at=timezone.now(), **line)
    assert "still true on" in page("/memory/")
    review.delete()
    assert "still true on" not in page("/memory/")
    DocumentOverview.objects.update(newest=[[Topic.HEALTH, 1, [[1, 1, 1]]]])
    assert 'class="entry__topic">Health</span>' in page("/memory/")
    message.delete()
    assert link not in page("/memory/")
    ada.language = "de"
    ada.save()
    assert "Bearbeiten" in page("/memory/")
    on("2026-11-04", Replace("- Likes coffee\n", 1))
    text = page("/memory/")
    assert "Likes coffee" in text
    assert "Likes tea" not in text


def test_a_lower_share_of_golden_questions_is_told_on_the_home_page_and_in_the_inbox(page, on, space, settings, ada):
    on("2026-11-03", Append("- The boat is called Heron\n"))
    golden.keep(space, "What is the boat called?", "The ship is called Heron")
    LabRun.objects.create(space=space, found=1, total=1, setup="release 0")
    golden.run(space, ada)
    for address in ("/memory/", "/memory/inbox/", "/memory/lab"):
        assert "Fewer questions find their line since the last change: 0 of 1, before 1 of 1." in page(address)
    LabRun.objects.all().delete()
    assert "Fewer questions" not in page("/memory/")


def test_what_is_not_done_yet_is_in_the_line_at_the_end(page, on, space, session, document_of):
    on("2026-11-03", Append("- Likes tea\n"))
    assert "1 file is not searchable yet" in page("/memory/")
    index_document(document_of(space).pk)
    assert "search is up to date" in page("/memory/")
    Flush.objects.create(session=session, space=space, owner=space.owner, reason="idle")
    assert "1 conversation is being noted" in page("/memory/")


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
    assert f'href="/memory/diary?day={today}"' in text
    assert "2026-02-30" not in text


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
    assert paid_for("topics") == [(space.owner_id, space.pk, None, True)]
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


def test_an_imported_memory_is_sorted_by_a_worker_and_the_page_says_so(page, client, space):
    content = "".join(f"- Works at place {number}\n" for number in range(1_200))
    write.apply(space, "MEMORY.md", Replace(content, 0), Author(Source.IMPORT, space.owner))
    document = MemoryDocument.objects.get(space=space)
    shown = page("/memory/")
    assert "is being sorted into topics" in shown
    assert f"/memory/{document.pk}/" in shown
    assert "Nothing is remembered yet" not in shown
    assert client.get("/memory/", headers={"HX-Request": "true"}).status_code == 204
    assert client.get("/memory/topics/2").url == f"/memory/?space={space.pk}"
    tasks.compile_overview(document.pk)
    shown = page("/memory/")
    assert "is being sorted" not in shown
    assert "Works at place 0" in shown


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["MEMORY.md", "memory/2026-11-03.md"])
def test_a_long_curated_memory_is_sent_to_a_worker_when_it_is_written(space, monkeypatch, path):
    sent = []
    monkeypatch.setattr("memory.overview.entries.hint", lambda task, pk: sent.append((task, pk)))
    made = write.apply(space, path, Append("- tea\n" * 2_000), Author(Source.IMPORT, space.owner))
    assert sent == ([("memory.tasks.compile_overview", made.document_id)] if path == "MEMORY.md" else [])
    write.apply(space, "notes.md", Append("- tea\n"), Author(Source.IMPORT, space.owner))
    assert len(sent) <= 1
