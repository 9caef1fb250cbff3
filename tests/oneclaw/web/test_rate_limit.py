"""A person may make so many requests in a minute, and is told when the next one may follow."""

import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from oneclaw.web import rate_limit
from oneclaw.web.rate_limit import TokenBuckets, TooManyRequestsError
from tests.programs import refusal


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(rate_limit, "time", Clock())
    return rate_limit.time


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Requests of another test are not counted."""
    for buckets in (rate_limit.api_requests, rate_limit.searches, rate_limit.messages, rate_limit.uploads):
        monkeypatch.setattr(buckets, "_buckets", {})


def taken(buckets, user_id=1):
    try:
        buckets.take(user_id)
    except TooManyRequestsError as error:
        return error.retry_after
    return "taken"


def test_the_requests_of_a_minute_may_come_at_once_and_then_they_come_back_with_the_time(clock):
    buckets = TokenBuckets(lambda: 6)
    assert [taken(buckets) for _ in range(7)] == ["taken"] * 6 + [10]
    assert taken(buckets, 2) == "taken"
    clock.now += 4
    assert taken(buckets) == 6
    clock.now += 6
    assert [taken(buckets), taken(buckets)] == ["taken", 10]
    clock.now += 3600
    assert [taken(buckets) for _ in range(7)] == ["taken"] * 6 + [10]


def test_zero_is_no_limit_and_full_buckets_are_not_kept(clock, monkeypatch):
    assert {taken(TokenBuckets(lambda: 0)) for _ in range(1000)} == {"taken"}
    monkeypatch.setattr(rate_limit, "BUCKETS_MAX_COUNT", 3)
    buckets = TokenBuckets(lambda: 6)
    for user_id in range(50):
        clock.now += 20
        buckets.take(user_id)
    assert len(buckets._buckets) <= 3


@pytest.mark.django_db(transaction=True)
def test_a_program_that_asks_too_often_is_told_when_to_ask_again(adas, strangers, settings):
    # One in 20 seconds: the test is over by then, on a slow machine too.
    settings.API_REQUESTS_PER_MINUTE = 3
    answers = [adas.get("/me") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200] * 3 + [429]
    assert refusal(answers[-1]) == (429, "too_many_requests")
    assert 1 <= int(answers[-1]["Retry-After"]) <= 20
    assert "no-store" in answers[-1]["Cache-Control"]
    # Also the operations that are async.
    assert refusal(adas.post("/messages", text="Hello")) == (429, "too_many_requests")
    assert strangers.get("/me").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_messages_and_uploads_have_limits_of_their_own(adas, strangers, ada, client, settings, scripted):
    settings.MESSAGES_PER_MINUTE, settings.UPLOADS_PER_MINUTE = 1, 1
    client.force_login(ada)
    upload = {"file": SimpleUploadedFile("a.txt", b"tea")}
    assert client.post(f"/c/{uuid.uuid4()}/files", upload).status_code == 200
    refused = client.post(f"/c/{uuid.uuid4()}/files", {"file": SimpleUploadedFile("b.txt", b"tea")})
    assert (refused.status_code, refused.json()["code"], refused["Retry-After"]) == (429, "too_many_requests", "60")
    first = uuid.uuid4()
    assert adas.post("/messages", text="Hello", client_id=str(first)).status_code < 300
    refused = adas.post("/messages", text="Hello again")
    assert refusal(refused) == (429, "too_many_requests")
    assert refused.json()["text"] == f"Too many requests. Try again in {refused['Retry-After']} seconds."
    # A message that is stored is not refused when it is sent again, and another person is not held up.
    assert adas.post("/messages", text="Hello", client_id=str(first)).status_code < 300
    assert strangers.post("/messages", text="Hello").status_code < 300


def test_of_one_person_few_searches_run_at_once(ada, stranger, adas, settings):
    settings.PERSON_SEARCHES = 1
    with rate_limit.searching(ada.pk):
        refused = adas.get("/memory/search", q="tea")
        assert (refusal(refused), refused["Retry-After"]) == ((429, "too_many_requests"), "1")
        with rate_limit.searching(stranger.pk):
            pass
    assert adas.get("/memory/search", q="tea").status_code == 200


def test_searches_have_a_limit_of_their_own_on_pages_and_over_the_api(adas, ada, client, settings):
    settings.SEARCHES_PER_MINUTE = 2
    client.force_login(ada)
    assert client.get("/search?q=tea").status_code == 200
    assert adas.get("/memory/search", q="tea").status_code == 200
    for path in ("/search?q=tea", "/memory/search?q=tea"):
        page = client.get(path)
        assert (page.status_code, page["Retry-After"]) == (429, "30")
        assert "Too many requests. Try again in 30 seconds." in page.content.decode()
    assert refusal(adas.get("/memory/search", q="tea")) == (429, "too_many_requests")
    assert adas.get("/me").status_code == client.get("/memory/").status_code == 200
