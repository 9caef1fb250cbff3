"""URLs of leaving: deleting the own account, and taking everything along."""

from django.urls import path

from oneclaw.leaving import views

urlpatterns = [
    path("settings/delete/", views.delete_account, name="delete_account"),
]
