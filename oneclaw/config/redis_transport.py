"""Celery's transport through Redis: what uses a closed channel fails as a lost connection does.

kombu raises AttributeError there, which ended a worker whose Redis was killed during a task: it restores what was not
acknowledged while the connection closes. Such messages stay in Redis, and are delivered again after the visibility
timeout.
"""

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError as RedisConnectionError


class RedisChannel(redis.Channel):
    """A channel that knows when it has no connection any more."""

    def _connparams(self, asynchronous: bool = False) -> Any:
        """Return the parameters of a connection to Redis. Raise RedisConnectionError when the channel is closed."""
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The channel is closed.")
        return super()._connparams(asynchronous=asynchronous)


class RedisTransport(redis.Transport):
    """The transport with that channel."""

    Channel = RedisChannel
