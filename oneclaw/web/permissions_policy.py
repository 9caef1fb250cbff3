"""Switch off, by the header Permissions-Policy, the powers of a browser that no page of the product uses."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Passkeys and the clipboard stay as they are: this site alone.
SWITCHED_OFF = (
    "accelerometer",
    "browsing-topics",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
)
POLICY = ", ".join(f"{name}=()" for name in SWITCHED_OFF)


def permissions_policy_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Return a middleware that sends the header with every response."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Permissions-Policy", POLICY)
        return response

    return respond
