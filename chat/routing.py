"""The socket's address."""

from django.urls import path

from chat.consumers import ChatConsumer

websocket_urlpatterns = [path("ws/", ChatConsumer.as_asgi())]
