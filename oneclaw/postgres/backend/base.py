"""Django's PostgreSQL backend, with the embedded server started or joined on the first connection."""

from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base

from oneclaw.postgres import embedded


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        server = self._embedded().params()
        self.settings_dict.update(HOST=server["host"], PORT=server["port"], USER=server["user"])
        params = super().get_connection_params()
        params.pop("home", None)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._embedded()  # its guardian may have been killed since the last connection
        return super().get_new_connection(conn_params)

    def _embedded(self) -> embedded.EmbeddedPostgres:
        return embedded.ensure(Path(self.settings_dict["OPTIONS"]["home"]))
