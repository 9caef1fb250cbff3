"""The field for which memory a conversation reads: fetch, render."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.conversations import model_choice
from chat.models import MemoryChoice
from chat.views.pages import number_in
from oneclaw.people.requests import SignedInRequest


@require_GET
def memory_choice(request: SignedInRequest) -> HttpResponse:
    """Show the field as it is for a new conversation in `space`, or in none."""
    space_id = number_in(request.GET, "space") if request.GET.get("space") else 0
    in_space = model_choice.open_spaces(request.user).filter(pk=space_id).exists()
    memories = model_choice.offered_memories(in_space=in_space)
    # "No memory" stays chosen; of the others the first one is usual for the space.
    chosen = request.GET.get("memory") if request.GET.get("memory") == MemoryChoice.NONE else ""
    return render(request, "chat/_memory.html", {"memories": memories, "memory": chosen})
