"""Settings of what memory must not keep unasked."""

from oneclaw.config import environment

# What is done with a kind of secret or personal number in a text for memory: it is masked; masked, and the person is
# asked whether it was meant to be kept; or allowed.
SCREEN = environment.choices(
    "ONECLAW_SCREEN",
    ["mask", "ask", "allow"],
    {
        "private-key": "ask",
        "key": "ask",
        "token": "ask",
        "password": "ask",
        "card": "ask",
        "iban": "ask",
        "identity": "ask",
        # People have telephone numbers remembered.
        "phone": "allow",
    },
)
