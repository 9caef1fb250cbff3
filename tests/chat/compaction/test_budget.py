"""The sizes that follow from a window, each at its limit and beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from chat.compaction.budget import budget_of
from chat.compaction.plan import TurnSize, plan_cut


def turns(*sizes):
    return [TurnSize(2 * (index + 1), size) for index, size in enumerate(sizes)]


def test_a_large_window_is_due_where_the_memory_flush_of_openclaw_was():
    assert budget_of(1_048_576, 20_000, 20_000).due == 1_024_576


def test_the_default_window_of_200000_tokens():
    budget = budget_of(200_000, 20_000, 20_000)
    assert (budget.usable, budget.due, budget.early) == (180_000, 176_000, 123_200)
    assert (budget.target, budget.gain, budget.keep, budget.summary) == (90_000, 40_000, 20_000, 4_000)


@pytest.mark.parametrize(
    ("window", "reserve"), [(16_000, 4_000), (79_996, 19_999), (80_000, 20_000), (80_004, 20_000), (200_000, 20_000)]
)
def test_the_reserve_is_at_most_a_quarter_of_the_window(window, reserve):
    budget = budget_of(window, 20_000, 20_000)
    assert budget.reserve == reserve
    # The founding formula with a window of 16,000 and a reserve of 20,000 would never be reached.
    assert 0 < budget.early < budget.due < budget.usable < window


@pytest.mark.parametrize(("window", "soft"), [(63_984, 3_999), (64_000, 4_000), (64_016, 4_000)])
def test_the_soft_threshold_is_at_most_a_sixteenth_of_the_window(window, soft):
    budget = budget_of(window, 0, 0)
    assert budget.usable - budget.due == soft


def test_the_newest_turns_stay_as_far_as_there_is_room():
    cut = plan_cut(turns(60_000, 60_000, 6_000, 6_000, 6_000), 3_000, budget_of(200_000, 20_000, 20_000))
    assert (cut.through_seq, cut.covered, cut.kept) == (4, 120_000, 18_000)


def test_a_round_that_is_made_early_leaves_room_for_the_turns_until_it_is_used():
    budget = budget_of(12_000, 20_000, 20_000)
    conversation = turns(4_000, 400, 400, 400, 400)
    assert plan_cut(conversation, 1_000, budget).kept == 1_600
    # Until the window is full, 2,400 more tokens are kept with these.
    assert plan_cut(conversation, 1_000, budget, is_early=True).kept == 400


def test_a_large_window_keeps_as_many_turns_early_as_late():
    conversation = turns(*[3_000] * 41)
    cuts = [plan_cut(conversation, 3_000, budget_of(200_000, 20_000, 20_000), is_early=each) for each in (False, True)]
    assert cuts[0] == cuts[1]


def test_one_whole_turn_stays_also_when_it_is_large():
    cut = plan_cut(turns(100_000, 70_000), 3_000, budget_of(200_000, 20_000, 20_000))
    assert (cut.through_seq, cut.kept) == (2, 70_000)


@pytest.mark.parametrize(("first", "is_planned"), [(47_999, False), (48_000, True)])
def test_a_round_must_free_a_fifth_of_the_window(first, is_planned):
    # Of which a summary and quoted messages take 8,000 again.
    cut = plan_cut(turns(first, 20_000), 3_000, budget_of(200_000, 20_000, 20_000))
    assert (cut is not None) == is_planned


def test_a_person_who_asks_gets_a_summary_of_the_older_half():
    budget = budget_of(200_000, 20_000, 20_000)
    assert plan_cut(turns(500, 500, 500, 500), 3_000, budget) is None
    assert plan_cut(turns(500, 500, 500, 500), 3_000, budget, is_asked=True).through_seq == 4


def test_one_turn_alone_is_never_summarised():
    assert plan_cut(turns(150_000), 3_000, budget_of(200_000, 20_000, 20_000), is_asked=True, least=True) is None


@given(
    some.lists(some.integers(1, 300_000), min_size=1, max_size=60),
    some.integers(0, 50_000),
    some.integers(2_000, 1_000_000),
    some.booleans(),
    some.booleans(),
)
def test_a_cut_covers_whole_turns_and_leaves_at_least_one(sizes, fixed, window, is_asked, least):
    conversation = turns(*sizes)
    cut = plan_cut(conversation, fixed, budget_of(window, 20_000, 20_000), is_asked=is_asked, least=least)
    if cut is not None:
        assert cut.through_seq in [turn.last_seq for turn in conversation[:-1]]
        assert cut.covered + cut.kept == sum(sizes)
        assert cut.covered == sum(turn.tokens for turn in conversation if turn.last_seq <= cut.through_seq)
