"""The page that says what is new: fetch, call one thing, render."""

import functools

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from chat.rendering import incremental
from oneclaw.config import release
from oneclaw.people.requests import SignedInRequest


@require_GET
def news(request: SignedInRequest) -> HttpResponse:
    """Show the version, and what changed in it and in earlier ones."""
    return render(request, "chat/news.html", {"version": release.version(), "blocks": changes()})


@functools.cache
def changes() -> list[SafeString]:
    """Return the changelog as blocks of HTML."""
    return [mark_safe(block) for block in incremental.blocks(release.changelog())]  # noqa: S308 - sanitised there
