"""The page between an answer and an address outside: it passes on, or asks first."""

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.context import carried_words
from chat.rendering import outgoing_links
from chat.views.messages import own_message
from oneclaw.people.requests import SignedInRequest


@require_GET
def leave(request: SignedInRequest, message_id: int, to: str) -> HttpResponse:
    """Redirect to the address that a link of the answer has signed as `to`; ask first when it carries words of memory.

    Raise Http404 for another person's message, and for an address that no link of ours has.
    """
    message = own_message(request.user, message_id)
    address = outgoing_links.unsigned(message_id, to)
    if address is None:
        raise Http404
    if carried_words.is_held(message, address):
        context = {"address": address, "host": outgoing_links.host_of(address), "message": message}
        response = render(request, "chat/leaving.html", context)
    else:
        response = HttpResponseRedirect(address)
    # The other site does not learn the address of the conversation.
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "no-store"
    return response
