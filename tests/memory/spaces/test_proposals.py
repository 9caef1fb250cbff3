"""A line that a member proposes waits for another owner or editor, and then stands in the memory with both names."""

import threading

import pytest
from django.db import connection

from memory.access.rights import may_edit
from memory.models import MemoryDocument, MemoryRevision, Proposal
from memory.policy.tombstones import LineForgottenError
from memory.tools import proposals
from memory.tools.proposals import accept, propose
from memory.trust.proposals import decline, declined_of, hear, to_decide, withdraw
from oneclaw.models import Space, SpaceMember, User

WRITTEN = Proposal.Kind.WRITTEN


def curated(space):
    document = MemoryDocument.objects.filter(space=space, path="MEMORY.md").first()
    return document.content if document else ""


def test_an_accepted_line_stands_with_both_names(kitchen, bob, ada):
    row = propose(kitchen, "The oven is broken.", bob, WRITTEN)
    assert row.is_waiting
    assert curated(kitchen) == ""
    accepted = accept(row, ada, "The oven is broken until May.")
    assert curated(kitchen) == "- The oven is broken until May.\n"
    assert (accepted.state, accepted.decided_by, accepted.accepted_text, accepted.text) == (
        "accepted",
        ada,
        "The oven is broken until May.",
        "The oven is broken.",
    )
    revision = MemoryRevision.objects.get()
    assert (revision.author, revision.approved_by, revision.source) == (bob, ada, "proposal")
    # Once more changes nothing, whoever asks.
    assert accept(row, ada).outcome == revision
    assert not decline(row, ada)


def test_who_may_decide_is_asked_at_that_moment(kitchen, ada, bob, cem, rita, stranger):
    row = propose(kitchen, "The oven is broken.", bob, WRITTEN)
    for person in (bob, rita, stranger):
        with pytest.raises(proposals.NotYoursToDecideError):
            accept(row, person)
        assert not decline(row, person)
    assert set(to_decide(ada)) == set(to_decide(cem)) == {row}
    assert not to_decide(bob)
    assert not to_decide(rita)
    SpaceMember.objects.filter(user=cem).update(role="reader")
    with pytest.raises(proposals.NotYoursToDecideError):
        accept(row, cem)
    SpaceMember.objects.filter(user=bob).delete()
    assert not withdraw(row, bob)
    accept(row, ada)
    assert "oven" in curated(kitchen)


def test_a_reader_may_propose_and_a_declined_author_hears(kitchen, rita, bob):
    row = propose(kitchen, "Tea at four.", rita, WRITTEN)
    assert decline(row, bob)
    assert not decline(row, bob)
    (heard,) = declined_of(rita)
    assert heard.decided_by == bob
    assert not declined_of(bob)
    hear(heard, rita)
    assert not declined_of(rita)
    assert curated(kitchen) == ""


def test_an_author_takes_back_what_waits(kitchen, bob, cem):
    row = propose(kitchen, "Tea at four.", bob, WRITTEN)
    assert propose(kitchen, "- tea at four", bob, WRITTEN) == row
    assert withdraw(row, bob)
    assert not withdraw(row, bob)
    assert accept(row, cem).state == "withdrawn"
    assert curated(kitchen) == ""


def test_nobody_else_is_needed_where_editors_write_directly_or_are_alone(kitchen, ada, bob, rita):
    Space.objects.filter(pk=kitchen.pk).update(needs_second_person=False)
    kitchen.refresh_from_db()
    assert propose(kitchen, "One.", bob, WRITTEN).state == "accepted"
    waiting = propose(kitchen, "Two.", rita, WRITTEN)
    assert waiting.is_waiting
    assert bob in User.objects.filter(pk=accept(waiting, bob).decided_by_id)
    alone = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Alone")
    SpaceMember.objects.create(space=alone, user=ada, role="owner")
    assert propose(alone, "Three.", ada, WRITTEN).state == "accepted"
    assert MemoryRevision.objects.filter(approved_by=None).count() == 2


def test_with_a_second_person_only_owners_edit_the_curated_memory_directly(kitchen, ada, bob, rita):
    assert may_edit(ada, kitchen, "MEMORY.md")
    assert not may_edit(bob, kitchen, "MEMORY.md")
    assert may_edit(bob, kitchen, "memory/2026-11-02.md")
    assert not may_edit(rita, kitchen, "memory/2026-11-02.md")
    kitchen.needs_second_person = False
    assert may_edit(bob, kitchen, "MEMORY.md")
    assert not may_edit(rita, kitchen, "MEMORY.md")


def test_secrets_forgotten_lines_and_what_is_known_are_not_proposed(kitchen, ada, bob, cem, append):
    from memory.forgetting.forget import forget

    append(kitchen, "- The lease ends in May of next year.\n")
    with pytest.raises(proposals.AlreadyKnownError):
        propose(kitchen, "The lease ends in May of next year.", bob, WRITTEN)
    assert "hunter22horse" not in propose(kitchen, "My password: hunter22horse", bob, WRITTEN).text
    row = propose(kitchen, "Our landlord is called Gustav Eiffel.", bob, WRITTEN)
    forget(kitchen, ["Our landlord is called Gustav Eiffel."], ada)
    assert not Proposal.objects.filter(pk=row.pk).exists()
    with pytest.raises(LineForgottenError):
        propose(kitchen, "Our landlord is called Gustav Eiffel.", cem, WRITTEN)


@pytest.mark.django_db(transaction=True)
def test_accepted_twice_at_once_it_is_written_once(kitchen, ada, bob, cem):
    row = propose(kitchen, "The oven is broken.", bob, WRITTEN)
    ready, deciders = threading.Barrier(2), []

    def decide(person, text):
        try:
            ready.wait()
            deciders.append(accept(row, person, text).decided_by_id)
        finally:
            connection.close()

    threads = [threading.Thread(target=decide, args=each) for each in ((ada, "One oven."), (cem, None))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    decided = Proposal.objects.get()
    assert set(deciders) == {decided.decided_by_id}
    assert len(deciders) == 2
    assert curated(kitchen) == f"- {decided.accepted_text}\n"
    assert MemoryRevision.objects.count() == 1
