"""What can go wrong with an embedding server."""


class EmbeddingError(Exception):
    """The embedding server gave no vectors. The message is one sentence; search goes on by words."""

    def __init__(
        self,
        sentence: str,
        *,
        passing: bool = False,
        retry_after: float | None = None,
        refused: bool = False,
        broke: bool = False,
    ):
        super().__init__(sentence)
        # Whether it may help to try again, and after how many seconds the server said.
        self.passing, self.retry_after = passing, retry_after
        # Whether the server takes no offence at anything but these texts.
        self.refused = refused
        # Whether these texts may be what broke the server, which is there.
        self.broke = broke
