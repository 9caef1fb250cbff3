"""Addresses of memory."""

from django.urls import path

from memory import views

urlpatterns = [
    path("memory/", views.document_list, name="memory"),
    path("memory/<int:document_id>/", views.document, name="memory_document"),
]
