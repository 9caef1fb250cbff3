"""What can go wrong with an embedding server."""

from oneclaw.reasons import Reason


class EmbeddingError(Exception):
    """The embedding server gave no vectors; search goes on by words."""

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
        # What people are told of it.
        self.reason = reason
        # Whether it may help to try again, and after how many seconds the server said.
        self.passing, self.retry_after = passing, retry_after
        # Whether the server takes no offence at anything but these texts.
        self.refused = refused
        # Whether these texts may be what broke the server, which is there.
        self.broke = broke
