"""What a call has cost is written once and never changed."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from oneclaw import llm
from oneclaw.models import Space, Spend
from oneclaw.spend.calls import Payer, Spending
from oneclaw.spend.prices import exact_price_of
from tests import scripted as model

REQUEST = llm.Request("claude-test", [], [{"role": "user", "content": "A title?"}])
USAGE = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}


@pytest.fixture
def spend(ada, settings):
    settings.PRICES = {"claude": (2.0, 10.0, 0.2, 2.5)}
    spending = Spending(Payer(Spend.Purpose.TITLE, ada.pk, space_id=Space.objects.own_of(ada).pk))
    spending.add("claude-test-20261122", USAGE)
    spending.store()
    return Spend.objects.get()


def test_a_call_costs_its_tokens_by_the_price_of_that_time(spend, settings):
    assert spend.cost == Decimal("0.0000875")
    assert spend.price == [Decimal(2), Decimal(10), Decimal("0.2"), Decimal("2.5")]
    assert spend.tokens == 120
    settings.PRICES = {}
    spending = Spending(Payer(Spend.Purpose.TITLE, None))
    spending.add("claude-test", USAGE)
    assert (spending.rows[0].price, spending.rows[0].cost) == (None, None)


def test_tenths_of_a_price_are_exact():
    assert exact_price_of("m-1", {"m": (0.1 * 3,)}) == (Decimal("0.3"),)


def test_storing_a_call_twice_stores_it_once(ada):
    spending = Spending(Payer(Spend.Purpose.TITLE, ada.pk))
    spending.add("m", USAGE)
    # Committed, and the reply to that was lost.
    Spend.objects.bulk_create(spending.rows)
    spending.store()
    spending.store()
    assert Spend.objects.count() == 1


def test_numbers_that_are_none_count_nothing():
    spending = Spending(Payer(Spend.Purpose.TITLE, None))
    spending.add("m\0", {"input_tokens": "7", "output_tokens": -1, "cache_read_input_tokens": 10**12})
    (row,) = spending.rows
    assert (row.input_tokens, row.output_tokens, row.cached_tokens) == (0, 0, 0)
    assert row.model == "m\ufffd"


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.update(cost=0),
        lambda rows: rows.update(input_tokens=1),
        lambda rows: rows.update(user_id=None, purpose="answer"),
        lambda rows: rows.delete(),
    ],
)
def test_a_row_can_be_neither_changed_nor_deleted(spend, change):
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        change(Spend.objects.filter(pk=spend.pk))


def test_a_row_of_one_person_cannot_become_that_of_another(spend, stranger):
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Spend.objects.update(user=stranger)


def test_the_row_of_a_person_who_goes_stays_without_them(spend, ada):
    ada.delete()
    spend.refresh_from_db()
    assert (spend.user_id, spend.space_id, spend.cost) == (None, None, Decimal("0.0000875"))


def test_a_stranger_sees_nothing_of_it(spend, ada, stranger):
    assert Spend.objects.visible_to(ada).get() == spend
    assert not Spend.objects.visible_to(stranger).exists()


def test_a_call_that_fails_has_cost_what_the_server_has_told(ada, scripted):
    scripted.script(model.overloaded(model.answer("Hello there."), after="Hello"))
    with pytest.raises(llm.OverloadedError):
        llm.complete_sync(REQUEST, Payer(Spend.Purpose.TITLE, ada.pk))
    row = Spend.objects.get()
    told = scripted.messages[0].usage
    assert (row.input_tokens, row.output_tokens, row.is_whole) == (told["input_tokens"], 1, False)


def test_each_attempt_at_a_call_is_a_row(ada, scripted):
    # The first is refused, the second ends before its first block, the third answers.
    broken = model.cut(model.answer("Hello."), after=430)
    scripted.script(model.rate_limited(retry_after=0.01), broken, model.answer("Hello."))
    assert llm.complete_sync(REQUEST, Payer(Spend.Purpose.TITLE, ada.pk)) == "Hello."
    told = [request.usage for request in scripted.messages]
    assert [bool(each) for each in told] == [False, True, True]
    assert sorted(Spend.objects.values_list("is_whole", flat=True)) == [False, True]
