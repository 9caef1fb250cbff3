"""Serve the recall lab: ask a question, see why each line is found, and keep questions that must find theirs."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from memory.access.rights import may_write
from memory.access.sources import sources_of_person
from memory.lab import explain, golden
from memory.models import GoldenQuestion
from memory.search.manager import HybridSearchManager
from memory.search.passage import QUERY_MAX_CHARS
from memory.views.home import shown_space
from oneclaw.people.requests import SignedInRequest
from oneclaw.web.rate_limit import TooManyRequestsError, searching


@require_GET
def lab_page(request: SignedInRequest) -> HttpResponse:
    """Show what a question finds and why, why a line is not found (`?why=`), and the golden questions."""
    space = shown_space(request)
    question, line = request.GET.get("q", "")[:QUERY_MAX_CHARS].strip(), request.GET.get("why", "")[:QUERY_MAX_CHARS]
    context: dict[str, Any] = {"space": space, "question": question, "line": line}
    status = 200
    if question:
        try:
            with searching(request.user.pk):
                context |= _answered(request, context)
        except TooManyRequestsError as refusal:
            context["refusal"], status = refusal.sentence, 429
    context |= {
        "golden": space.golden_questions.order_by("-pk"),
        "runs": space.lab_runs.order_by("-pk")[:10],
        "drop": golden.drop(space),
        "may_write": may_write(request.user, space.pk),
    }
    return render(request, "memory/lab.html", context, status=status)


@require_POST
def keep_question(request: SignedInRequest) -> HttpResponse:
    """Keep a question with the line that it must find; go back to its results."""
    space = shown_space(request)
    if may_write(request.user, space.pk) and golden.keep(
        space, request.POST.get("question", ""), request.POST.get("expected", "")
    ):
        messages.success(request, _("Saved. It is part of every run from now on."))
    return redirect(reverse("memory_lab", query={"q": request.POST.get("question", ""), "space": space.pk}))


@require_POST
def drop_question(request: SignedInRequest, question_id: int) -> HttpResponse:
    """Remove a golden question of the person."""
    mine = GoldenQuestion.objects.filter(space__roles__user=request.user, pk=question_id)
    for question in mine:
        if may_write(request.user, question.space_id):
            question.delete()
    return redirect("memory_lab")


@require_POST
def run_questions(request: SignedInRequest) -> HttpResponse:
    """Ask all golden questions now."""
    space = shown_space(request)
    try:
        with searching(request.user.pk):
            made = golden.run(space, request.user)
    except TooManyRequestsError as refusal:
        messages.error(request, refusal.sentence)
        return redirect("memory_lab")
    if made is not None:
        sentence = ngettext(
            "%(found)d of %(total)d question finds its line.",
            "%(found)d of %(total)d questions find their line.",
            made.total,
        )
        messages.info(request, sentence % {"found": made.found, "total": made.total})
    return redirect(reverse("memory_lab", query={"space": space.pk}))


def _answered(request: SignedInRequest, context: dict[str, Any]) -> dict[str, Any]:
    space, sources = context["space"], sources_of_person(request.user)
    options: dict[str, Any] = {"max_results": golden.RESULTS_COUNT, "today": request.user.day()}
    passages = HybridSearchManager([space], sources).search(context["question"], **options)
    rows = [
        {
            "passage": passage,
            "text": golden.bare(passage.snippet),
            "words": round(100 * passage.text_score),
            "meaning": round(100 * max(passage.vector_score, 0)),
            "likely": round(100 * passage.score),
        }
        for passage in passages
    ]
    line = context["line"]
    why = explain.why_not([space], sources, context["question"], line, **options) if line.strip() else None
    return {"rows": rows, "why": why}
