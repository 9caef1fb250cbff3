"""Django's PostgreSQL backend for the embedded server, which the first connection starts if necessary."""

from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base

from oneclaw.postgres import embedded


class DatabaseWrapper(base.DatabaseWrapper):
    """The backend, with the data folder in OPTIONS["home"]."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters of a connection to the embedded server, which is started if necessary."""
        server = self._embedded().params()
        self.settings_dict.update(HOST=server["host"], PORT=server["port"], USER=server["user"])
        params = super().get_connection_params()
        params.pop("home", None)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a new connection after making sure that the server and its guardian run."""
        self._embedded()  # the guardian may have been killed since the last connection
        return super().get_new_connection(conn_params)

    def _embedded(self) -> embedded.EmbeddedPostgres:
        return embedded.ensure(Path(self.settings_dict["OPTIONS"]["home"]))
