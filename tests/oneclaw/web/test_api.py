"""Who may ask the API, and how a refusal is told."""

import json
import re

import pytest
from django.test import Client

from oneclaw.models import ApiKey, User
from oneclaw.people import keys
from tests.programs import Program, refusal


def paths(client):
    return json.loads(client.get("/api/v1/openapi.json").content)["paths"]


def test_a_key_says_who_asks(adas, ada):
    assert adas.get("/me").json() == {
        "email": "ada@example.org",
        "name": "",
        "timezone": "Europe/Zurich",
        "today": ada.day().isoformat(),
    }
    assert ApiKey.objects.get().last_used_at is not None


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer oc_nonsense", "Basic {token}", "{token}", "Bearer {hash}"])
def test_without_a_key_that_works_it_is_said_how_to_get_one(db, adas, header):
    sent = header.format(token=adas.token, hash=adas.key.token_hash)
    response = Client().get("/api/v1/me", headers={"Authorization": sent} if sent else {})
    assert refusal(response) == (401, "no_key")
    assert "“Authorization: Bearer oc_…”" in response.content.decode()
    assert response["WWW-Authenticate"].startswith("Bearer")


async def test_every_address_but_the_description_needs_a_key_and_no_cookie_is_one(transactional_db, async_client):
    ada = await User.objects.acreate(email="ada@example.org")
    await async_client.aforce_login(ada)
    listed = json.loads((await async_client.get("/api/v1/openapi.json")).content)["paths"]
    assert len(listed) > 5
    for path, methods in listed.items():
        filled = path.replace("{session_id}", "6f1c3c0e-6d0a-4d0c-9f57-0c1a3f4b7d21").replace("{path}", "MEMORY.md")
        filled = re.sub(r"\{\w+\}", "1", filled)
        for method in methods:
            response = await async_client.generic(method.upper(), filled)
            assert response.status_code == 401, (method, path)


def test_a_closed_account_and_a_revoked_key_are_nobody(adas, ada):
    User.objects.update(is_active=False)
    assert adas.get("/me").status_code == 401
    User.objects.update(is_active=True)
    assert adas.get("/me").status_code == 200
    keys.revoke(ada, adas.key.pk)
    assert adas.get("/me").status_code == 401


@pytest.mark.parametrize("path", ["/settings/", "/admin/", "/", "/memory/"])
def test_a_key_opens_no_page(admin_person, path):
    program = Program(admin_person)
    assert program.get("/me").status_code == 200
    response = program.client.get(path)
    assert (response.status_code, "login" in response.get("Location", "")) == (302, True)


def test_a_key_makes_no_key(adas):
    assert adas.client.post("/settings/keys", {"name": "More", "period": "never"}).status_code == 302
    assert ApiKey.objects.count() == 1


def test_no_answer_is_kept_and_each_has_the_policy(adas):
    for path in ("/me", "/nowhere", "/sessions?cursor=x"):
        response = adas.get(path)
        assert response["Content-Type"].startswith("application/json")
        assert "default-src 'self'" in response["Content-Security-Policy"]
    assert adas.get("/me")["Cache-Control"] == "private, no-store"
    assert adas.get("/sessions?cursor=x")["Cache-Control"] == "private, no-store"


def test_what_is_wrong_is_named(adas):
    for path in ("/nowhere", "/", "/me/"):
        assert refusal(adas.get(path)) == (404, "not_found")
    assert refusal(adas.get("/sessions", limit=0)) == (422, "invalid")
    assert adas.get("/sessions", limit=0).json()["text"].startswith("limit: ")
    for nonsense in ("x", "WzFd", "W10", "bnVsbA", "é", "[" * 5000):
        assert refusal(adas.get("/sessions", cursor=nonsense)) == (422, "invalid")
    address = "/api/v1/sessions/6f1c3c0e-6d0a-4d0c-9f57-0c1a3f4b7d21"
    garbled = adas.client.patch(address, data="{", content_type="application/json")
    assert refusal(garbled) == (400, "invalid")
    huge = adas.client.patch(address, data=" " * 2_700_000, content_type="application/json")
    assert refusal(huge) == (413, "too_large")
    misspelt = adas.patch(address.removeprefix("/api/v1"), titel="Tea")
    assert refusal(misspelt) == (422, "invalid")


def test_the_description_is_for_everybody_and_names_no_other_host(client, db):
    response = client.get("/api/v1/openapi.json")
    assert response["Cache-Control"] == "max-age=3600"
    described = json.loads(response.content)
    assert described["openapi"].startswith("3.1")
    assert described["components"]["securitySchemes"]["Key"]["scheme"] == "bearer"
    assert "://" not in response.content.decode()
    for methods in paths(client).values():
        for operation in methods.values():
            assert operation["security"] == [{"Key": []}]
            assert "401" in operation["responses"]
            assert operation["description"]
