"""One-time links: who may come in by them, and who not."""

import re
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from oneclaw.models import User
from oneclaw.people import invitations

PASSWORD = "a long and quiet evening"


def path_of(link):
    return re.sub(r"^https?://[^/]+", "", link)


def choose(client, link, password=PASSWORD, **fields):
    return client.post(path_of(link), {"name": "Grace", "password1": password, "password2": password, **fields})


@pytest.fixture
def grace(db):
    """Somebody who was just added."""
    return User.objects.create_user("grace@example.org")


@pytest.fixture
def link(grace):
    return invitations.invitation_link(grace)


def signed_in(client):
    return client.session.get("_auth_user_id")


def test_a_new_person_chooses_a_name_and_a_password_and_is_signed_in(client, grace, link):
    assert client.get(path_of(link)).status_code == 200
    response = choose(client, link)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert signed_in(client) == str(grace.pk)
    grace.refresh_from_db()
    assert grace.check_password(PASSWORD)
    assert str(grace) == "Grace"


def test_a_used_link_opens_no_second_time(client, link):
    choose(client, link)
    other = Client()
    assert other.get(path_of(link)).status_code == 410
    assert choose(other, link, "another password of mine").status_code == 410
    assert signed_in(other) is None


def test_two_uses_at_once_let_one_in(transactional_db):
    grace = User.objects.create_user("grace@example.org")
    link = invitations.invitation_link(grace)
    barrier, statuses = threading.Barrier(2), []

    def use(password):
        client = Client()
        client.get(path_of(link))
        barrier.wait()
        statuses.append(choose(client, link, password).status_code)
        connection.close()

    threads = [threading.Thread(target=use, args=[f"{PASSWORD} {number}"]) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 410]


def test_a_link_ends_after_the_days_of_the_setting(client, link, settings):
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert client.get(path_of(link)).status_code == 410
    assert choose(client, link).status_code == 410
    assert signed_in(client) is None


def test_somebody_elses_number_does_not_go_with_the_token(client, link, ada):
    parts = path_of(link).split("/")
    parts[2] = path_of(invitations.invitation_link(ada)).split("/")[2]
    assert client.get("/".join(parts)).status_code == 410


@pytest.mark.parametrize(
    "path",
    ["/welcome/MQ/none/", "/welcome/!!/x-y/", "/welcome/OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5/x-y/", "/welcome/w6Q/a-b/"],
)
def test_a_made_up_link_says_that_it_does_not_work(client, db, path):
    response = client.get(path)
    assert response.status_code == 410
    assert "link" in response.content.decode()


def test_a_person_who_was_shut_out_cannot_come_back_by_a_link(client, grace, link):
    User.objects.filter(pk=grace.pk).update(is_active=False)
    assert choose(client, link).status_code == 410


def test_a_poor_password_is_refused_with_a_reason(client, link):
    response = choose(client, link, "12345678")
    assert response.status_code == 200
    assert "too common" in response.content.decode()
    assert choose(client, link, password2="something else").status_code == 200
    assert signed_in(client) is None


def test_the_link_takes_the_timezone_of_the_browser(client, grace, link):
    choose(client, link, timezone="America/Lima")
    grace.refresh_from_db()
    assert grace.timezone == "America/Lima"


def test_the_page_of_a_link_is_not_kept_by_anybody(client, link):
    assert "no-store" in client.get(path_of(link))["Cache-Control"]


# -- The command ---------------------------------------------------------------------------------


def run(*arguments, capsys):
    call_command("adduser", *arguments)
    return capsys.readouterr().out.strip()


def test_adduser_prints_a_link_that_works(db, client, capsys, settings):
    settings.ORIGINS = ["https://chat.example.org"]
    link = run("Grace@Example.org", capsys=capsys)
    assert link.startswith("https://chat.example.org/welcome/")
    assert choose(client, link).status_code == 302
    assert User.objects.get().email == "grace@example.org"
    assert not User.objects.get().is_staff


def test_adduser_without_an_origin_names_this_machine(db, capsys, settings):
    settings.ORIGINS, settings.PORT = [], 8123
    assert run("grace@example.org", capsys=capsys).startswith("http://127.0.0.1:8123/welcome/")


def test_adduser_staff_may_enter_the_admin(db, client, capsys):
    choose(client, run("grace@example.org", "--staff", capsys=capsys))
    assert client.get("/admin/").status_code == 200


def test_adduser_gives_a_new_link_to_somebody_who_exists(ada, client, capsys):
    choose(client, run("Ada@example.org", "--new-link", capsys=capsys))
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no email"], "not an email address"),
        (["ada@example.org"], "--new-link"),
        (["nobody@example.org", "--new-link"], "nobody"),
    ],
)
def test_adduser_says_in_one_sentence_what_is_wrong(ada, arguments, words):
    with pytest.raises(CommandError) as refusal:
        call_command("adduser", *arguments)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_link_leads_to_the_address_at_which_oneclaw_runs(ada, settings, tmp_path):
    settings.ADDRESS_FILE = tmp_path / "address"
    assert invitations.invitation_link(ada).startswith("http://127.0.0.1:8000/welcome/")
    settings.ADDRESS_FILE.write_text("http://127.0.0.1:8177\n")
    assert invitations.invitation_link(ada).startswith("http://127.0.0.1:8177/welcome/")
    settings.ORIGINS = ["https://chat.example.org"]
    assert invitations.invitation_link(ada).startswith("https://chat.example.org/welcome/")
