"""Addresses of one-time links and the person's own settings."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
