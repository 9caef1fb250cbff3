"""Pinning, filing, archiving, deleting and restoring conversations, one or many, and whose they are."""

import pytest
from django.db import IntegrityError, connection

from chat.library import organise, sidebar
from chat.models import ChatSession, Folder, Message
from chat.signals import sessions_ended
from oneclaw.text import InvalidTextError
from tests.conversations import send, settle


@pytest.fixture
def sessions(ada):
    """Three conversations, the newest last."""
    accepted = [send(ada, title) for title in ("Tea", "Coffee", "Water")]
    for one in accepted:
        settle(one, "Well.")
    return [one.message.session for one in accepted]


@pytest.fixture
def signed_in(client, ada):
    client.force_login(ada)
    return client


def do(client, action, *sessions, **fields):
    ids = [session.pk for session in sessions]
    return client.post("/conversations/organise", {"do": action, "id": ids, **fields})


def names(sessions):
    return [session.name for session in sessions]


def test_pinned_ones_stand_first_and_only_there(ada, sessions):
    assert organise.organise(ada, [sessions[0].pk], "pin") == 1
    listing = sidebar.listing(ada)
    assert names(listing.pinned) == ["Tea"]
    assert [names(group) for _, group in listing.groups] == [["Water", "Coffee"]]
    assert organise.organise(ada, [sessions[0].pk], "pin") == 0
    organise.organise(ada, [sessions[0].pk], "unpin")
    assert names(sidebar.listing(ada).pinned) == []


def test_a_folder_holds_what_was_moved_into_it(signed_in, ada, sessions):
    do(signed_in, "move", *sessions[:2], new_folder="  Hot\n drinks ")
    ((folder, filed),) = sidebar.listing(ada).folders
    assert (folder.name, names(filed)) == ("Hot drinks", ["Coffee", "Tea"])
    assert "Coffee" in signed_in.get(f"/conversations?show=folder-{folder.pk}").content.decode()
    do(signed_in, "move", sessions[0])
    assert names(sidebar.listing(ada).folders[0][1]) == ["Coffee"]
    signed_in.post(f"/folders/{folder.pk}/rename", {"name": "Brewed"})
    assert names(ada.folders.all()) == ["Brewed"]
    signed_in.post(f"/folders/{folder.pk}/delete")
    assert sidebar.listing(ada).folders == []
    assert [names(group) for _, group in sidebar.listing(ada).groups] == [["Water", "Coffee", "Tea"]]


def test_folders_have_names_of_their_own_and_an_end(ada, monkeypatch):
    first, second = organise.get_or_create_folder(ada, "A"), organise.get_or_create_folder(ada, "B")
    assert organise.get_or_create_folder(ada, " A ") == first
    with pytest.raises(organise.FolderExistsError):
        organise.rename_folder(second, "A")
    with pytest.raises(InvalidTextError):
        organise.rename_folder(second, "x" * 61)
    monkeypatch.setattr(organise, "PERSON_MAX_FOLDERS", 2)
    with pytest.raises(organise.TooManyFoldersError):
        organise.get_or_create_folder(ada, "C")
    assert organise.get_or_create_folder(ada, "B") == second


def test_archived_ones_leave_the_list_and_are_noted(ada, sessions, django_capture_on_commit_callbacks):
    told = []

    def receiver(sessions, reason, **_):
        told.extend((session.pk, reason) for session in sessions)

    sessions_ended.connect(receiver)
    with django_capture_on_commit_callbacks(execute=True):
        assert organise.organise(ada, [session.pk for session in sessions[:2]], "archive") == 2
    sessions_ended.disconnect(receiver)
    assert sorted(told) == sorted((session.pk, "archive") for session in sessions[:2])
    assert [names(group) for _, group in sidebar.listing(ada).groups] == [["Water"]]
    organise.organise(ada, [sessions[0].pk], "unarchive")
    assert [names(group) for _, group in sidebar.listing(ada).groups] == [["Water", "Tea"]]


def test_what_was_deleted_is_gone_but_kept_and_can_be_restored(signed_in, ada, sessions):
    tea = sessions[0]
    response = do(signed_in, "delete", tea)
    assert response["Location"] == "/"
    page = signed_in.get("/").content.decode()
    assert "Deleted." in page
    assert 'value="restore"' in page
    assert "Deleted." not in signed_in.get("/").content.decode()
    assert signed_in.get(f"/c/{tea.pk}").status_code == 404
    assert "Tea" in signed_in.get("/conversations?show=deleted").content.decode()
    assert Message.objects.filter(session=tea).count() == 2
    do(signed_in, "restore", tea)
    assert "Well." in signed_in.get(f"/c/{tea.pk}").content.decode()


