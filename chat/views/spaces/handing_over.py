"""Hand a space over: its owner looks for a member, who becomes the owner in their place."""

from functools import reduce
from operator import or_

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from chat.views.spaces.frame import owners_role, tab_page
from chat.views.spaces.members import COLUMNS, changed, number
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import members
from oneclaw.words import contains, pieces_of

# Members that are offered at once; the search finds the others.
OFFERED_MAX_MEMBERS, QUERY_MAX_CHARS = 20, 200


@require_http_methods(["GET", "POST"])
def hand_over(request: SignedInRequest, space_id: int) -> HttpResponse:
    """Offer the members whose name or address contains each word of `q`; POST makes the member `to` the owner in the
    person's place."""
    held = owners_role(request.user, space_id)
    space = held.space
    others = space.members.exclude(user=request.user)
    if request.method == "POST":
        member = get_object_or_404(others, pk=number(request.POST.get("to", "")))
        return changed(request, space, lambda: members.hand_over(space, request.user, member))
    query = request.GET.get("q", "")[:QUERY_MAX_CHARS]
    for piece in pieces_of(query):
        names = (contains(f"user__{name}", piece) for name in ("first_name", "last_name", "email"))
        others = others.filter(reduce(or_, names, Q()))
    named = others.select_related("user").only(*COLUMNS).order_by("user__first_name", "user__email")
    found = list(named[: OFFERED_MAX_MEMBERS + 1])
    context = {"members": found[:OFFERED_MAX_MEMBERS], "has_more": len(found) > OFFERED_MAX_MEMBERS, "query": query}
    return tab_page(request, held, "members", "chat/spaces/hand_over.html", context)
