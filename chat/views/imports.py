"""The page that imports conversations and shows the progress: fetch, call one thing, render."""

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from chat.models import ImportJob
from chat.transfer.importing import jobs, reasons, uploads
from oneclaw.people.requests import SignedInRequest

# Imports that the page lists.
SHOWN_IMPORTS = 5


@require_http_methods(["GET", "POST"])
def import_page(request: SignedInRequest) -> HttpResponse:
    """Show the form and the last imports (GET), or begin another import (POST)."""
    refusal = ""
    if request.method == "POST":
        try:
            with uploads.joined(request.FILES.getlist("file")) as upload:
                jobs.begin(request.user, upload)
            return redirect("import")
        except reasons.ImportFileRefusedError as refused:
            refusal = reasons.of_file(refused.code)
    found = ImportJob.objects.visible_to(request.user)[:SHOWN_IMPORTS]
    context = {"jobs": [worded(job) for job in found], "refusal": refusal, "limits": reasons.limits()}
    return render(request, "chat/import.html", context, status=422 if refusal else 200)


@require_GET
def import_progress(request: SignedInRequest, job_id: uuid.UUID) -> HttpResponse:
    """Show the progress of one import, which replaces what the page shows of it."""
    job = get_object_or_404(ImportJob.objects.visible_to(request.user), pk=job_id)
    return render(request, "chat/_import.html", worded(job)) if request.htmx else redirect("import")


def worded(job: ImportJob) -> dict[str, object]:
    """Return a job for the template, with its reasons in words."""
    problems = [(each["number"], each["title"], reasons.of_conversation(each["why"])) for each in job.problems]
    return {
        "job": job,
        "problems": problems,
        "untold": job.skipped - len(problems),
        "error": reasons.of_file(job.error) if job.error else "",
    }
