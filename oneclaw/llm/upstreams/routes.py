"""Choose the servers that may answer for a model.

The first server is the one of ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL; servers.py has further ones. A model's home is
the first server, unless only another one has it. Another server that has the model too, or one that answers in its
place, is asked when the home is overloaded, limits the rate, or cannot be reached.
"""

from dataclasses import dataclass

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams.servers import upstreams


@dataclass(frozen=True)
class Route:
    """A model on a server; `upstream` None: the first server."""

    model: str
    upstream: Upstream | None = None

    @property
    def name(self) -> str:
        """Return the name of the server; "" for the first one."""
        return self.upstream.name if self.upstream else ""

    @property
    def memory_stays_home(self) -> bool:
        """Return whether the server is sent nothing of anybody's memory."""
        return self.upstream is not None and self.upstream.memory_stays_home


def routes_of(model: str) -> list[Route]:
    """Return where `model` is asked for, in this order: its home, then those that may answer in its place."""
    found = upstreams()
    others = [Route(model, each) for each in found if model in each.models]
    substitutes = [Route(each.substitutes[model], each) for each in found if model in each.substitutes]
    first = [Route(model)] if not others or _is_of_first_server(model) else []
    return [*first, *others, *substitutes]


def home_of(model: str) -> Route:
    """Return where `model` is asked for first."""
    return routes_of(model)[0]


def answers_without_memory(model: str) -> bool:
    """Return whether the home of `model` is sent nothing of anybody's memory."""
    return home_of(model).memory_stays_home


def _is_of_first_server(model: str) -> bool:
    return model in (settings.MODEL, settings.FAST_MODEL) or model in settings.MODELS
