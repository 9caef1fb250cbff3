"""Limits that the settings share with modules that settings cannot import."""

# The least and the most of limits that owners also change on a page (oneclaw/runtime_settings/limits.py).
AT_ONCE_BOUNDS = 1, 1000
STREAMS_BOUNDS = 1, 900
PER_MINUTE_BOUNDS = 0, 1_000_000

# How long an email address is blocked at one address of the network after five wrong passwords.
SIGN_IN_WAIT_MINUTES = 5
