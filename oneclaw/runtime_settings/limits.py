"""The limits that owners change on a page: how much one person, or everybody, may do at once or in a minute."""

import re
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from oneclaw.config.limits import AT_ONCE_BOUNDS, PER_MINUTE_BOUNDS, STREAMS_BOUNDS
from oneclaw.runtime_settings.declared import Declared
from oneclaw.text import StrOrPromise, UserFacingError

# More digits than any bound has.
DIGITS = re.compile(r"[0-9]{1,9}")


class NotALimitError(UserFacingError):
    """The text is not a whole number within the bounds of the limit."""

    wording = _("Write a whole number from %(least)s to %(most)s, or nothing for the default.")


@dataclass(frozen=True)
class Limit(Declared):
    """A whole number within `bounds`, both included, of things that `unit` names. Without a row, or with an empty one,
    it has its default."""

    unit: StrOrPromise = ""
    bounds: tuple[int, int] = AT_ONCE_BOUNDS
    is_of_everybody: bool = False

    @property
    def least(self) -> int:
        return self.bounds[0]

    @property
    def most(self) -> int:
        return self.bounds[1]

    @property
    def default_number(self) -> int:
        return int(self.default)

    def number_of(self, stored: str) -> int:
        """Return the limit of which a row has the text `stored`. What is no number within the bounds, such as the value
        of another release, is the default."""
        return int(stored) if self._is_valid(stored) else self.default_number

    def checked(self, text: str) -> str:
        """Return `text` as it is stored: "" for the default. Raise NotALimitError."""
        text = text.strip()
        if text and not self._is_valid(text):
            raise NotALimitError(least=self.least, most=self.most)
        return "" if not text or int(text) == self.default_number else str(int(text))

    def recorded(self, before: str, now: str) -> dict[str, Any]:
        """Return what the audit log says of a change."""
        return {"before": self.number_of(before), "now": self.number_of(now)}

    def _is_valid(self, text: str) -> bool:
        return bool(DIGITS.fullmatch(text)) and self.least <= int(text) <= self.most


LIMITS = {
    each.name: each
    for each in (
        Limit(
            "person_turns",
            _("Answers at once"),
            _("Further ones wait for these to end, and five times as many may wait."),
            variables=("ONECLAW_PERSON_TURNS",),
            default_from="PERSON_TURNS",
            unit=_("answers"),
        ),
        Limit(
            "messages_per_minute",
            _("Messages in a minute"),
            _("A question that is asked again counts, too."),
            variables=("ONECLAW_MESSAGES_PER_MINUTE",),
            default_from="MESSAGES_PER_MINUTE",
            unit=_("messages per minute"),
            bounds=PER_MINUTE_BOUNDS,
        ),
        Limit(
            "person_searches",
            _("Searches at once"),
            _("Each takes a connection to the database. Further ones are refused."),
            variables=("ONECLAW_PERSON_SEARCHES",),
            default_from="PERSON_SEARCHES",
            unit=_("searches"),
        ),
        Limit(
            "searches_per_minute",
            _("Searches in a minute"),
            _("On the pages and over the API together."),
            variables=("ONECLAW_SEARCHES_PER_MINUTE",),
            default_from="SEARCHES_PER_MINUTE",
            unit=_("searches per minute"),
            bounds=PER_MINUTE_BOUNDS,
        ),
        Limit(
            "uploads_per_minute",
            _("Files uploaded in a minute"),
            _("Files that are attached to messages."),
            variables=("ONECLAW_UPLOADS_PER_MINUTE",),
            default_from="UPLOADS_PER_MINUTE",
            unit=_("files per minute"),
            bounds=PER_MINUTE_BOUNDS,
        ),
        Limit(
            "api_requests_per_minute",
            _("Requests to the API in a minute"),
            _("All API keys of a person together."),
            variables=("ONECLAW_API_REQUESTS_PER_MINUTE",),
            default_from="API_REQUESTS_PER_MINUTE",
            unit=_("requests per minute"),
            bounds=PER_MINUTE_BOUNDS,
        ),
        Limit(
            "person_requests",
            _("Requests at once"),
            _("Of one sign-in or API key. Up to 60 more wait for 10 seconds at most; others are refused."),
            variables=("ONECLAW_PERSON_REQUESTS",),
            default_from="PERSON_REQUESTS",
            unit=_("requests"),
        ),
        Limit(
            "upstream_streams",
            _("Answers of everybody at once"),
            _("Each has a connection to the model’s server. Further ones wait, and people take turns."),
            variables=("ONECLAW_UPSTREAM_STREAMS",),
            default_from="UPSTREAM_STREAMS",
            unit=_("answers"),
            bounds=STREAMS_BOUNDS,
            is_of_everybody=True,
        ),
    )
}
