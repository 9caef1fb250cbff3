"""Days in text: the day a document or a heading is about, and the days a question means."""

import datetime as dt
import re

ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")


def day_in(text: str) -> dt.date | None:
    """The first day written as YYYY-MM-DD in a path or heading, if there is one."""
    for year, month, day in ISO.findall(text):
        try:
            return dt.date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None
