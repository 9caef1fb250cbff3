"""Serve the form of custom instructions: the document USER.md, which every conversation of the person begins with."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.policy.line_ends import with_line_ends_of
from memory.policy.paths import INSTRUCTIONS
from memory.prompt.context import FILE_MAX_CHARS
from memory.views.changes import form_number
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def instructions(request: SignedInRequest) -> HttpResponse:
    """Show the person's instructions in a form; POST saves them."""
    return edited(request, Space.objects.own_of(request.user), INSTRUCTIONS, "memory/instructions.html", {})


def edited(request: SignedInRequest, space: Space, path: str, template: str, context: dict[str, Any]) -> HttpResponse:
    """Show the instructions in the document `path` of `space` in the form of `template`; POST saves them.

    After a concurrent change nothing is saved: the form keeps the person's text and shows the other one, status 409.
    """
    document = space.documents.filter(path=path).first()
    current, version = (document.content, document.version) if document else ("", 0)
    context = context | {"content": current.strip(), "base_version": version, "longest": FILE_MAX_CHARS}
    if request.method == "GET":
        return render(request, template, context)
    base_version = form_number(request, "base_version")
    if base_version is None or base_version > version:
        return HttpResponseBadRequest()
    shown = with_line_ends_of(current, request.POST.get("content", "")).strip()
    mine = f"{shown}\n" if shown else ""
    try:
        if mine != current or base_version != version:
            author = Author(Source.PAGE, request.user, reason=Reason("change.instructions"))
            write.apply(space, path, Replace(mine, base_version), author)
    except write.StaleVersionError:
        refusal = _("These instructions were changed in the meantime. Your text is in the field. Check it, then save.")
        return render(
            request, template, context | {"refusal": refusal, "content": shown, "current": current}, status=409
        )
    except (write.DocumentError, InvalidTextError) as error:
        refused = {"refusal": str(error), "content": shown, "base_version": base_version}
        return render(request, template, context | refused, status=422)
    messages.success(request, _("Saved. This applies to new conversations."))
    return redirect(request.path)
