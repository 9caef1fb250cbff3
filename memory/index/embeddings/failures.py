"""Define the error of an embedding server."""

from oneclaw.reasons import Reason


class EmbeddingError(Exception):
    """The embedding server returned no vectors; search continues by words."""

    def __init__(
        self,
        reason: Reason,
        *,
        passing: bool = False,
        retry_after: float | None = None,
        refused: bool = False,
        broke: bool = False,
    ):
        super().__init__(reason.in_english)
        # The reason that people are shown.
        self.reason = reason
        # Whether a retry may help, and the seconds to wait that the server asked for.
        self.passing, self.retry_after = passing, retry_after
        # Whether the server rejected these texts and not the request as such.
        self.refused = refused
        # Whether the server was reached but failed, perhaps because of these texts.
        self.broke = broke
