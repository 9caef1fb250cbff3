"""The dialog for adding a document to a message: fetch, call one thing, render."""

import json
import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from chat import extensions
from chat.answering import models_for
from chat.attachments import chosen
from chat.attachments.examine import FileRefusedError
from chat.extensions import PickingScope
from chat.models import ChatSession
from chat.views.pages import number_in
from oneclaw import llm
from oneclaw.people.requests import SignedInRequest
from oneclaw.words import pieces_of


@require_http_methods(["GET", "POST"])
def chosen_documents(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the dialog, or with `words` what it lists (GET); or make what has this `key` an attachment for the next
    message, of which the event `attach` tells the page (POST)."""
    scope = scope_of(request, session_id)
    fields = request.POST if request.method == "POST" else request.GET
    if request.method == "GET" and "words" not in fields:
        has_away = any(llm.answers_without_memory(model) for model in models_for(request.user.pk))
        about = {"session_id": session_id, "library": extensions.memory().library_link(), "has_away": has_away}
        return render(request, "chat/_documents.html", about)
    refusal = ""
    if "key" in fields and request.method == "POST":
        try:
            file = chosen.choose(scope, fields["key"])
        except (chosen.NoPickError, FileRefusedError) as error:
            refusal = error.sentence
        else:
            attached = {"id": str(file.pk), "name": file.name, "size": file.reference()["size"], "kind": file.kind}
            return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"attach": attached})})
    words = pieces_of(fields.get("words", ""))
    context = {"picks": chosen.found(scope, words), "refusal": refusal, "has_words": bool(words)}
    return render(request, "chat/_picks.html", context)


def scope_of(request: SignedInRequest, session_id: uuid.UUID) -> PickingScope:
    """Return where the person picks: in a new conversation when they see none with this id."""
    session = ChatSession.objects.visible_to(request.user).filter(pk=session_id).first()
    fields = request.POST if request.method == "POST" else request.GET
    space_id = number_in(fields, "space") if fields.get("space") else None
    return PickingScope(request.user, session_id, session, space_id)
