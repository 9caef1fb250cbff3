"""Keep golden questions, run them, and tell when a change of model, setting or release lowers their share."""

import hashlib
import re
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction

from memory.access.sources import sources_of_person
from memory.index.embeddings import embedder
from memory.index.models import model_name
from memory.models import GoldenQuestion, LabRun
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage
from memory.text.index_format import LAYOUT_VERSION
from oneclaw.config import release
from oneclaw.models import Space, User

# Questions of one space; the oldest leave. Runs that are kept, and the results among which the line must be.
MAX_QUESTIONS, MAX_RUNS, RESULTS_COUNT = 200, 50, 6
EXPECTED_MAX_CHARS = 600
MARKUP = re.compile(r"^[^\S\n]*(?:[-*+•>]\s+|#{1,6}\s+|\d{1,3}[.)]\s+)+|\*\*|__|`", re.M)


def setup() -> str:
    """Return what the results of a search depend on besides memory: release, model, settings, layout of the index."""
    model = embedder()
    parts = {
        "release": release.version(),
        "model": model_name(model) if model else "none",
        "layout": LAYOUT_VERSION,
        "floor": settings.SEARCH.floor,
        "snippet": settings.SEARCH.snippet_max_chars,
        "half-life": settings.SEARCH.half_life_days,
        "mmr": settings.SEARCH.relevance,
        "words": settings.SEARCH.text_weight,
        "meaning": settings.SEARCH.vector_weight,
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items())[:400]


def keep(space: Space, question: str, expected: str, **options: bool) -> GoldenQuestion | None:
    """Keep `question` with the line that it must find, once; None when either is blank.

    `options` are `is_unwanted`, for a line that it must not find first, and `is_from_feedback`.
    """
    question, expected = " ".join(question.split())[:1000], bare(expected)[:EXPECTED_MAX_CHARS]
    if not question or not expected:
        return None
    unwanted = "\0unwanted" if options.get("is_unwanted") else ""
    key = hashlib.sha256(f"{question}\0{expected}{unwanted}".encode()).hexdigest()
    made, _ = GoldenQuestion.objects.get_or_create(
        space=space, key=key, defaults={"question": question, "expected": expected, **options}
    )
    newest = space.golden_questions.order_by("-pk").values("pk")[:MAX_QUESTIONS]
    space.golden_questions.exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()
    return made


def run(space: Space, user: User) -> LabRun | None:
    """Ask every golden question of `space` as `user`, and store the rank of each line; None without questions."""
    questions = list(space.golden_questions.order_by("pk"))
    if not questions:
        return None
    manager = HybridSearchManager([space], sources_of_person(user))
    for question in questions:
        found = manager.search(question.question, max_results=RESULTS_COUNT, today=user.day())
        question.rank = rank_of(question.expected, found)
    with transaction.atomic():
        GoldenQuestion.objects.bulk_update(questions, ["rank"])
        made = LabRun.objects.create(
            space=space,
            found=sum(question.is_met for question in questions),
            total=len(questions),
            setup=setup(),
        )
        newest = list(space.lab_runs.order_by("-pk").values_list("pk", flat=True)[:MAX_RUNS])
        space.lab_runs.exclude(pk__in=newest).delete()
    return made


def run_after_change() -> int:
    """Run the questions of each private space that has not been run with the present setup; return how many. Called by
    the sweep."""
    done = LabRun.objects.filter(setup=setup()).values("space")
    spaces = Space.objects.filter(golden_questions__isnull=False, kind__in=Space.PRIVATE).exclude(pk__in=done)
    return sum(run(space, space.owner) is not None for space in spaces.select_related("owner").distinct())


def drop(space: Space) -> tuple[LabRun, LabRun] | None:
    """Return the newest run and the one before the setup changed, if the newest found a smaller share; else None."""
    runs = list(space.lab_runs.order_by("-pk")[:MAX_RUNS])
    before = next((each for each in runs if each.setup != runs[0].setup), None)
    return (runs[0], before) if before is not None and runs[0].share < before.share else None


def rank_of(expected: str, passages: Iterable[Passage]) -> int | None:
    """Return the rank, from 1, of the first of `passages` that contains the text `expected`; None without one."""
    wanted = bare(expected)
    return next((rank for rank, each in enumerate(passages, 1) if wanted in bare(each.snippet)), None)


def bare(text: str) -> str:
    """Return `text` without the marks of Markdown, its white space folded."""
    return " ".join(MARKUP.sub("", text).split())
