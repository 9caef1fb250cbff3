"""The frames of a growing block: whole, or what follows the beginning that a page has already."""

from dataclasses import dataclass, field

from chat.live.server_frames import BlockFrame, encode

# What is appended is sent when it saves so many characters.
SAVED_MIN_CHARS = 64


@dataclass
class GrowingBlock:
    """A block of a running answer as it is at a revision; its frames are encoded once for all sockets."""

    message: str
    index: int
    revision: int
    html: str
    # The encoded frames by the revision that they continue; 0 for the whole.
    _encoded: dict[int, str] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> tuple[str, str, int]:
        """Return the key under which a newer one replaces it."""
        return "block", self.message, self.index

    def text_after(self, sent: "GrowingBlock | None") -> str:
        """Return the encoded frame for a page that shows the block as it is in `sent`; whole when that is None."""
        base = sent.revision if sent is not None else 0
        if base not in self._encoded:
            self._encoded[base] = encode(self._frame_after(sent))
        return self._encoded[base]

    def _frame_after(self, sent: "GrowingBlock | None") -> BlockFrame:
        frame: BlockFrame = {
            "type": "block",
            "message": self.message,
            "index": self.index,
            "revision": self.revision,
            "html": self.html,
        }
        if sent is None:
            return frame
        keep = common_start(sent.html, self.html)
        if keep < SAVED_MIN_CHARS:
            return frame
        kept = self.html[:keep]
        units = keep if kept.isascii() else len(kept.encode("utf-16-le", "surrogatepass")) // 2
        return {**frame, "base": sent.revision, "keep": units, "html": self.html[keep:]}


def common_start(before: str, after: str) -> int:
    """Return the length of the beginning that two texts have in common, which is nearly all of `before`."""
    low, high, step = 0, min(len(before), len(after)), 1
    # Strings compare much faster than characters in a loop.
    while low < high:
        middle = max(low + 1, high - step)
        step *= 4
        if before[low:middle] == after[low:middle]:
            low = middle
            break
        high = middle - 1
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
