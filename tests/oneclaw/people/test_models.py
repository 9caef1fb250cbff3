import datetime as dt

import pytest
from django.db import IntegrityError

from oneclaw.models import Space, User


def test_email_is_one_account_whatever_its_case(ada):
    with pytest.raises(IntegrityError):
        User.objects.create(email="ADA@example.org")


def test_a_day_is_the_persons_own(ada):
    late = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
    assert ada.day(late) == dt.date(2026, 3, 2)


def test_own_space_is_made_once_and_seen_by_nobody_else(ada, stranger):
    space = Space.objects.own_of(ada)
    assert Space.objects.own_of(ada) == space
    assert list(Space.objects.visible_to(ada)) == [space]
    assert not Space.objects.visible_to(stranger).exists()
