"""Django's PostgreSQL backend, with the embedded server started or joined on the first connection."""

from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base

from oneclaw import embedded


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        server = embedded.ensure(Path(self.settings_dict["OPTIONS"]["home"])).parameters()
        self.settings_dict.update(HOST=server["host"], PORT=server["port"], USER=server["user"])
        params = super().get_connection_params()
        params.pop("home", None)
        return params
