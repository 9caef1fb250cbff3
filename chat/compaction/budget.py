"""The token budget of a conversation: when a summary is made, and how large its parts may be. Pure."""

from dataclasses import dataclass

# A part of the window at most; smaller windows get smaller parts.
RESERVE_MAX_SHARE = 4
SOFT_MAX_TOKENS, SOFT_MAX_SHARE = 4_000, 16
KEEP_MAX_SHARE = 4
SUMMARY_MAX_TOKENS, SUMMARY_MAX_SHARE = 4_000, 16
QUOTED_MAX_TOKENS, QUOTED_MAX_SHARE = 4_000, 16
# A summary is made in the background from this share of the tokens at which it is due.
EARLY_SHARE = 0.7
# After a round, a request takes at most this share of what it may take.
TARGET_SHARE = 0.5
# An automatic round must free this share of the window.
GAIN_SHARE = 0.2


@dataclass(frozen=True)
class WindowBudget:
    """The sizes that follow from a window, in tokens.

    `reserve` stays free for the answer; `keep` are the newest turns kept with a summary. The formulas are those of
    OpenClaw's memory flush: due when tokens >= window - reserve - soft.
    """

    window: int
    reserve: int
    keep: int

    @property
    def usable(self) -> int:
        """Return the most tokens of a request; from here on a round must be used."""
        return self.window - self.reserve

    @property
    def due(self) -> int:
        """Return the tokens from which a round is due."""
        return self.usable - min(SOFT_MAX_TOKENS, self.window // SOFT_MAX_SHARE)

    @property
    def early(self) -> int:
        """Return the tokens from which a summary is made in the background, before it is needed."""
        return round(EARLY_SHARE * self.due)

    @property
    def target(self) -> int:
        """Return the most tokens of a request after a round."""
        return round(TARGET_SHARE * self.usable)

    @property
    def gain(self) -> int:
        """Return the least tokens that an automatic round frees."""
        return round(GAIN_SHARE * self.window)

    @property
    def summary(self) -> int:
        """Return the most tokens of a summary."""
        return min(SUMMARY_MAX_TOKENS, self.window // SUMMARY_MAX_SHARE)

    @property
    def quoted(self) -> int:
        """Return the most tokens of messages that are quoted word for word with a summary."""
        return min(QUOTED_MAX_TOKENS, self.window // QUOTED_MAX_SHARE)


def budget_of(window: int, reserve: int, keep: int) -> WindowBudget:
    """Return the budget of a window; `reserve` and `keep` are the settings, which a small window makes smaller."""
    return WindowBudget(window, min(reserve, window // RESERVE_MAX_SHARE), min(keep, window // KEEP_MAX_SHARE))
