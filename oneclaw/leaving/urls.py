"""URLs of leaving: deleting the own account, and taking everything along."""

from django.urls import path

from oneclaw.leaving import views

urlpatterns = [
    path("settings/archive.zip", views.send_archive, name="send_archive"),
    path("settings/import/", views.import_account, name="import_account"),
    path("settings/delete/", views.delete_account, name="delete_account"),
]
