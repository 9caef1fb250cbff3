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
from memory.skills.catalogue import OWN, Skill
from memory.skills.limits import SKILL_MAX_BYTES
from memory.skills.parsing import DESCRIPTION_MAX_CHARS, NAME_MAX_CHARS
from memory.views.changes import form_number
from memory.views.skills.pages import readable_skill, render_skill
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def new_skill(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new skill; POST writes it, and what the person has written is approved with it."""
    fields = {name: request.POST.get(name, "") for name in ("name", "description", "body")}
    limits = {"name_most": NAME_MAX_CHARS, "description_most": DESCRIPTION_MAX_CHARS, "body_most": SKILL_MAX_BYTES}
    refusals: list[str] = []
    if request.method == "POST":
        name = fields["name"].strip()
        body = fields["body"].replace("\r\n", "\n")
        try:
            writing.create(request.user, name, writing.new_text(name, fields["description"], body))
        except writing.FaultySkillError as error:
            refusals = [str(reason) for reason in error.reasons]
        except (writing.SkillExistsError, write.DocumentError, InvalidTextError) as error:
            refusals = [str(error)]
        else:
            messages.success(request, _("Saved. New conversations can use it."))
            return redirect("memory_skill", OWN, name)
    context = {"fields": fields, "refusals": refusals, **limits}
    return render(request, "memory/new_skill.html", context, status=422 if refusals else 200)


@require_http_methods(["GET", "POST"])
def edit_skill(request: SignedInRequest, folder: str) -> HttpResponse:
    """Show the SKILL.md of an own skill in a form; POST saves it.

    After a concurrent change nothing is saved: the form keeps the person's text and shows the other one, status 409.
    """
    skill = readable_skill(request, OWN, folder)
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
    return redirect("memory_skill", OWN, folder)


@require_POST
def approve_skill(request: SignedInRequest, source: str, folder: str) -> HttpResponse:
    """Let the model use the skill as the page has shown it; with `for_all` for every member of its space."""
    skill = readable_skill(request, source, folder)
    try:
        approval.approve(
            request.user, skill, request.POST.get("digest", ""), for_all=request.POST.get("for") == "all"
        )
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
def delete_skill(request: SignedInRequest, folder: str) -> HttpResponse:
    """Ask whether to delete an own skill; POST deletes its files, whose history is kept."""
    skill: Skill = readable_skill(request, OWN, folder)
    if request.method == "GET":
        return render(request, "memory/delete_skill.html", {"skill": skill})
    try:
        writing.delete(request.user, skill)
    except write.DocumentError as error:
        messages.error(request, str(error))
        return redirect("memory_skill", OWN, folder)
    messages.success(request, _("The skill is deleted."))
    return redirect("memory_skills")
