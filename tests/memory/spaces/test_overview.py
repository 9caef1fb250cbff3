"""The first page of a space: what is known, who added what, and a field that begins a conversation."""

import datetime as dt
import re
import uuid

import pytest

from chat.models import ChatSession
from memory import tasks
from memory.documents.write import Append, Author, Replace, Source, apply
from memory.overview.space import SHOWN_DAYS, shade_of, space_overview
from oneclaw.models import User

NEWEST = "The lamp needs 24 V."


def add(space, person, text):
    return apply(space, "MEMORY.md", Append(f"- {text}\n"), Author(Source.PAGE, person))


@pytest.fixture
def known(kitchen, ada, bob):
    for number in range(6):
        add(kitchen, ada, f"Shelf {number} has spices.")
    add(kitchen, bob, NEWEST)
    return kitchen


def test_the_newest_lines_come_first_with_who_said_them(known, ada, bob):
    overview = space_overview(known, ada)
    assert (overview.count, len(overview.newest)) == (7, 5)
    assert (overview.newest[0].text, overview.newest[0].said_by) == (NEWEST, "Bob")
    assert space_overview(known, bob).newest[0].said_by == "You"


def test_changes_are_counted_by_person_on_the_days_of_who_looks(known, ada, bob):
    rows = space_overview(known, ada).people
    assert [(row.name, row.changes) for row in rows] == [("Ada", 6), ("Bob", 1)]
    today = rows[0].cells[-1]
    assert (today.shade, len(rows[0].cells)) == (shade_of(6), SHOWN_DAYS)
    assert {cell.shade for cell in rows[0].cells[:-1]} == {0}
    # Where the day is another one already or still, the change is on that day.
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        User.objects.filter(pk=ada.pk).update(timezone=zone)
        person = User.objects.get(pk=ada.pk)
        overview = space_overview(known, person)
        assert overview.first_day == person.day() - dt.timedelta(days=SHOWN_DAYS - 1)
        assert overview.people[0].cells[-1].shade == shade_of(6)


def test_the_page_shows_it_to_members_alone(known, rita, client, django_user_model):
    stranger = django_user_model.objects.create_user("eve@example.org")
    client.force_login(stranger)
    assert client.get(f"/spaces/{known.pk}/").status_code == 404
    client.force_login(rita)
    page = client.get(f"/spaces/{known.pk}/").content.decode()
    assert NEWEST in page
    assert "6 changes" in page
    assert "Shelf 0" not in page, "only the newest five"


async def test_the_field_begins_a_conversation_in_the_space(transactional_db, known, bob, async_client, scripted):
    await async_client.aforce_login(bob)
    page = (await async_client.get(f"/spaces/{known.pk}/")).content.decode()
    form = page[page.index('class="ask"') :]
    address = re.search(r'action="(/c/[\w-]+/send)"', form)[1]
    fields = dict(re.findall(r'name="(client_id|space|use)"\s+value="([^"]*)"', form))
    assert uuid.UUID(fields["client_id"])
    assert (await async_client.post(address, fields | {"text": "Where are the spices?"})).status_code == 302
    session = await ChatSession.objects.aget()
    assert (session.owner_id, session.space_id, session.mode, session.shared_at) == (bob.pk, known.pk, "agent", None)


def test_while_an_import_is_sorted_the_page_is_there_without_lines(kitchen, ada, client):
    lines = "".join(f"- Works at place {number}\n" for number in range(1_200))
    apply(kitchen, "MEMORY.md", Replace(lines, 0), Author(Source.IMPORT, ada))
    client.force_login(ada)
    assert "Works at place" not in client.get(f"/spaces/{kitchen.pk}/").content.decode()
    tasks.compile_overview(kitchen.documents.get().pk)
    assert "Works at place" in client.get(f"/spaces/{kitchen.pk}/").content.decode()


def test_an_archived_space_is_not_asked(known, ada, client):
    known.archived_at = known.created_at
    known.save()
    client.force_login(ada)
    assert 'class="ask"' not in client.get(f"/spaces/{known.pk}/").content.decode()


def test_a_space_without_memory_says_what_to_do(kitchen, ada, client):
    client.force_login(ada)
    page = client.get(f"/spaces/{kitchen.pk}/").content.decode()
    assert "Say what we should remember" in page
    assert "Nothing was added in the last four weeks." in page
