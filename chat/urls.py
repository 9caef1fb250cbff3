"""Addresses of the chat."""

from django.urls import path

from chat import (
    agent_views,
    attachment_views,
    exporting_views,
    importing_views,
    organising_views,
    posted,
    saved_prompt_views,
    searching_views,
    sharing_views,
    views,
)

urlpatterns = [
    # Browsers ask for it whatever the pages say.
    path("favicon.ico", views.icon),
    path("", views.new_chat, name="chat"),
    path("search", searching_views.search, name="search"),
    path("sessions", views.session_list, name="sessions"),
    path("c/<uuid:session_id>", views.conversation, name="conversation"),
    path("c/<uuid:session_id>/messages", views.messages_after, name="messages_after"),
    path("c/<uuid:session_id>/frame", posted.post_frame, name="post_frame"),
    path("c/<uuid:session_id>/send", views.send, name="send"),
    path("c/<uuid:session_id>/files", attachment_views.attach, name="attach"),
    path("files/<uuid:attachment_id>", attachment_views.serve, name="attachment"),
    path("files/<uuid:attachment_id>/remove", attachment_views.remove, name="remove_attachment"),
    path("c/<uuid:session_id>/stop", views.stop, name="stop"),
    path("c/<uuid:session_id>/end", views.end, name="end"),
    path("c/<uuid:session_id>/rename", views.rename, name="rename"),
    path("c/<uuid:session_id>/menu", organising_views.menu, name="session_menu"),
    path("c/<uuid:session_id>/export.md", exporting_views.export, {"kind": "md"}, name="export_markdown"),
    path("c/<uuid:session_id>/export.json", exporting_views.export, {"kind": "json"}, name="export_json"),
    path("c/<uuid:session_id>/share", sharing_views.share, name="share"),
    path("c/<uuid:session_id>/unshare", sharing_views.unshare, name="unshare"),
    path("c/<uuid:session_id>/read", organising_views.read, name="read"),
    path("commands", saved_prompt_views.command_list, name="commands"),
    path("prompts/", saved_prompt_views.prompt_list, name="prompts"),
    path("prompts/<int:prompt_id>", saved_prompt_views.edit_prompt, name="edit_prompt"),
    path("prompts/<int:prompt_id>/delete", saved_prompt_views.delete_prompt, name="delete_prompt"),
    path("agents/", agent_views.agent_list, name="agents"),
    path("agents/new", agent_views.new_agent, name="new_agent"),
    path("agents/<slug:slug>", agent_views.edit_agent, name="edit_agent"),
    path("agents/<slug:slug>/delete", agent_views.delete_agent, name="delete_agent"),
    path("conversations", organising_views.all_conversations, name="conversations"),
    path("conversations/organise", organising_views.organise, name="organise"),
    path("conversations/export.zip", exporting_views.export_many, name="export_many"),
    path("import", importing_views.import_page, name="import"),
    path("import/<uuid:job_id>", importing_views.import_progress, name="import_progress"),
    path("shared", sharing_views.shared_links, name="shared_links"),
    path("shared/<int:link_id>/revoke", sharing_views.revoke, name="revoke"),
    # For everybody who has it.
    path("s/<str:token>", sharing_views.shared, name="shared"),
    path("folders/<int:folder_id>/rename", organising_views.rename_folder, name="rename_folder"),
    path("folders/<int:folder_id>/delete", organising_views.delete_folder, name="delete_folder"),
]
