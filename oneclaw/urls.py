"""All URL patterns: those of the platform, of each app, and of the API."""

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path

from oneclaw.ops import health, metrics
from oneclaw.web.api import api, no_such_address
from oneclaw.web.diagrams import diagrams

handler500 = "oneclaw.web.full_disk.failed"
urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics_page, name="metrics"),
    path("diagrams", diagrams),
    path("admin/", admin.site.urls),
    path("", include("oneclaw.people.urls")),
    path("", include("oneclaw.leaving.urls")),
    path("team/", include("oneclaw.team.urls")),
    path("scim/v2/", include("oneclaw.scim.urls")),
    path("", include("chat.urls")),
]
api.add_router("", "oneclaw.web.usage_api.router")
api.add_router("", "chat.api.routes.router")
api.add_router("", "chat.api.rounds.router")
api.add_router("", "chat.api.spaces.router")
api.add_router("", "chat.api.links.router")
api.add_router("", "chat.api.shared.router")
if apps.is_installed("memory"):
    urlpatterns.append(path("", include("memory.urls")))
    api.add_router("", "memory.api.routes.router")
    api.add_router("", "memory.api.library.router")
    api.add_router("", "memory.api.suggestions.router")
    api.add_router("", "memory.api.proposals.router")
    api.add_router("", "memory.api.skills.router")
api_urls = api.urls
for pattern in api_urls[0]:
    # Each request to the API is authenticated by its key.
    login_not_required(pattern.callback)  # type: ignore[type-var]  # optional in the stubs of Django
# Under the address of other programs' servers too.
urlpatterns += [path("api/sessions", each.callback) for each in api_urls[0] if str(each.pattern) == "sessions"]  # type: ignore[arg-type]  # optional in the stubs of Django
urlpatterns += [path("api/v1/", no_such_address), path("api/v1/", api_urls), re_path("^api/", no_such_address)]
