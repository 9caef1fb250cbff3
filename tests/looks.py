"""Find what a person sees wrong in a page as it is drawn: text that is cut, lies over other text or has no size, a page
that scrolls sideways, a target too small for a finger (looks.js)."""

from pathlib import Path

from playwright.async_api import Page

LOOKS = Path(__file__).with_name("looks.js").read_text()
# What two lines of text may share, as the tails of letters do.
SHARED_MAX_PX = 3
# The smallest target for a finger (WCAG 2.5.5).
FINGER_PX = 44


async def seen_faults(page: Page) -> list[str]:
    """Return what is seen wrong in `page`, one sentence each."""
    found: list[str] = await page.evaluate(LOOKS, [SHARED_MAX_PX, FINGER_PX])
    return found
