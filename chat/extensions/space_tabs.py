"""The tabs of a space's pages: those of the chat, and those that apps add."""

from dataclasses import dataclass

from oneclaw.text import StrOrPromise


@dataclass(frozen=True)
class SpaceTab:
    """One tab of the pages of a space: a page of its own, whose URL takes the space's id."""

    # Tabs stand in this order: conversations are 100, members 900.
    order: int
    # Names the tab to the page that shows it.
    name: str
    label: StrOrPromise
    # The name of the URL pattern, which takes `space_id`.
    url_name: str
