"""The prices of Anthropic's own server, of October 2026, in the form of ONECLAW_PRICES."""

KNOWN_PRICES = (
    "claude-sonnet-5-5=2/10/0.1/2.5 claude-haiku-5-5=0.1/0.5 claude-haiku-5-5>100000=0.5/2.5 claude-opus-5-5=4/20/0.2/5"
)
