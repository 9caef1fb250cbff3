"""Settings of what the agent does by itself at times."""

from oneclaw.config import environment

# Whether the agent looks through HEARTBEAT.md again and again: disabled for all, with every other schedule, or the
# default that people can change, off or on.
HEARTBEAT = environment.choice("ONECLAW_HEARTBEAT", ["disabled", "off", "on"], "off")
# The default minutes from one heartbeat to the next, and the default hours in which they come.
HEARTBEAT_MINUTES = environment.whole("ONECLAW_HEARTBEAT_MINUTES", 30, 5, 1440)
HEARTBEAT_HOURS = environment.hours("ONECLAW_HEARTBEAT_HOURS", "8-22")
# The tokens of a day of one person, after which no model is asked by a schedule of theirs; 0: no limit.
HEARTBEAT_TOKENS = environment.whole("ONECLAW_HEARTBEAT_TOKENS", 100_000, 0, 1_000_000_000)
