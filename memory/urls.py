"""Define the URLs of the memory pages."""

from django.urls import path

from memory.views import (
    changes,
    decisions,
    documents,
    entries,
    forgetting,
    home,
    imports,
    inbox,
    lab,
    past,
    provenance,
    search,
)
from memory.views.library import actions as library_actions
from memory.views.library import pages as library_pages
from memory.views.settings import instructions, looks, switches
from memory.views.skills import changes as skill_changes
from memory.views.skills import imports as skill_imports
from memory.views.skills import pages as skill_pages
from memory.views.spaces import pages as space_pages
from memory.views.spaces import proposals
from memory.walk import card

urlpatterns = [
    path("memory/", home.home_page, name="memory"),
    path("memory/topics/<int:topic>", home.topic_page, name="memory_topic"),
    path("memory/search", search.search_page, name="memory_search"),
    path("memory/past", past.past_page, name="memory_past"),
    path("messages/<int:message_id>/memories", provenance.memories, name="message_memories"),
    path("messages/<int:message_id>/memories/<slug:memory_id>", provenance.say, name="memory_feedback"),
    path("memory/lab", lab.lab_page, name="memory_lab"),
    path("memory/lab/keep", lab.keep_question, name="memory_lab_keep"),
    path("memory/lab/run", lab.run_questions, name="memory_lab_run"),
    path("memory/lab/<int:question_id>/drop", lab.drop_question, name="memory_lab_drop"),
    path("memory/files", documents.document_list, name="memory_files"),
    path("memory/files/waiting", changes.file_waiting, name="memory_file_waiting"),
    path("memory/documents/", library_pages.library_page, name="library"),
    path("memory/documents/add", library_actions.add_file, name="library_add"),
    path("memory/documents/<int:file_id>/", library_pages.file_page, name="library_file"),
    path("memory/documents/<int:file_id>/remove", library_actions.remove_file, name="library_remove"),
    path("memory/documents/<int:file_id>/versions/<int:number>", library_pages.download, name="library_version"),
    path("memory/switches", switches.switches_page, name="memory_switches"),
    path("memory/looks", looks.looks_page, name="memory_looks"),
    path("memory/skills/", skill_pages.skill_list, name="memory_skills"),
    path("memory/skills/new", skill_changes.new_skill, name="memory_new_skill"),
    path("memory/skills/import", skill_imports.import_skills, name="memory_import_skills"),
    path("memory/skills/<str:source>/<str:folder>/", skill_pages.skill_page, name="memory_skill"),
    path("memory/skills/<str:source>/<str:folder>/edit", skill_changes.edit_skill, name="memory_edit_skill"),
    path("memory/skills/<str:source>/<str:folder>/delete", skill_changes.delete_skill, name="memory_delete_skill"),
    path("memory/skills/<str:source>/<str:folder>/approve", skill_changes.approve_skill, name="memory_approve_skill"),
    path("memory/skills/<str:source>/<str:folder>/off", skill_changes.switch_off_skill, name="memory_skill_off"),
    path("spaces/<int:space_id>/memory", space_pages.space_memory, name="space_memory"),
    path("spaces/<int:space_id>/memory.zip", space_pages.space_memory_zip, name="space_memory_zip"),
    path("spaces/<int:space_id>/instructions", space_pages.space_instructions, name="space_instructions"),
    path("memory/<int:document_id>/viewers", space_pages.document_viewers, name="memory_document_viewers"),
    path("memory/instructions", instructions.instructions, name="memory_instructions"),
    path("memory/export.zip", documents.export, name="memory_export"),
    path("memory/import", imports.import_zip, name="memory_import"),
    path("memory/import/confirm", imports.confirm_import, name="memory_import_confirm"),
    path("memory/<int:document_id>/", documents.document, name="memory_document"),
    path("memory/<int:document_id>/edit", changes.edit, name="memory_edit"),
    path("memory/<int:document_id>/restore", changes.restore, name="memory_restore"),
    path("memory/<int:document_id>/delete-line", changes.delete_line, name="memory_delete_line"),
    path("memory/<int:document_id>/entries/<int:line>", entries.change_entry, name="memory_entry"),
    path("memory/<int:document_id>/entries/<int:line>/row", entries.entry_row, name="memory_entry_row"),
    path("memory/<int:document_id>/entries/<int:line>/confirm", entries.confirm_entry, name="memory_entry_confirm"),
    path("memory/<int:document_id>/entries/<int:line>/propose", entries.propose_entry, name="memory_entry_propose"),
    path("memory/<int:document_id>/entries/<int:line>/forget", entries.forget_entry, name="memory_entry_forget"),
    path("memory/<int:document_id>/versions/<int:number>", past.version_page, name="memory_version"),
    path("memory/<int:document_id>/put-back", past.put_back, name="memory_put_back"),
    path("memory/<int:document_id>/gone", changes.file_missing, name="memory_gone"),
    path("memory/inbox/", inbox.inbox, name="memory_inbox"),
    path("memory/propose", proposals.propose, name="memory_propose"),
    path("memory/proposals/<int:proposal_id>", proposals.answer, name="memory_proposal"),
    path("memory/suggestions/<int:suggestion_id>", inbox.answer_suggestion, name="memory_suggestion"),
    path("memory/decisions/<int:decision_id>/take-out", decisions.take_out_secret, name="memory_take_out"),
    path("memory/reviews/<int:review_id>", inbox.answer_review, name="memory_review"),
    path("memory/decisions/<int:decision_id>", decisions.decide, name="memory_decide"),
    path("memory/undo/<int:revision_id>", changes.undo_change, name="memory_undo"),
    path("memory/walk/<uuid:session_id>", card.walk_page, name="memory_walk"),
    path("memory/walk/<uuid:session_id>/close", card.close_walk, name="memory_walk_close"),
    path("memory/forget", forgetting.forget, name="memory_forget"),
    path("memory/forget/<int:forgetting_id>", forgetting.receipt, name="memory_forgotten"),
    path("memory/forget/<int:forgetting_id>/receipt.json", forgetting.receipt_file, name="memory_receipt"),
]
