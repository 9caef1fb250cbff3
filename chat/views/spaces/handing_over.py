"""Hand a space over: its owner looks for a member, who becomes the owner in their place."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from chat.views.spaces.frame import owners_role, tab_page
from chat.views.spaces.members import COLUMNS, changed, number
from oneclaw.people.named import named
from oneclaw.people.requests import SignedInRequest
from oneclaw.spaces import members

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
    others = others.filter(named(query, "user__"))
    ordered = others.select_related("user").only(*COLUMNS).order_by("user__first_name", "user__email")
    found = list(ordered[: OFFERED_MAX_MEMBERS + 1])
    context = {"members": found[:OFFERED_MAX_MEMBERS], "has_more": len(found) > OFFERED_MAX_MEMBERS, "query": query}
    return tab_page(request, held, "members", "chat/spaces/hand_over.html", context)
