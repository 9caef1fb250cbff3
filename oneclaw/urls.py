"""Every address. Each app brings its own."""

from django.apps import apps
from django.contrib import admin
from django.urls import include, path

from oneclaw import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", admin.site.urls),
    path("", include("oneclaw.people_urls")),
    path("", include("chat.urls")),
]
if apps.is_installed("memory"):
    urlpatterns.append(path("", include("memory.urls")))
