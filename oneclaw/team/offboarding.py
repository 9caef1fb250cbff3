"""The pages on which an admin removes a person, and sees the receipt."""

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from oneclaw.leaving import offboard
from oneclaw.models import Offboarding, User
from oneclaw.people import roles
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.spaces.names import SpaceNames
from oneclaw.text import UserFacingError

manages_people = permission_required(roles.MANAGE_PEOPLE, raise_exception=True)


@require_http_methods(["GET", "POST"])
@manages_people
@fresh_sign_in_required
def offboard_person(request: SignedInRequest, person_id: int) -> HttpResponse:
    """Say what goes with a person and what is handed over (GET), or remove them (POST)."""
    person = get_object_or_404(User, pk=person_id)
    if person == request.user or not roles.may_change(request.user, person):
        raise Http404
    planned, refusal, email = offboard.plan(person), "", request.POST.get("to", "").strip()
    if request.method == "POST":
        try:
            receiver = User.objects.filter(email__iexact=email).first() if email else None
            if email and receiver is None:
                raise offboard.WrongReceiverError
            job = offboard.begin(person, receiver=receiver, by=request.user, digest=request.POST.get("digest", ""))
        except UserFacingError as refused:
            refusal, planned = str(refused), offboard.plan(person)
        else:
            return redirect("offboarding", job.pk)
    names = SpaceNames.for_reader(request.user).of_all(planned.spaces)
    context = {"person": person, "plan": planned, "spaces": names, "refusal": refusal, "to": email}
    return render(request, "team/offboard.html", context, status=422 if refusal else 200)


@require_GET
@manages_people
def offboarding(request: SignedInRequest, offboarding_id: int) -> HttpResponse:
    """Show the receipt of a removal, or how far it is."""
    job = get_object_or_404(Offboarding.objects.visible_to(request.user), pk=offboarding_id)
    planned = offboard.LeavingPlan(job.counts)
    return render(request, "team/offboarding.html", {"job": job, "plan": planned})


@require_GET
@manages_people
def receipt(request: SignedInRequest, offboarding_id: int) -> HttpResponse:
    """Send the receipt as JSON."""
    job = get_object_or_404(Offboarding.objects.visible_to(request.user), pk=offboarding_id)
    headers = {"Content-Disposition": f'attachment; filename="receipt-{job.pk}.json"'}
    return JsonResponse(job.as_json, headers=headers, json_dumps_params={"indent": 1})
