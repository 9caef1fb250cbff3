"""The count of what waits for a person, which every page shows: kept, and never another one than a fresh count."""

import random

import pytest
from django.core.cache import caches
from django.utils import timezone

from memory.documents import write
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.models import Decision, MemoryDocument, MemoryRevision, Proposal, Review, Suggestion, content_hash
from memory.tools import decisions
from memory.trust import proposals
from memory.trust.suggestions import decline
from memory.views.inbox import counted, waiting_items
from oneclaw.models import Space, SpaceMember

STEPS = 20


@pytest.fixture(autouse=True)
def cache():
    caches["memory_home"].clear()


class History:
    """Random acts in a space of several members and in the own one of its owner."""

    def __init__(self, chosen, kitchen, people):
        self.chosen, self.people = chosen, people
        self.spaces = [kitchen, Space.objects.own_of(kitchen.owner)]
        self.number = 0

    def step(self):
        self.number += 1
        space = Space.objects.get(pk=self.chosen.choice(self.spaces).pk)
        person = self.chosen.choice(self.people)
        often = [self.write, self.ask, self.review, self.suggest, self.propose, self.answer]
        self.chosen.choice([*often, *often, self.edit, self.change_space])(space, person)

    def author(self, person):
        return Author(Source.PAGE, person)

    def document(self, space):
        return MemoryDocument.objects.filter(space=space, path="MEMORY.md").first()

    def write(self, space, person):
        write.apply(space, "MEMORY.md", Append(f"- line {self.number}\n"), self.author(person))

    def edit(self, space, person):
        document = self.document(space)
        if document is None or document.is_deleted:
            return
        lines = [line for line in document.content.split("\n") if self.chosen.random() < 0.7]
        change = Delete(document.version) if self.chosen.random() < 0.2 else Replace("\n".join(lines), document.version)
        write.apply(space, "MEMORY.md", change, self.author(person))

    def ask(self, space, person):
        revision = MemoryRevision.objects.filter(space=space, kind="append").order_by("?").first()
        if revision is not None:
            decisions.ask_about_secret(revision)

    def review(self, space, person):
        document = self.document(space)
        if document is not None:
            lines = [line for line in document.content.split("\n") if line] or ["- gone"]
            line, newer = self.chosen.choice(lines), self.chosen.choice(lines)
            kind = {"kind": "still_true"}
            if self.chosen.random() < 0.5:
                kind = {"kind": "superseded", "newer_document": document, "newer_hash": content_hash(newer)}
            row = Review(document=document, line_hash=content_hash(line), **kind)
            Review.objects.bulk_create([row], ignore_conflicts=True)

    def suggest(self, space, person):
        Suggestion.objects.create(
            space=space,
            path=self.chosen.choice(["MEMORY.md", "AGENTS.md", "notes.md"]),
            text=f"- {self.number}",
            text_hash=str(self.number),
            kind=Suggestion.Kind.PASTED,
        )

    def propose(self, space, person):
        writers = [self.chosen.choice(self.people).pk] if self.chosen.random() < 0.5 else None
        Proposal.objects.create(
            space=space,
            author=person,
            kind=Proposal.Kind.WRITTEN,
            text=f"- {self.number}",
            text_hash=str(self.number),
            writers=writers,
        )

    def answer(self, space, person):
        for suggestion in Suggestion.objects.waiting().filter(space=space)[:1]:
            decline(suggestion)
        for proposal in Proposal.objects.waiting().filter(space=space)[:1]:
            proposals.decline(proposal, person)
        for proposal in Proposal.objects.to_hear_by(person)[:1]:
            proposals.hear(proposal, person)
        Review.objects.filter(pk__in=Review.objects.unanswered().values("pk")[:1]).update(answered_at=timezone.now())
        open_ids = Decision.objects.undecided().values("pk")[:1]
        Decision.objects.filter(pk__in=open_ids).update(choice="masked", decided_at=timezone.now())

    def change_space(self, space, person):
        kitchen = Space.objects.filter(pk=self.spaces[0].pk)
        if self.chosen.random() < 0.4:
            kitchen.update(needs_second_person=self.chosen.random() < 0.5)
        elif self.chosen.random() < 0.4:
            kitchen.update(archived_at=timezone.now() if self.chosen.random() < 0.5 else None)
        else:
            role = self.chosen.choice(["owner", "editor", "reader"])
            # A space keeps an owner.
            members = SpaceMember.objects.filter(space=self.spaces[0], user=person)
            members.exclude(user=self.people[0]).update(role=role)


@pytest.mark.parametrize("seed", range(6))
def test_the_kept_count_is_that_of_a_fresh_one_after_any_history(seed, kitchen, ada, bob, cem, rita, stranger):
    people = [ada, bob, cem, rita]
    history, seen = History(random.Random(seed), kitchen, people), 0
    for _ in range(STEPS):
        history.step()
        for person in people:
            waiting = waiting_items(person)
            assert (waiting.count if waiting else 0) == counted(person)
            seen += waiting is not None
        assert waiting_items(stranger) is None
    assert seen


def test_a_question_about_lines_of_which_some_are_forgotten_is_counted_anew(kitchen, ada, django_assert_num_queries):
    revision = write.apply(kitchen, "MEMORY.md", Append("- tea\n- milk\n"), Author(Source.PAGE, ada))
    decisions.ask_about_secret(revision)
    assert waiting_items(ada).count == 1
    with django_assert_num_queries(1):
        assert waiting_items(ada).count == 1
    write.apply(kitchen, "MEMORY.md", Replace("- milk\n", 1), Author(Source.PAGE, ada))
    assert waiting_items(ada) is None


def test_while_nothing_waits_it_is_one_statement(kitchen, ada, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert waiting_items(ada) is None
