"""The floor of the pages: an empty Django view for people who are signed in, behind Django's own middleware.

    PORT=9000 python benchmarks/floor.py

On the product's settings, database and server, so that what a page costs above it is the page's.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

import django
import uvicorn
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

# As `startproject` has it.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]


@login_required
def nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("", nothing), path("sign-in", lambda request: HttpResponse())]

if __name__ == "__main__":
    django.setup()
    settings.MIDDLEWARE, settings.ROOT_URLCONF, settings.LOGIN_URL = MIDDLEWARE, "__main__", "/sign-in"
    uvicorn.run(get_asgi_application(), port=settings.PORT, log_level="error", access_log=False, server_header=False)
