"""Who may use which model: the rules that owners set on /team/models/, for models and for further servers.

    may_use(user_id, "llama-4")

What has no rule is for everybody, and so is ONECLAW_MODEL, which answers in place of what a person may not use. Each
process reads the rules and a person's groups at most once in KNOWN_SECONDS, so that all have a change within seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings

from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams import servers
from oneclaw.llm.upstreams.routes import Route, home_of
from oneclaw.models import GroupMember, ModelRule
from oneclaw.timed_read import TimedRead

# How long a process believes what it has read.
KNOWN_SECONDS = 3.0


@dataclass(frozen=True)
class Rules:
    """What was read: the groups of each rule by (server, model), and the groups of people."""

    # The servers of rows that were known when the rules were read: a new one comes together with its rule.
    servers: tuple[Upstream, ...] = ()
    groups: Mapping[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    of_people: dict[int, frozenset[int]] = field(default_factory=dict)


def _read() -> Rules:
    known = servers.of_rows.last
    found: dict[tuple[str, str], frozenset[int]] = {}
    for server, model, group in ModelRule.objects.values_list("server", "model", "groups"):
        found[server, model] = found.get((server, model), frozenset()) | ({group} if group else frozenset())
    return Rules(known, found)


known_rules = TimedRead(_read, KNOWN_SECONDS, Rules())


def may_use(user_id: int | None, model: str) -> bool:
    """Return whether the person may use `model` at its home; None: work for a space, which is in no group. Sync."""
    return _may_use_on(user_id, home_of(model))


def permitted(routes: Sequence[Route], user_id: int | None) -> list[Route]:
    """Return those of `routes` that the person may use. Sync."""
    return [route for route in routes if _may_use_on(user_id, route)]


def _may_use_on(user_id: int | None, route: Route) -> bool:
    if route.upstream is None and route.model == settings.MODEL:
        return True
    if known_rules.last.servers != servers.of_rows.last:
        known_rules.forget()
    rules = known_rules.value()
    needed = [rules.groups[key] for key in (("", route.model), (route.name, "")) if key in rules.groups]
    if not needed:
        return True
    own = _groups_of(user_id, rules)
    return all(own & groups for groups in needed)


def _groups_of(user_id: int | None, rules: Rules) -> frozenset[int]:
    if user_id is None:
        return frozenset()
    if user_id not in rules.of_people:
        groups = GroupMember.objects.filter(user=user_id).values_list("group_id", flat=True)
        rules.of_people[user_id] = frozenset(groups)
    return rules.of_people[user_id]
