"""Settings of the model's server, and of the models that people may choose."""

from oneclaw.config import environment
from oneclaw.config.upstreams import read_upstreams

ANTHROPIC_API_KEY = environment.text("ANTHROPIC_API_KEY")
# Any server that speaks the Messages API.
ANTHROPIC_BASE_URL = environment.address("ANTHROPIC_BASE_URL", ["http", "https"])
# `manage.py serve` sets this to its own demo model's address when there is neither a key nor a base URL.
DEMO_URL = environment.address("ONECLAW_DEMO_URL", ["http"])
# Whether `manage.py serve` must run the demo model itself.
NEEDS_DEMO = not (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL or DEMO_URL)
MODEL = environment.text("ONECLAW_MODEL", "claude-sonnet-5-5")
# The models that people may choose, each with its label. MODEL, which is the default, is always among them.
MODELS = environment.labelled("ONECLAW_MODELS")
# Further servers that speak the Messages API, in the order in which they are asked.
UPSTREAMS = read_upstreams(environment.text("ONECLAW_UPSTREAMS"))
# The model of titles and summaries.
FAST_MODEL = environment.text("ONECLAW_FAST_MODEL", "claude-haiku-5-5")
# Timeouts in seconds: to connect, without data in a text (ten times that while a model thinks), and of a whole turn.
CONNECT_TIMEOUT = environment.number("ONECLAW_CONNECT_TIMEOUT", 5, 0.1, 60)
SILENCE_TIMEOUT = environment.number("ONECLAW_SILENCE_TIMEOUT", 30, 0.1, 600)
TURN_TIMEOUT = environment.number("ONECLAW_TURN_TIMEOUT", 600, 1, 7200)
# Rounds of tool calls of a turn, after which it must answer.
TOOL_ROUNDS = environment.whole("ONECLAW_TOOL_ROUNDS", 8, 1, 50)
