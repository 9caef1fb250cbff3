"""The URL of the WebSocket."""

from django.urls import path

from chat.live.consumer import ChatConsumer

websocket_urlpatterns = [path("ws/", ChatConsumer.as_asgi())]
