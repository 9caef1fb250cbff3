"""Settings of requests to the model: effort, the size of a conversation, summaries, and the provider's cache."""

from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import environment

# Tokens of the model's window that a conversation may use; 0: all.
CONTEXT = environment.whole("ONECLAW_CONTEXT", 200_000, 0, 10_000_000)
# The windows of models, in tokens, for servers that do not say them.
WINDOWS = environment.sizes("ONECLAW_WINDOWS")
# Whether a conversation that nears that size is summarised; off: only when it is full, or its owner asks.
COMPACTION = environment.choice("ONECLAW_COMPACTION", ["on", "off"], "on") == "on"
# Tokens of the window that are left free for an answer.
COMPACTION_RESERVE = environment.whole("ONECLAW_COMPACTION_RESERVE", 20_000, 0, 1_000_000)
# Messages since the last summary after which a conversation is summarised, too; 0: as many as the window holds.
COMPACTION_MESSAGES = environment.whole("ONECLAW_COMPACTION_MESSAGES", 400, 0, 100_000)
# Who writes the summary: "auto" is the model's server if it can, else the fast model; "model" the fast model; or the
# name of a model.
COMPACTION_BY = environment.text("ONECLAW_COMPACTION_BY", "auto")
# Tokens of the newest messages that are sent word for word with a summary.
KEEP_TOKENS = environment.whole("ONECLAW_KEEP_TOKENS", 20_000, 0, 1_000_000)
# Whether old results of tools are shortened while the provider's cache has expired.
PRUNING = environment.choice("ONECLAW_PRUNING", ["cache-ttl", "off"], "cache-ttl") == "cache-ttl"
# Whether results of tools above 4,000 characters are shortened when they are sent first.
COMPACT_RESULTS = environment.choice("ONECLAW_COMPACT_RESULTS", ["yes", "no"], "yes") == "yes"
# Seconds after which another worker takes over a summary whose worker died.
ROUND_LEASE_SECONDS = environment.number("ONECLAW_ROUND_LEASE_SECONDS", 60, 1, 3600)
# The lifetime of the provider's cache of a conversation; "5m" becomes an hour for a person who pauses.
CACHE = environment.choice("ONECLAW_CACHE", ["off", "5m", "1h"], "5m")
# The most tokens of one answer, with its thinking; 0: what the model allows.
MAX_OUTPUT_TOKENS = environment.whole("ONECLAW_MAX_OUTPUT_TOKENS", 0, 0, 128_000)
# How much the model thinks and writes: low, medium, high, xhigh or max; default: as much as its maker says.
EFFORT = environment.choice("ONECLAW_EFFORT", ["default", "low", "medium", "high", "xhigh", "max"], "medium")
# Tokens of thinking before an answer, for models before Claude 4.6, which have no other way to think; 0: none.
THINKING = environment.whole("ONECLAW_THINKING", 0, 0, 100_000)
if THINKING and not 1024 <= THINKING < (MAX_OUTPUT_TOKENS or THINKING + 1):
    raise ImproperlyConfigured(
        f"ONECLAW_THINKING is {THINKING}; it must be 0, or at least 1024 and less than ONECLAW_MAX_OUTPUT_TOKENS."
    )
# US dollars per million tokens, by the start of a model's name; a model without prices shows no cost.
PRICES = environment.prices("ONECLAW_PRICES")
# Whether the fast model gives a conversation a title after its first answer.
TITLES = environment.flag("ONECLAW_TITLES", True)
