"""The sentences of the platform's codes of failures and reasons (oneclaw/reasons.py)."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from oneclaw.reasons import Wording


def rate_limited(params: Mapping[str, Any]) -> str:
    """Return the sentence with the time after which to try again, if the server named one in `seconds`."""
    seconds = params.get("seconds")
    if seconds is None:
        return gettext("The model's server takes no more requests for the moment. Wait a little and try again.")
    if seconds < 90:
        return ngettext(
            "The model's server takes no more requests for the moment. Try again in %(number)d second.",
            "The model's server takes no more requests for the moment. Try again in %(number)d seconds.",
            seconds,
        ) % {"number": seconds}
    minutes = round(seconds / 60)
    return ngettext(
        "The model's server takes no more requests for the moment. Try again in %(number)d minute.",
        "The model's server takes no more requests for the moment. Try again in %(number)d minutes.",
        minutes,
    ) % {"number": minutes}


USED_UP = {
    ("person", "day"): _("Your budget for today is used up. You can go on from %(ends)s."),
    ("person", "month"): _("Your budget for this month is used up. You can go on from %(ends)s."),
    ("group", "day"): _("Your group’s budget for today is used up. You can go on from %(ends)s."),
    ("group", "month"): _("Your group’s budget for this month is used up. You can go on from %(ends)s."),
    ("all", "day"): _("This server’s budget for today is used up. You can go on from %(ends)s."),
    ("all", "month"): _("This server’s budget for this month is used up. You can go on from %(ends)s."),
}


def refused(params: Mapping[str, Any]) -> str:
    """Return the sentence for an answer that the model declined to give, with the reason of its server if it said
    one."""
    ways = gettext("Put it in other words, or start a new conversation.")
    if not params.get("why"):
        return f"{gettext('The model declined to answer this.')} {ways}"
    return gettext("The model declined to answer this: “%(why)s” %(ways)s") % {"why": params["why"], "ways": ways}


def budget_used_up(params: Mapping[str, Any]) -> str:
    """Return the sentence with the time at which the period ends by the clock of the person."""
    ends = date_format(dt.datetime.fromisoformat(params["ends"]), "DATETIME_FORMAT")
    return str(USED_UP[params["scope"], params["period"]]) % {"ends": ends}


WORDINGS: Mapping[str, Wording] = {
    "audit.unreachable": _("The collector of the audit log cannot be reached (ONECLAW_AUDIT_WEBHOOK)."),
    "audit.refused": _("The collector of the audit log answered %(status)s (ONECLAW_AUDIT_WEBHOOK)."),
    "outgoing.address_refused": _(
        "Nothing is sent to %(host)s: its address %(address)s is not one of the internet. An operator can allow its "
        "network (ONECLAW_OUTGOING_NETWORKS)."
    ),
    "outgoing.port_refused": _(
        "Nothing is sent to port %(port)s of %(host)s, only to the ports %(ports)s. An operator can allow its "
        "network with all ports (ONECLAW_OUTGOING_NETWORKS)."
    ),
    "outgoing.form_refused": _(
        "Nothing is sent to “%(host)s”: write a whole address that starts with https:// and has no name or password."
    ),
    "spaces.invited": _("%(who)s invites you to the space “%(name)s”. Accept or decline on the page Spaces."),
    "links.published": _("%(who)s has shared “%(title)s” by a link with people outside of the space “%(name)s”."),
    "people.password_by_link": _(
        "A new password was set by a one-time link. Your other sign-ins and your API keys have ended."
    ),
    "people.password_by_admins_link": _(
        "The password of this account was set by a link that was shown to %(who)s. Your other sign-ins and your API "
        "keys have ended. If it was not you, tell an owner of OneClaw."
    ),
    "people.password_reset": _("Your password was reset by mail. Your other sign-ins and your API keys have ended."),
    "people.password_changed": _("Your password was changed."),
    "people.address_changed": _(
        "%(who)s has changed the email address of your account from %(former)s to %(email)s. Sign in with the new one."
    ),
    "people.address_changed_by_directory": _(
        "The directory of your organisation has changed the email address of your account from %(former)s to "
        "%(email)s. Sign in with the new one."
    ),
    "people.sign_in_connected": _("The sign-in of your organisation is connected to your account now."),
    "people.keys_ended": _("Your API keys have ended. Make new ones in the settings where you need them."),
    # A text that is shown as it is.
    "other": "%(text)s",
    "model.failed": _("The model could not answer. Try again."),
    "model.no_key": _(
        "No API key is set on this server. Ask your administrator to set one (ANTHROPIC_API_KEY), then try again."
    ),
    "model.key_unreadable": _(
        "The key of this model’s server cannot be read any more. Ask your administrator to enter it again."
    ),
    "model.memory_stays_home": _(
        "This model may not be sent anything of your memory, and this request holds some. Choose another model."
    ),
    "model.key_refused": _(
        "The model's server refused the API key. Ask your administrator to check it (ANTHROPIC_API_KEY)."
    ),
    "model.rate_limited": rate_limited,
    "model.budget_used_up": budget_used_up,
    "model.overloaded": _("The model is overloaded. Wait a little and try again."),
    "model.unreachable": _(
        "The model's server cannot be reached. Try again. If that does not help, ask your administrator "
        "(ANTHROPIC_BASE_URL)."
    ),
    "model.timed_out": _("The model's server stopped responding. Try again."),
    "model.took_too_long": _(
        "This answer took too long and was ended. What arrived is kept: continue it, or try again."
    ),
    "model.answer_too_large": _(
        "This answer became too long and was ended. What arrived is kept: continue it, or try again."
    ),
    "model.cut_off": _("The answer ended before the model's server said that it was whole. What arrived is kept."),
    "model.context_too_long": _(
        "This message alone is too long for the model. Shorten it, or send it in parts and with fewer files."
    ),
    "model.window_full": _(
        "This conversation no longer fits into the model’s window, and nothing in it can be summarised any further. "
        "Start a new conversation, or choose a model with a larger window."
    ),
    "model.spend_limit": _(
        "The account at the model's provider has reached its spending limit. Ask your administrator to raise it."
    ),
    "model.unknown_model": _(
        "The model's server does not know this model. Choose another one, or ask your administrator (ONECLAW_MODEL)."
    ),
    "model.bad_request": _(
        "The model's server did not accept this conversation, not even as plain text without tools and files. Start a "
        "new conversation, choose another model, or ask your administrator, who can see what the server said."
    ),
    "model.thinking_bound": _(
        "The model's server refused the earlier thinking of this conversation. Try again: it is then left out."
    ),
    "model.compaction_refused": _("The model's server could not summarise this conversation. Try again later."),
    "model.compaction_block": _("The model's server refused the summary of this conversation. Try again."),
    "model.compaction_unavailable": _(
        "The model's server can neither write nor read summaries for the moment. Wait a little and try again."
    ),
    "model.compaction_unsupported": _(
        "This model neither writes nor reads summaries of conversations. Choose another model, or try again."
    ),
    "model.truncated": _("The answer was cut off at its largest size. Try again."),
    "model.empty": _("The model answered without text. Try again."),
    "model.refused": refused,
    "model.only_tools": _(
        "The model went on using tools instead of answering. What was found is kept: continue, or try again."
    ),
    "model.unreadable": _(
        "What the model's server sent is no answer that can be read. If trying again does not help, ask your "
        "administrator (ANTHROPIC_BASE_URL)."
    ),
    "model.server_fault": _("The model's server had an internal error. Try again."),
    # What goes with a space that is deleted, or what becomes of it.
    "space.goes.members": ngettext_lazy("%(number)s member", "%(number)s members", "number"),
    "space.goes.groups": ngettext_lazy(
        "%(number)s group loses its role", "%(number)s groups lose their role", "number"
    ),
    # What becomes of what a person has who is removed.
    "leaving.conversations": ngettext_lazy(
        "%(number)s conversation is deleted", "%(number)s conversations are deleted", "number"
    ),
    "leaving.shared_conversations": ngettext_lazy(
        "%(number)s shared conversation stays in its space and is handed over to an owner",
        "%(number)s shared conversations stay in their spaces and are handed over to owners",
        "number",
    ),
    "leaving.files": ngettext_lazy("%(number)s file is deleted", "%(number)s files are deleted", "number"),
    "leaving.links": ngettext_lazy("%(number)s shared link ends", "%(number)s shared links end", "number"),
    "leaving.tasks": ngettext_lazy(
        "%(number)s scheduled task is deleted", "%(number)s scheduled tasks are deleted", "number"
    ),
    "leaving.prompts": ngettext_lazy(
        "%(number)s saved prompt is deleted", "%(number)s saved prompts are deleted", "number"
    ),
    "leaving.documents": ngettext_lazy(
        "%(number)s document of memory is deleted, with its history",
        "%(number)s documents of memory are deleted, with their history",
        "number",
    ),
    "leaving.library_files": ngettext_lazy(
        "%(number)s file of the own library is deleted, with all versions",
        "%(number)s files of the own library are deleted, with all versions",
        "number",
    ),
    "leaving.keys": ngettext_lazy("%(number)s API key is revoked", "%(number)s API keys are revoked", "number"),
    "leaving.sign_ins": ngettext_lazy("%(number)s device is signed out", "%(number)s devices are signed out", "number"),
    "leaving.spaces": ngettext_lazy(
        "%(number)s shared space has no other owner", "%(number)s shared spaces have no other owner", "number"
    ),
    # What came of the import of an account's archive.
    "account_import.conversations": ngettext_lazy(
        "%(number)s conversation was imported", "%(number)s conversations were imported", "number"
    ),
    "account_import.conversations_known": ngettext_lazy(
        "%(number)s conversation was here already", "%(number)s conversations were here already", "number"
    ),
    "account_import.conversations_refused": ngettext_lazy(
        "%(number)s conversation could not be imported", "%(number)s conversations could not be imported", "number"
    ),
    "account_import.documents": ngettext_lazy(
        "%(number)s document of memory was imported", "%(number)s documents of memory were imported", "number"
    ),
    "account_import.documents_known": ngettext_lazy(
        "%(number)s document of memory was here already", "%(number)s documents of memory were here already", "number"
    ),
    "account_import.documents_refused": ngettext_lazy(
        "%(number)s document of memory could not be imported",
        "%(number)s documents of memory could not be imported",
        "number",
    ),
    "account_import.library_files": ngettext_lazy(
        "%(number)s file of the library was imported", "%(number)s files of the library were imported", "number"
    ),
    "account_import.library_files_known": ngettext_lazy(
        "%(number)s file of the library was here already", "%(number)s files of the library were here already", "number"
    ),
    "account_import.library_files_refused": ngettext_lazy(
        "%(number)s file of the library could not be imported",
        "%(number)s files of the library could not be imported",
        "number",
    ),
    "account_import.bad": _("This is no archive of an account, or it is damaged."),
    "account_import.too_large": _(
        "This archive is too large to be imported here. Ask your administrator to raise the limit."
    ),
    "account_import.faulty": _("The import has failed several times. Ask your administrator to look at the log."),
    # Why somebody can see something.
    "viewer.own": _("Owner"),
    "viewer.owner": _("Owner of “%(space)s”"),
    "viewer.editor": _("Editor in “%(space)s”"),
    "viewer.reader": _("Reader in “%(space)s”"),
    "viewer.group_owner": _("Owner of “%(space)s”, through the group “%(group)s”"),
    "viewer.group_editor": _("Editor in “%(space)s”, through the group “%(group)s”"),
    "viewer.group_reader": _("Reader in “%(space)s”, through the group “%(group)s”"),
    "viewer.admin": _("Administrator of this server, on the pages of its administration"),
}
