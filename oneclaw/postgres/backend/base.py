"""Django's PostgreSQL backend, with pooled connections that are looked at without a statement, and with the embedded
server, which the first connection starts if necessary."""

import select
import time
from pathlib import Path
from typing import Any, ClassVar

from django.db.backends.postgresql import base

from oneclaw.postgres import embedded

# How often a process makes sure that the embedded server and its guardian run.
EMBEDDED_CHECK_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """The backend. The data folder of the embedded server is in OPTIONS["home"]; without one, the server is another."""

    # When this process made sure that the server of a data folder runs, by time.monotonic().
    _checked_at: ClassVar[dict[str, float]] = {}

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters of a connection; the embedded server is started if necessary."""
        self._ensure_server()
        params = super().get_connection_params()
        params.pop("home", None)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a new or a pooled connection that the server has not ended."""
        while True:
            connection = super().get_new_connection(conn_params)
            if self.pool is None or not has_input(connection):
                return connection
            # The pool replaces a closed connection.
            connection.close()
            self.pool.putconn(connection)
            self._ensure_server(every=0)

    def _ensure_server(self, every: float = EMBEDDED_CHECK_SECONDS) -> None:
        """Make sure that an embedded server and its guardian run, which may have been killed, unless this process has
        done so less than `every` seconds ago."""
        home = self.settings_dict["OPTIONS"].get("home")
        if home is None:
            return
        checked_at = self._checked_at.get(home)
        if checked_at is None or time.monotonic() - checked_at >= every or not self.settings_dict["HOST"]:
            server = embedded.ensure(Path(home)).params()
            self.settings_dict.update(HOST=server["host"], PORT=server["port"], USER=server["user"])
            self._checked_at[home] = time.monotonic()


def has_input(connection: Any) -> bool:
    """Return whether the server has sent something to an idle connection: that it has ended it, or a notice."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
