"""The field for how a conversation uses memory: fetch, render."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.conversations import model_choice
from chat.views.pages import number_in
from oneclaw.people.requests import SignedInRequest


@require_GET
def memory_choice(request: SignedInRequest) -> HttpResponse:
    """Show the field as it is for a new conversation in `space`, or in none."""
    space_id = number_in(request.GET, "space") if request.GET.get("space") else 0
    in_space = model_choice.open_spaces(request.user).filter(pk=space_id).exists()
    uses = model_choice.offered_uses(in_space=in_space)
    # What was chosen stays so where it is offered for the other space as well.
    return render(request, "chat/_memory.html", {"uses": uses, "use": request.GET.get("use", "")})
