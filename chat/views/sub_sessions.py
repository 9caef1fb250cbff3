"""Stop a sub-session, from its card or its page."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from chat.models import SubTask
from chat.session_tools import ends
from oneclaw.people.requests import SignedInRequest


@require_POST
def stop(request: SignedInRequest, task_id: int) -> HttpResponse:
    """Ask the sub-session to stop. The pages that show its card are notified when it has."""
    task = get_object_or_404(SubTask.objects.visible_to(request.user).select_related("parent", "session"), pk=task_id)
    ends.stop(request.user, task)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect(task.session if request.POST.get("from") == "page" else task.parent)
