"""Define the sentence for each reason code of memory (oneclaw/reasons.py)."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from oneclaw.reasons import Wording


def secret_left_out(params: Mapping[str, Any]) -> str:
    """Return the question about removed secrets; `params["kinds"]` names them (memory/policy/secrets.py)."""
    kinds = get_text_list([gettext(kind) for kind in params["kinds"]], gettext("and"))
    return gettext("Removed before saving: %(kinds)s. Do you want to keep it?") % {"kinds": kinds}


# Where a text came from that waits for a yes (memory/models/suggestions.py), by the kind of its source.
CAME_FROM = {
    "attachment": _("It came from the file “%(name)s”."),
    "pasted": _("It came from text that you pasted."),
    "tool": _("It came from a result of the tool %(name)s."),
    "imported": _("It came from an imported conversation."),
    "recalled": _("It came from %(name)s."),
    "found": _("It came from another conversation."),
    "session": _("It came from a message of another conversation."),
    "people": _("It came from the words of another person."),
    "workspace": _("It came from the file %(name)s of your workspace."),
    "summary": _("It came from a summary of this conversation."),
    "instructions": _("It came with an import: %(name)s."),
    "program": _("The program %(name)s wants to save it."),
}


def came_from(params: Mapping[str, Any]) -> str:
    """Return the sentence about the source of a text; `params` are the kind of the source and its name."""
    return str(CAME_FROM[params["kind"]]) % {"name": params["name"]}


# How a line was proposed to a space (memory/models/proposals.py).
PROPOSED_HOW = {
    "saved": _("Proposed from a saved line."),
    "line": _("Proposed from a line of a member’s memory."),
    "written": _("Proposed on the page of the memory."),
    "assistant": _("Proposed by the assistant in a shared conversation."),
    "api": _("Proposed by a program."),
    "rules": _("Proposed on the page of the instructions."),
}


def proposed_how(params: Mapping[str, Any]) -> str:
    """Return the sentence about how a line was proposed; `params` has the kind of the proposal."""
    return str(PROPOSED_HOW[params["kind"]])


def found_in_notes(params: Mapping[str, Any]) -> str:
    """Return a search result in a daily log; `params` are its text and day."""
    day = date_format(dt.date.fromisoformat(params["day"]))
    return gettext("%(text)s · notes of %(day)s") % {"text": params["text"], "day": day}


def found_in_conversation(params: Mapping[str, Any]) -> str:
    """Return a search result in a conversation; `params` are its text, and the title and day of the conversation."""
    day = date_format(dt.date.fromisoformat(params["day"]))
    return gettext("%(text)s · “%(title)s”, %(day)s") % {**params, "day": day}


def source_of_day(params: Mapping[str, Any]) -> str:
    """Return the name of a conversation that an answer cites; `params["day"]` is when it was said there."""
    return gettext("a conversation, %(day)s") % {"day": date_format(dt.date.fromisoformat(params["day"]))}


# What is wrong with a skill (memory/skills/parsing.py), and what else is said of one.
OF_SKILLS: Mapping[str, Wording] = {
    "skill.missing": _("It has no file SKILL.md."),
    "skill.no_frontmatter": _("SKILL.md must begin with a line “---”, and after it name and description."),
    "skill.frontmatter_not_closed": _("A second line “---” is missing after name and description."),
    "skill.frontmatter_too_long": _("The part between the two lines “---” has more than %(most)s characters."),
    "skill.has_alias": _("The part between the two lines “---” has an alias (*name): write the value out."),
    "skill.too_deep": _("The part between the two lines “---” is nested more than %(most)s levels deep."),
    "skill.bad_yaml": _("Line %(line)d is not valid YAML. Put text with a colon into quotation marks."),
    "skill.unreadable_yaml": _("The part between the two lines “---” is not valid YAML."),
    "skill.not_fields": _("Between the two lines “---”, each line must be a field such as “name: release-notes”."),
    "skill.field_twice": _("The field “%(name)s” is there twice."),
    "skill.no_name": _("The field “name” is missing."),
    "skill.long_name": _("The name has %(size)s characters; at most %(most)s are possible."),
    "skill.bad_name": _(
        "“%(name)s” cannot be a name: write small letters a–z, digits, and single hyphens between them."
    ),
    "skill.other_folder": _("The name is “%(name)s”, but the folder is “%(folder)s”: they must be the same."),
    "skill.no_description": _("The field “description” is missing. It says what the skill does, and when to use it."),
    "skill.long_description": _("The description has %(size)s characters; at most %(most)s are possible."),
    "skill.long_compatibility": _("The field “compatibility” has %(size)s characters; at most %(most)s are possible."),
    "skill.not_text": _("The field “%(name)s” must be text."),
    "skill.bad_metadata": _("The field “metadata” must have a text for each of its names."),
    "skill.bad_tools": _("The field “allowed-tools” must be names of tools, separated by spaces."),
    "skill.many_files": _("It has more than %(most)s files."),
    "skill.large": _("Its files have more than %(most)s characters."),
    "skill.no_body": _("It has no instructions below the second line “---”."),
    "skill.many_lines": _(
        "The instructions have %(size)s lines; at most %(most)s are recommended. Move details to other files."
    ),
    "skill.many_tokens": _(
        "The instructions have about %(size)s tokens; fewer than %(most)s are recommended. Move details to other files."
    ),
    "skill.invisible": _(
        "%(path)s has characters that cannot be seen, with which instructions can be hidden. Do not approve it."
    ),
    "skill.unknown_fields": _("These fields have no effect here: %(names)s."),
    # Of calls of skill_read.
    "skill.unknown": _("There is no approved skill “%(name)s”."),
    "skill.only_named": _("Only you choose the skill “%(name)s”, by its name in a message."),
    "skill.no_file": _("The skill “%(name)s” has no file %(file)s."),
    "skill.read": _("Skill “%(name)s”"),
    "skill.read_file": _("%(file)s of the skill “%(name)s”"),
    # In the history of a document.
    "change.skill_written": _("Written on the skills page"),
    "change.skill_imported": _("Imported as a skill from %(name)s"),
    "change.skill_deleted": _("Skill deleted"),
}

# Why a file of a library cannot be read (memory/library/), and what calls of its tools found.
OF_LIBRARIES: Mapping[str, Wording] = {
    "library.type": _(
        "Files of this type cannot be read: add a PDF, Word, PowerPoint, Excel, OpenDocument (ODS), HTML or text file."
    ),
    "library.encoding": _("Its encoding is not known: save it as UTF-8 and add it again."),
    "library.unreadable": _(
        "Its text cannot be read, because its fonts do not name their characters: add a copy with recognised text."
    ),
    "library.locked": _("It is protected by a password: add a copy without one."),
    "library.corrupt": _("It is damaged."),
    "library.no_text": _("It has no text. It may consist of scanned pages: add a copy with recognised text."),
    "library.faulty": _("It could not be read in three attempts."),
    "library.missing": _("Its content is missing on the server’s disk: add it again."),
    "library.found_on_page": _("%(text)s · %(name)s, page %(page)s"),
    "library.found_in_lines": _("%(text)s · %(name)s, line %(line)s"),
    "source.line": _("%(name)s, line %(line)d"),
    "source.lines": _("%(name)s, lines %(first)d–%(last)d"),
    "source.page": _("%(name)s, page %(page)d"),
    "source.document": "%(name)s",
    "source.conversation": _("a conversation"),
    "source.conversation_day": source_of_day,
    "library.read": _("Read %(name)s, lines %(first)d–%(last)d"),
    "library.read_page": _("Read %(name)s, page %(page)d"),
    "library.no_file": _("There is no such file."),
    "library.not_read": _("%(name)s is not read yet."),
    "library.no_page": _("%(name)s has no page %(page)d."),
}

WORDINGS: Mapping[str, Wording] = {
    **OF_SKILLS,
    **OF_LIBRARIES,
    # After conversations were deleted.
    "memory.remains": ngettext_lazy(
        "%(number)d line from it stays in memory.", "%(number)d lines from it stay in memory.", "number"
    ),
    # The reason of a change, in the history of a document.
    "change.edited": _("Edited on the memory page"),
    "change.instructions": _("Custom instructions were changed"),
    "change.line_deleted": _("Deleted a line on the memory page"),
    "change.file_deleted": _("Its file was deleted in the folder"),
    "change.file_changed": _("Changed in the folder"),
    "change.file_new": _("A new file in the folder"),
    "change.both_changed": _("%(path)s was changed here and in the folder, in the same lines"),
    "change.last_messages": _("The last messages before a new conversation"),
    "change.notes": _("Notes of “%(title)s”"),
    "change.summary": _("Summary of “%(title)s”"),
    "change.folder_imported": _("Imported"),
    "change.taken_over": _("Moved from %(path)s to MEMORY.md"),
    "change.imported": _("Imported from %(name)s"),
    "change.forgotten": _("Lines were forgotten"),
    "change.saved": _("Saved in a conversation"),
    "change.accepted": came_from,
    "change.proposed": proposed_how,
    "change.no_longer_true": _("Deleted because it is no longer true"),
    "change.merged": _("Merged two lines that said the same"),
    "change.kept_new": _("Kept the new of two lines that contradicted each other"),
    "change.kept_old": _("Kept the old of two lines that contradicted each other"),
    "change.saved_as_said": _("Saved with its secret"),
    "change.line_removed": _("Removed a line from which a secret was left out"),
    "change.admin_edited": _("Edited in the admin"),
    "change.admin_deleted": _("Deleted in the admin"),
    "change.api_written": _("Written by a program"),
    "change.api_added": _("Added by a program"),
    "change.program_saved": _("Saved by the program %(name)s"),
    "change.restored": _("Restored version %(number)d"),
    "change.taken_back": _("Undid change %(number)d"),
    # The outcome of a tool call, on its card.
    "memory.waits": came_from,
    "memory.instructions_changed": _("%(person)s has changed the instructions of the space “%(space)s”."),
    "memory.declined": _("You have declined this before."),
    "memory.proposed": _("Another owner or editor of “%(space)s” decides."),
    "memory.saved_to_space": _("Saved to the memory of “%(space)s”, which all its members see."),
    "memory.read_only_space": _("You may read the memory of “%(space)s”, and not change it."),
    "memory.not_a_member": _("You are not a member of this space any more."),
    "memory.already_known": _("Already in memory: %(path)s"),
    "memory.contradicted": _("Contradicts line %(line)d: %(text)s"),
    "memory.secret_left_out": secret_left_out,
    "memory.found": ngettext_lazy("Found %(number)d passage", "Found %(number)d passages", "number"),
    "memory.found_nothing": _("Found nothing"),
    "memory.found_saved": _("%(text)s · saved memory"),
    "memory.found_in_notes": found_in_notes,
    "memory.found_in_conversation": found_in_conversation,
    "memory.found_in_file": _("%(text)s · %(path)s"),
    "memory.found_in_space": _("%(text)s · %(path)s of “%(space)s”"),
    "memory.read": _("Read %(path)s, lines %(first)d–%(last)d"),
    "memory.length": ngettext_lazy("%(path)s has %(count)d line", "%(path)s has %(count)d lines", "count"),
    "memory.missing": _("There is no %(path)s."),
    "memory.too_long": _("At most %(most)s characters can be saved at once."),
    "memory.unstorable": _("%(path)s cannot hold this text: it contains NUL or half a surrogate pair."),
    "memory.document_too_large": _("%(path)s would have %(size)s bytes; at most %(most)s are possible."),
    "memory.line_forgotten": _(
        "You asked to forget this, so it was not saved. You can write it again on the memory page."
    ),
    "memory.not_stored": _("The database did not accept it."),
    # Why the embedding model makes no vectors.
    "embedding.several_widths": _("The embedding server answered with vectors of several widths."),
    "embedding.endless": _("The embedding server's answer does not end."),
    "embedding.unreachable": _("The embedding server cannot be reached (%(error)s)."),
    "embedding.refused": _("The embedding server answered %(status)d: %(said)s"),
    "embedding.no_vectors": _("The embedding server's answer contains no vectors."),
    # What goes with a space that is deleted.
    "space.goes.documents": ngettext_lazy(
        "%(number)s document of memory, with its history",
        "%(number)s documents of memory, with their history",
        "number",
    ),
    "space.goes.lines": ngettext_lazy("%(number)s line in them", "%(number)s lines in them", "number"),
    "space.goes.library_files": ngettext_lazy(
        "%(number)s file of its library, with all versions",
        "%(number)s files of its library, with all versions",
        "number",
    ),
    "space.goes.suggestions": ngettext_lazy(
        "%(number)s text that waits for a yes", "%(number)s texts that wait for a yes", "number"
    ),
    "space.goes.proposals": ngettext_lazy(
        "%(number)s proposal of a member", "%(number)s proposals of members", "number"
    ),
}
