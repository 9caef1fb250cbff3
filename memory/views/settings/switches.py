"""Serve the page on which a person switches parts of memory on and off."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.people.requests import SignedInRequest

# The label and the explanation of each switch.
WORDS = {
    Switch.SAVED: (
        gettext_lazy("Saved memory"),
        gettext_lazy(
            "What you ask to remember (MEMORY.md), the notes of each day, and the messages that /new "
            "and /reset keep. Every conversation includes MEMORY.md and can search the notes."
        ),
    ),
    Switch.PRELOADED: (
        gettext_lazy("MEMORY.md in every conversation"),
        gettext_lazy(
            "Without it, what fits your message is looked up in MEMORY.md as it is in the notes, and requests are "
            "shorter."
        ),
    ),
    Switch.RECENT: (
        gettext_lazy("Recent conversations"),
        gettext_lazy("A list of your latest conversations with a title and a summary of each, which can be searched."),
    ),
    Switch.RECALL: (
        gettext_lazy("Recall"),
        gettext_lazy(
            "Notes related to your message, usually the first one, are looked up and sent to the model with it."
        ),
    ),
    Switch.TRANSCRIPTS: (
        gettext_lazy("Transcripts"),
        gettext_lazy("What you and the assistant said, word for word, can be found in later conversations."),
    ),
    Switch.REVIEWS: (
        gettext_lazy("Still true?"),
        gettext_lazy("Once a week you are asked about at most five old lines, and about plans whose day has passed."),
    ),
}


@require_http_methods(["GET", "POST"])
def switches_page(request: SignedInRequest) -> HttpResponse:
    """Show every switch with its explanation; POST stores the choices. The field `on` lists the switches to be on."""
    if request.method == "POST":
        wanted = request.POST.getlist("on")
        for switch in Switch:
            switches.choose(request.user, switch, switch.value in wanted)
        messages.success(request, _("Saved. This applies from your next message."))
        return redirect("memory_switches")
    rows = [(state, *WORDS[state.switch]) for state in switches.states(request.user)]
    return render(request, "memory/switches.html", {"rows": rows})
