"""What a web process takes over from those that have died: relayed messages, and what waits in shared conversations."""

from chat.live import publisher
from chat.session_tools import relay


def begin() -> None:
    """Take over, from now on, what the sweeps of this installation offer (chat/tasks.py)."""
    relay.deliver_left()
    publisher.answer_left()
