"""Addresses of memory."""

from django.urls import path

from memory import change_views, decision_views, forget_views, import_views, switch_views, views

urlpatterns = [
    path("memory/", views.document_list, name="memory"),
    path("memory/switches", switch_views.switches_page, name="memory_switches"),
    path("memory/export.zip", views.export, name="memory_export"),
    path("memory/import", import_views.import_zip, name="memory_import"),
    path("memory/import/confirm", import_views.confirm_import, name="memory_import_confirm"),
    path("memory/<int:document_id>/", views.document, name="memory_document"),
    path("memory/<int:document_id>/edit", change_views.edit, name="memory_edit"),
    path("memory/<int:document_id>/restore", change_views.restore, name="memory_restore"),
    path("memory/<int:document_id>/delete-line", change_views.delete_line, name="memory_delete_line"),
    path("memory/<int:document_id>/gone", change_views.file_gone, name="memory_gone"),
    path("memory/decisions/<int:decision_id>", decision_views.decide, name="memory_decide"),
    path("memory/undo/<int:revision_id>", change_views.undo_change, name="memory_undo"),
    path("memory/forget", forget_views.forget, name="memory_forget"),
    path("memory/forget/<int:forgetting_id>", forget_views.receipt, name="memory_forgotten"),
    path("memory/forget/<int:forgetting_id>/receipt.json", forget_views.receipt_file, name="memory_receipt"),
]
