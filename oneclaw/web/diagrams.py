"""Serve the page inside of which diagrams are drawn: a frame that belongs to no origin and reaches nothing."""

from csp.decorators import csp
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

# Mermaid writes styles into what it draws. It loads nothing, and in a frame without an origin it can read nothing.
POLICY = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'") | {
    "script-src": "'self'",
    "style-src": "'unsafe-inline'",
    "frame-ancestors": "'self'",
    "sandbox": "allow-scripts",
}


@login_not_required
@require_safe
@xframe_options_sameorigin
@csp(POLICY)
def diagrams(request: HttpRequest) -> HttpResponse:
    """Show an empty page that draws the diagrams which its parent sends; it holds nothing of the person."""
    return render(request, "diagrams.html")