def test_a_page_that_shows_what_was_deleted_goes_on_elsewhere(signed_in, sessions):
    tea, coffee, _ = sessions
    htmx = {"HX-Request": "true"}
    ids = {"do": "delete", "id": [tea.pk]}
    response = signed_in.post("/conversations/organise", ids | {"current": coffee.pk}, headers=htmx)
    html = response.content.decode()
    assert (str(tea.pk) in html, "Coffee" in html, "Deleted." in html) == (True, True, True)
    assert f'id="session-{tea.pk}"' not in html
    response = signed_in.post(
        "/conversations/organise", {"do": "delete", "id": [coffee.pk], "current": coffee.pk}, headers=htmx
    )
    assert response["HX-Redirect"] == "/"


@pytest.mark.parametrize("action", organise.ACTIONS)
def test_nobody_changes_what_is_somebody_elses(client, stranger, sessions, action):
    client.force_login(stranger)
    before = list(ChatSession.objects.order_by("pk").values())
    do(client, action, *sessions, new_folder="Mine")
    assert list(ChatSession.objects.order_by("pk").values()) == before


def test_nothing_goes_into_the_folder_of_somebody_else(client, stranger, ada, sessions):
    folder = Folder.objects.create(owner=stranger, name="Theirs")
    client.force_login(ada)
    assert do(client, "move", sessions[0], folder=folder.pk).status_code == 404
    for path in (f"/folders/{folder.pk}/rename", f"/folders/{folder.pk}/delete"):
        assert client.post(path, {"name": "x"}).status_code == 404
    assert client.get(f"/conversations?show=folder-{folder.pk}").status_code == 404
    ChatSession.objects.filter(pk=sessions[0].pk).update(folder=folder)
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="session_in_owners_folder"):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize(
    "fields",
    [{"do": "burn"}, {"do": "pin", "id": "x"}, {"do": "move", "folder": "x"}, {"do": "move", "folder": "٣"}],
)
def test_nonsense_is_refused(signed_in, sessions, fields):
    assert signed_in.post("/conversations/organise", fields).status_code == 400


def test_a_way_back_leads_only_here(signed_in, sessions):
    assert do(signed_in, "pin", sessions[0], next="/conversations?page=2")["Location"] == "/conversations?page=2"
    for elsewhere in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert do(signed_in, "pin", sessions[0], next=elsewhere)["Location"] == "/"


def test_a_conversation_is_unread_until_its_newest_message_was_shown(signed_in, ada, sessions):
    tea = sessions[0]
    assert tea.is_unread
    signed_in.post(f"/c/{tea.pk}/read", {"seq": 1})
    tea.refresh_from_db()
    assert (tea.read_seq, tea.is_unread) == (1, True)
    signed_in.get(f"/c/{tea.pk}")
    tea.refresh_from_db()
    assert not tea.is_unread
    # An older page says nothing new, and nobody has read what was not said yet.
    for seq in (1, 99):
        signed_in.post(f"/c/{tea.pk}/read", {"seq": seq})
    tea.refresh_from_db()
    assert tea.read_seq == 2


def test_a_stranger_reads_nothing_for_you(client, stranger, sessions):
    client.force_login(stranger)
    assert client.post(f"/c/{sessions[0].pk}/read", {"seq": 2}).status_code == 204
    sessions[0].refresh_from_db()
    assert sessions[0].read_seq == 0


def test_the_list_takes_two_queries_however_long_it_is(ada, sessions, django_assert_num_queries):
    organise.organise(ada, [sessions[0].pk], "pin")
    ChatSession.objects.filter(pk=sessions[1].pk).update(folder=organise.get_or_create_folder(ada, "A"))
    with django_assert_num_queries(2):
        listing = sidebar.listing(ada)
        _ = [session.is_unread for _, group in listing.groups for session in group]


def test_the_page_of_all_has_pages(signed_in, sessions, monkeypatch):
    from chat.views import lists

    monkeypatch.setattr(lists, "PAGE_SIZE", 2)
    assert "Page 1 of 2" in signed_in.get("/conversations").content.decode()
    assert "Tea" in signed_in.get("/conversations?page=2").content.decode()
