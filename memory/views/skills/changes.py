"""Serve the forms that write, approve, switch off and delete a skill."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from memory.documents import write
from memory.policy.line_ends import with_line_ends_of
from memory.skills import approval, writing
from memory.skills.catalogue import OWN, Skill, source_in
from memory.skills.limits import SKILL_MAX_BYTES
from memory.skills.parsing import DESCRIPTION_MAX_CHARS, NAME_MAX_CHARS
from memory.views.changes import form_number
from memory.views.skills.pages import is_writable, readable_skill, render_skill, source_of
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def new_skill(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new skill; POST writes it, and what the person has written is approved with it."""
    fields = {name: request.POST.get(name, "") for name in ("name", "description", "body")}
    limits = {"name_most": NAME_MAX_CHARS, "description_most": DESCRIPTION_MAX_CHARS, "body_most": SKILL_MAX_BYTES}
    spaces = spaces_to_write_in(request.user)
    refusals: list[str] = []
    if request.method == "POST":
        space = next((each for each in spaces if source_in(each) == request.POST.get("source", OWN)), None)
        if space is None:
            raise Http404
        name = fields["name"].strip()
        body = fields["body"].replace("\r\n", "\n")
        try:
            writing.create(request.user, space, name, writing.new_text(name, fields["description"], body))
        except writing.FaultySkillError as error:
            refusals = [str(reason) for reason in error.reasons]
        except (writing.SkillExistsError, write.DocumentError, InvalidTextError) as error:
            refusals = [str(error)]
        else:
            messages.success(request, _("Saved. New conversations can use it."))
            return redirect("memory_skill", source_in(space), name)
    sources = [(source_in(space), source_of(space)) for space in spaces]
    context = {"fields": fields, "sources": sources, "refusals": refusals, **limits}
    context["chosen"] = request.POST.get("source", OWN)
    return render(request, "memory/new_skill.html", context, status=422 if refusals else 200)


@require_http_methods(["GET", "POST"])
def edit_skill(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Show the SKILL.md of a skill in a form; POST saves it.

    After a concurrent change nothing is saved: the form keeps the person's text and shows the other one, status 409.
    """
    skill = writable_skill(request, source, folder)
    if skill.main is None:
        raise Http404
    context = {"skill": skill, "content": skill.text, "base_version": skill.main.version}
    if request.method == "GET":
        return render(request, "memory/edit_skill.html", context)
    base_version = form_number(request, "base_version")
    if base_version is None:
        return HttpResponseBadRequest()
    mine = with_line_ends_of(skill.text, request.POST.get("content", ""))
    context["content"] = mine
    try:
        is_approved = writing.change(request.user, skill, mine, base_version)
    except write.StaleVersionError:
        refusal = _("This skill was changed in the meantime. Your text is in the field. Check it, then save.")
        return render(
            request, "memory/edit_skill.html", context | {"refusals": [refusal], "current": skill.text}, status=409
        )
    except writing.FaultySkillError as error:
        context |= {"refusals": [str(reason) for reason in error.reasons], "base_version": base_version}
        return render(request, "memory/edit_skill.html", context, status=422)
    except (write.DocumentError, InvalidTextError) as error:
        context |= {"refusals": [str(error)], "base_version": base_version}
        return render(request, "memory/edit_skill.html", context, status=422)
    if is_approved:
        messages.success(request, _("Saved. New conversations can use it."))
    else:
        messages.success(request, _("Saved. Other files of this skill wait for your approval, so it is not used yet."))
    return redirect("memory_skill", source, folder)


@require_POST
def approve_skill(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Let the model use the skill as the page has shown it; with `for_all` for every member of its space."""
    skill = readable_skill(request, source, folder)
    try:
        approval.approve(request.user, skill, request.POST.get("digest", ""), for_all=request.POST.get("for") == "all")
    except approval.NotAnOwnerError as error:
        raise PermissionDenied from error
    except approval.SkillChangedError:
        warning = _("This skill was changed in the meantime, so it was not approved. This is how it is now:")
        return render_skill(request, skill, warning, 409)
    messages.success(request, _("Approved. New conversations can use it."))
    return redirect("memory_skill", source, folder)


@require_POST
def switch_off_skill(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Keep the model from using the skill."""
    approval.switch_off(request.user, readable_skill(request, source, folder))
    messages.success(request, _("Switched off. The model does not read it any more."))
    return redirect("memory_skill", source, folder)


@require_http_methods(["GET", "POST"])
def delete_skill(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Ask whether to delete a skill; POST deletes its files, whose history is kept."""
    skill = writable_skill(request, source, folder)
    if request.method == "GET":
        return render(request, "memory/delete_skill.html", {"skill": skill})
    try:
        writing.delete(request.user, skill)
    except write.DocumentError as error:
        messages.error(request, str(error))
        return redirect("memory_skill", source, folder)
    messages.success(request, _("The skill is deleted."))
    return redirect("memory_skills")


def writable_skill(request: SignedInRequest, source: str, folder: str) -> Skill:
    """Return the skill. Raise Http404 unless the person may read it, PermissionDenied unless they may write it."""
    skill = readable_skill(request, source, folder)
    if not is_writable(request.user, skill):
        raise PermissionDenied
    return skill


def spaces_to_write_in(user: User) -> list[Space]:
    """Return the spaces in which `user` may write a skill, their own first."""
    return [Space.objects.own_of(user), *Space.objects.writable_by(user).shared().order_by("pk")]
