"""Define the error of an embedding server."""

from dataclasses import dataclass

from oneclaw.reasons import Reason


@dataclass(eq=False)
class EmbeddingError(Exception):
    """The embedding server returned no vectors; search continues by words."""

    # The reason that people are shown.
    reason: Reason
    # Whether a retry may help, and the seconds to wait that the server asked for.
    passing: bool = False
    retry_after: float | None = None
    # Whether the server rejected these texts and not the request as such.
    refused: bool = False
    # Whether the server was reached but failed, perhaps because of these texts.
    broke: bool = False

    def __str__(self) -> str:
        return self.reason.in_english

    @property
    def text_for_logs(self) -> str:
        """Return the code of the reason and the status, without the server's text, which may quote what was sent."""
        status = self.reason.params.get("status")
        return f"{self.reason.code} (status {status})" if status else self.reason.code
