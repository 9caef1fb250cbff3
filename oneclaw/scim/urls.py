"""URLs of SCIM."""

from django.urls import path

from oneclaw.scim import views

urlpatterns = [
    path("ServiceProviderConfig", views.config),
    path("Schemas", views.schemas),
    path("ResourceTypes", views.resource_types),
    *(path(kind, views.resources, {"kind": kind}) for kind in views.KINDS),
    *(path(f"{kind}/<int:row_id>", views.resource, {"kind": kind}) for kind in views.KINDS),
]
