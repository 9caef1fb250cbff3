"""Fetch what belongs to the signed-in person; what is another person's is answered like what does not exist."""

import uuid

from django.shortcuts import get_object_or_404

from chat.models import ChatSession
from oneclaw.models import User


def own_session(user: User, session_id: uuid.UUID, *related: str) -> ChatSession:
    """Return the person's conversation with its agent and its `related` rows. Raise Http404 when there is none."""
    return get_object_or_404(ChatSession.objects.visible_to(user).select_related("agent", *related), pk=session_id)
