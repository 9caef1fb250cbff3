"""The URLs of the chat."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from chat.views import agents, attachments, exports, frames, imports, lists, messages, pages, prompts, search, sharing

urlpatterns = [
    # Browsers request it even when no page names it.
    path("favicon.ico", login_not_required(pages.icon)),
    path("", pages.new_chat, name="chat"),
    path("search", search.search, name="search"),
    path("sessions", pages.session_list, name="sessions"),
    path("sessions/older", pages.older_sessions, name="older_sessions"),
    path("c/<uuid:session_id>", pages.conversation, name="conversation"),
    path("c/<uuid:session_id>/messages", pages.messages_after, name="messages_after"),
    path("c/<uuid:session_id>/frame", frames.post_frame, name="post_frame"),
    path("c/<uuid:session_id>/send", pages.send, name="send"),
    path("c/<uuid:session_id>/files", attachments.attach, name="attach"),
    path("files/<uuid:attachment_id>", attachments.serve, name="attachment"),
    path("files/<uuid:attachment_id>/remove", attachments.remove, name="remove_attachment"),
    path("c/<uuid:session_id>/stop", pages.stop, name="stop"),
    path("c/<uuid:session_id>/end", pages.end, name="end"),
    path("c/<uuid:session_id>/rename", pages.rename, name="rename"),
    path("c/<uuid:session_id>/menu", lists.menu, name="session_menu"),
    path("c/<uuid:session_id>/export.md", exports.export, {"kind": "md"}, name="export_markdown"),
    path("c/<uuid:session_id>/export.json", exports.export, {"kind": "json"}, name="export_json"),
    path("c/<uuid:session_id>/share", sharing.share, name="share"),
    path("c/<uuid:session_id>/unshare", sharing.unshare, name="unshare"),
    path("c/<uuid:session_id>/read", lists.read, name="read"),
    path("commands", prompts.command_list, name="commands"),
    path("prompts/", prompts.prompt_list, name="prompts"),
    path("prompts/<int:prompt_id>", prompts.edit_prompt, name="edit_prompt"),
    path("prompts/<int:prompt_id>/delete", prompts.delete_prompt, name="delete_prompt"),
    path("agents/", agents.agent_list, name="agents"),
    path("agents/new", agents.new_agent, name="new_agent"),
    path("agents/<slug:slug>", agents.edit_agent, name="edit_agent"),
    path("agents/<slug:slug>/delete", agents.delete_agent, name="delete_agent"),
    path("messages/<int:message_id>/details", messages.details, name="message_details"),
    path("messages/<int:message_id>/raw", messages.raw, name="message_raw"),
    path("messages/<int:message_id>/edit", messages.edit, name="message_edit"),
    path("messages/<int:message_id>/show", messages.show, name="message_show"),
    path("messages/<int:message_id>/retry", messages.again, {"kind": "retry"}, name="message_retry"),
    path("messages/<int:message_id>/continue", messages.again, {"kind": "continue"}, name="message_continue"),
    path("messages/<int:message_id>/fork", messages.fork, name="message_fork"),
    path("conversations", lists.all_conversations, name="conversations"),
    path("conversations/organise", lists.organise, name="organise"),
    path("conversations/export.zip", exports.export_many, name="export_many"),
    path("import", imports.import_page, name="import"),
    path("import/<uuid:job_id>", imports.import_progress, name="import_progress"),
    path("shared", sharing.shared_links, name="shared_links"),
    path("shared/<int:link_id>/revoke", sharing.revoke, name="revoke"),
    # Public: needs no sign-in.
    path("s/<str:token>", sharing.shared, name="shared"),
    path("folders/<int:folder_id>/rename", lists.rename_folder, name="rename_folder"),
    path("folders/<int:folder_id>/delete", lists.delete_folder, name="delete_folder"),
]
