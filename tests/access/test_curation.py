"""What staff read of the memory of others, in each mode of ONECLAW_CURATION and by every page, operation and row of the
administration: nothing while it is closed or asks for a reason, and otherwise nothing without a recorded look.

The ways are those of the code, and so are the rows of the administration. Frames, tools, commands and links tell staff
nothing in any mode, as the other tests of this folder say.
"""

from collections.abc import Callable, Iterator

from django.contrib import admin
from django.urls import get_resolver

from memory.policy import curation
from oneclaw.models import AuditEvent
from tests.access import table
from tests.access.addresses import Asking, operations, pages, patterns, text_of
from tests.access.cast import COMMON, Cast
from tests.access.roles import MAY, rules_of

# Words of documents, which staff may open; those of everything else they may not read at all.
OF_DOCUMENTS = {f"zq{kind}{name}" for kind in ("private", "shared") for name in ("line", "noted", "skill", "brew")}
# What staff read at any time: names for those who keep groups, spaces, people and their channels.
OF_METADATA = {"zqspace", "zqabout", "zqcanonical", "zqpeer"}
Way = Callable[[], str]


def test_staff_read_memory_of_others_only_as_the_mode_says_and_never_unseen(cast, settings):
    settings.CURATION = "recorded"
    wrong: list[str] = []
    opening: dict[str, Way] = {}
    read: set[str] = set()
    for name, ask in ways(cast):
        before = looks()
        words = cast.beyond(ask(), "staff") - OF_METADATA
        if words & OF_DOCUMENTS or looks() > before:
            opening[name] = ask
        if words & OF_DOCUMENTS and looks() == before:
            wrong.append(f"{name} tells {words}, and nothing is recorded")
        if words - OF_DOCUMENTS:
            wrong.append(f"{name} tells what no mode opens: {words - OF_DOCUMENTS}")
        read |= words
    assert not wrong, "\n".join(wrong)
    # A way that shows nothing would let everything pass.
    assert read == OF_DOCUMENTS
    for settings.CURATION in ("closed", "reason"):
        before = looks()
        wrong = [name for name, ask in opening.items() if cast.beyond(ask(), "staff") - OF_METADATA]
        assert (wrong, looks() - before) == ([], 0), settings.CURATION


def looks() -> int:
    return AuditEvent.objects.filter(kind__in=curation.LOOKS).count()


def ways(cast: Cast) -> Iterator[tuple[str, Way]]:
    """Yield every way by which staff may ask, with what asks and returns all that it tells.

    What refuses them, whatever the mode, is the subject of the matrix.
    """
    asking, words = Asking(cast), {**rules_of(table.PAGES), **rules_of(table.OPERATIONS)}
    found = [each for each in [*pages(), *operations()] if each.method == "get"]
    asked = [each for each in found if "staff" in MAY.get(words[each.name][0], ())]
    for url, address in {address.url(ids): (address, ids) for address in asked for ids in both(cast)}.items():
        yield url, lambda address=address: asking.answer("staff", *address).text
    browser = asking.browsers["staff"]
    for ids in both(cast):
        for query in ({"document": ids["document_id"]}, {"space": ids["space"], "q": COMMON}):
            yield f"forget {query}", lambda query=query: text_of(browser.get("/memory/forget", query))
    for name, url in pages_of_administration():
        yield name, lambda url=url: text_of(browser.get(url))


def both(cast: Cast) -> tuple[dict[str, object], ...]:
    return cast.shared_ids, cast.private_ids


def pages_of_administration() -> Iterator[tuple[str, str]]:
    """Yield each page of the administration: lists, also when they are searched, and all pages of each row."""
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in admin.site._registry}
    for name, route in patterns(get_resolver()):
        if not name.startswith("admin:") or name in ("admin:", "admin:logout"):
            continue
        model = models.get(name.removeprefix("admin:").rpartition("_")[0])
        if "<path:object_id>" in route and model is not None:
            for pk in model._default_manager.values_list("pk", flat=True):
                yield f"{name} {pk}", "/" + route.replace("<path:object_id>", str(pk))
        elif "<" not in route:
            yield name, f"/{route}"
            yield f"{name} searched", f"/{route}?q={COMMON}"
