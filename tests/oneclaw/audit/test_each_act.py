"""Each act that an operator must be able to explain makes exactly one event of its kind: who did it, and no content.

A new kind must have an act here, or say where it is tried.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.core.management import call_command
from django.test import Client

from chat.transfer import share
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.library import files as library
from memory.mcp import call
from memory.mcp.call import ProgramCall
from memory.models import MemoryDocument
from oneclaw.leaving import offboard
from oneclaw.models import AuditEvent, AuditKind, Group, Invitation, LegalHold, Space, User
from oneclaw.people import keys
from oneclaw.people.programs.grants import Grant
from oneclaw.people.sign_in import inviting
from oneclaw.spaces import lifecycle
from tests.oneclaw.leaving.test_offboarding import said
from tests.oneclaw.leaving.test_pages import PASSWORD, signed_in

pytestmark = pytest.mark.django_db(transaction=True)
# What people write in the acts: no event may have it.
WORD = "zyzzyva"
NEW_PASSWORD = f"{WORD} on a quiet evening"
ADA, BOSS, NOBODY = "ada", "boss", ""
ELSEWHERE = {AuditKind.RESTORED: "tests/faults/test_backup.py"}


@dataclass
class Stage:
    """Ada, an owner of the installation, and a browser of each."""

    ada: User
    boss: User
    folder: Path
    by_ada: Client = field(init=False)
    by_boss: Client = field(init=False)

    def __post_init__(self) -> None:
        self.by_ada, self.by_boss = signed_in(self.ada), signed_in(self.boss)

    @property
    def person(self) -> str:
        return f"/team/people/{self.ada.pk}"

    def space(self) -> Space:
        return lifecycle.create(self.ada, lifecycle.checked_draft(f"{WORD} room", kind="team"))

    def document(self) -> MemoryDocument:
        line = Append(f"- {WORD} likes tea.\n")
        return write.apply(Space.objects.own_of(self.ada), "MEMORY.md", line, Author(Source.PAGE, self.ada)).document

    def invitation(self) -> tuple[Invitation, str]:
        return inviting.invite(self.boss, inviting.Wish(f"{WORD}@example.org"), 7)


Attempt = Callable[[], object]


def post(client: Client, path: str, **form: object) -> Attempt:
    return lambda: client.post(path, form)


def factor(stage: Stage) -> None:
    TOTP.activate(stage.ada, generate_totp_secret())


def fresh(stage: Stage) -> Client:
    stage.by_ada.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return stage.by_ada


def adding_a_factor(stage: Stage) -> Attempt:
    """An app; codes for an emergency, which come with the first factor as one more, are there."""
    RecoveryCodes.activate(stage.ada)
    client, path = fresh(stage), "/accounts/second-factor/totp/activate/"
    client.get(path)
    code = format_hotp_value(hotp_value(client.session["mfa.totp.secret"], int(time.time()) // 30))
    return post(client, path, code=code)


def removing_a_factor(stage: Stage) -> Attempt:
    factor(stage)
    return post(fresh(stage), "/accounts/second-factor/totp/deactivate/")


def wrong_code(stage: Stage) -> Attempt:
    factor(stage)
    client = Client()
    client.post("/accounts/login/", {"login": stage.ada.email, "password": PASSWORD})
    assert Authenticator.objects.filter(user=stage.ada).exists()
    return post(client, "/accounts/second-factor/authenticate/", code="000000")


def using_an_invitation(stage: Stage) -> Attempt:
    path = "/invited/" + stage.invitation()[1].partition("/invited/")[2]
    return post(Client(), path, name="Grace", password1=NEW_PASSWORD, password2=NEW_PASSWORD)


def using_a_shown_link(stage: Stage) -> Attempt:
    """Use the link for a new password that an admin was shown."""
    page = stage.by_boss.post(f"{stage.person}/link").content.decode()
    path = re.search(r"/welcome/[^\s\"]+", page)[0]
    return post(Client(), path, name="Grace", password1=NEW_PASSWORD, password2=NEW_PASSWORD)


def enabling(stage: Stage) -> Attempt:
    stage.by_boss.post(f"{stage.person}/active", {"active": "no"})
    return post(stage.by_boss, f"{stage.person}/active", active="yes")


def removing_a_person(stage: Stage) -> Attempt:
    job = offboard.begin(stage.ada, receiver=stage.boss, by=stage.boss)
    return lambda: offboard.run(job.pk)


def ending_a_hold(stage: Stage) -> Attempt:
    stage.by_boss.post("/team/retention/holds/set", {"hold-email": stage.ada.email, "hold-reason": WORD})
    return post(stage.by_boss, f"/team/retention/holds/{LegalHold.objects.get().pk}/end")


def renaming_a_group(stage: Stage) -> Attempt:
    return post(stage.by_boss, f"/groups/{Group.objects.create(name='Tea').pk}", do="rename", name=WORD)


def deleting_a_group(stage: Stage) -> Attempt:
    return post(stage.by_boss, f"/admin/oneclaw/group/{Group.objects.create(name=WORD).pk}/delete/", post="yes")


def deleting_a_space(stage: Stage) -> Attempt:
    space = stage.space()

    def attempt() -> None:
        page = stage.by_ada.get(f"/spaces/{space.pk}/delete")
        stage.by_ada.post(f"/spaces/{space.pk}/delete", {"digest": page.context["plan"].digest})

    return attempt


def adding_a_member(stage: Stage) -> Attempt:
    return post(stage.by_ada, f"/spaces/{stage.space().pk}/members/add", email=stage.boss.email, role="reader")


def sharing(stage: Stage) -> Attempt:
    return post(stage.by_ada, f"/c/{said(stage.ada, WORD).pk}/share", period=next(iter(share.PERIODS)))


def ending_a_share(stage: Stage) -> Attempt:
    link, _token = share.share(stage.ada, said(stage.ada, WORD), next(iter(share.PERIODS)))
    return post(stage.by_ada, f"/shared/{link.pk}/revoke")


def changing_a_program(stage: Stage) -> Attempt:
    key, _token = keys.make(stage.ada, WORD, "year")
    return post(stage.by_ada, f"/settings/programs/{key.pk}", own="read")


def calling_by_a_program(stage: Stage) -> Attempt:
    key, _token = keys.make(stage.ada, WORD, "year")
    return lambda: call.recorded(ProgramCall(Grant.of(key), ""), "memory_search", lambda access: access.spaces)


def revoking_a_key(stage: Stage) -> Attempt:
    key, _token = keys.make(stage.ada, WORD, "year")
    return post(stage.by_ada, f"/settings/keys/{key.pk}/revoke")


def removing_a_library_file(stage: Stage) -> Attempt:
    file = library.add(Space.objects.own_of(stage.ada), stage.ada, f"{WORD}.txt", WORD.encode()).file
    return post(stage.by_ada, f"/memory/documents/{file.pk}/remove")


def forgetting(stage: Stage) -> Attempt:
    form = {"document": stage.document().pk, "line": [f"- {WORD} likes tea."]}
    digest = stage.by_ada.post("/memory/forget", form).context["plan"].digest
    return post(stage.by_ada, "/memory/forget", **form, digest=digest)


def looking(stage: Stage) -> Attempt:
    path = f"/admin/memory/memorydocument/{stage.document().pk}/change/"
    return lambda: stage.by_boss.get(path)


def curating(stage: Stage) -> Attempt:
    path = f"/admin/memory/memorydocument/{stage.document().pk}/change/"
    return post(stage.by_boss, path, content=f"- {WORD}.", base_version=1)


def exporting(stage: Stage) -> Attempt:
    return lambda: call_command("account", "export", stage.ada.email, stage.folder / "ada.zip")


# The kind, by whom, and what makes it ready and returns the act.
ACTS: list[tuple[AuditKind, str, Callable[[Stage], Attempt]]] = [
    (
        AuditKind.SIGNED_IN,
        ADA,
        lambda at: post(Client(), "/accounts/login/", login=at.ada.email, password=PASSWORD),
    ),
    (
        AuditKind.SIGN_IN_FAILED,
        NOBODY,
        lambda at: post(Client(), "/accounts/login/", login=at.ada.email, password=WORD),
    ),
    (AuditKind.SIGN_IN_FAILED, NOBODY, wrong_code),
    (AuditKind.SIGN_IN_FAILED, ADA, lambda at: post(at.by_ada, "/accounts/reauthenticate/", password=WORD)),
    (AuditKind.CONFIRMED, ADA, lambda at: post(at.by_ada, "/accounts/reauthenticate/", password=PASSWORD)),
    (AuditKind.SIGNED_OUT, ADA, lambda at: post(at.by_ada, "/accounts/logout/")),
    (
        AuditKind.PASSWORD_CHANGED,
        ADA,
        lambda at: post(
            fresh(at),
            "/accounts/password/change/",
            oldpassword=PASSWORD,
            password1=NEW_PASSWORD,
            password2=NEW_PASSWORD,
        ),
    ),
    (AuditKind.RESET_LINK_MADE, BOSS, lambda at: post(at.by_boss, f"{at.person}/link")),
    (AuditKind.RESET_LINK_USED, BOSS, using_a_shown_link),
    (AuditKind.SECOND_FACTOR_ADDED, ADA, adding_a_factor),
    (AuditKind.SECOND_FACTOR_REMOVED, ADA, removing_a_factor),
    (
        AuditKind.INVITED,
        BOSS,
        lambda at: post(at.by_boss, "/team/invitations/new", email=f"{WORD}@example.org", days="7"),
    ),
    (
        AuditKind.INVITATION_REVOKED,
        BOSS,
        lambda at: post(at.by_boss, f"/team/invitations/{at.invitation()[0].pk}/revoke"),
    ),
    (AuditKind.INVITATION_USED, "new", using_an_invitation),
    (AuditKind.PERSON_MADE, NOBODY, lambda at: lambda: call_command("adduser", f"{WORD}@example.org")),
    (
        AuditKind.RESET_LINK_MADE,
        NOBODY,
        lambda at: lambda: call_command("adduser", at.ada.email, "--new-link"),
    ),
    (AuditKind.PERSON_DISABLED, BOSS, lambda at: post(at.by_boss, f"{at.person}/active", active="no")),
    (AuditKind.PERSON_ENABLED, BOSS, enabling),
    (AuditKind.PERSON_LEAVES, ADA, lambda at: post(at.by_ada, "/settings/delete/")),
    (AuditKind.PERSON_REMOVED, BOSS, removing_a_person),
    (
        AuditKind.HOLD_SET,
        BOSS,
        lambda at: post(at.by_boss, "/team/retention/holds/set", **{"hold-email": at.ada.email, "hold-reason": WORD}),
    ),
    (AuditKind.HOLD_ENDED, BOSS, ending_a_hold),
    (AuditKind.RIGHTS_CHANGED, BOSS, lambda at: post(at.by_boss, f"{at.person}/role", role="auditor")),
    (AuditKind.GROUP_CHANGED, BOSS, renaming_a_group),
    (AuditKind.ROW_CHANGED, BOSS, deleting_a_group),
    (AuditKind.SPACE_MADE, ADA, lambda at: post(at.by_ada, "/spaces/new", name=WORD, kind="team", colour="0")),
    (AuditKind.SPACE_CHANGED, ADA, lambda at: post(at.by_ada, f"/spaces/{at.space().pk}/archive")),
    (AuditKind.SPACE_REMOVED, ADA, deleting_a_space),
    (AuditKind.MEMBERS_CHANGED, ADA, adding_a_member),
    (AuditKind.EXPORTED, NOBODY, exporting),
    (AuditKind.SHARED, ADA, sharing),
    (AuditKind.SHARE_ENDED, ADA, ending_a_share),
    (AuditKind.KEY_MADE, ADA, lambda at: post(at.by_ada, "/settings/keys", name=WORD, period="year")),
    (AuditKind.KEY_REVOKED, ADA, revoking_a_key),
    (AuditKind.KEY_CHANGED, ADA, changing_a_program),
    (AuditKind.PROGRAM_CALLED, ADA, calling_by_a_program),
    (
        AuditKind.SETTING_CHANGED,
        BOSS,
        lambda at: post(at.by_boss, "/team/settings/maintenance", value=f"Closed {WORD}"),
    ),
    (AuditKind.DELETED, ADA, removing_a_library_file),
    (AuditKind.FORGOTTEN, ADA, forgetting),
    (AuditKind.MEMORY_LOOKED_AT, BOSS, looking),
    (AuditKind.MEMORY_CURATED, BOSS, curating),
]


def test_every_kind_has_an_act():
    tried = {kind for kind, _actor, _act in ACTS}
    assert tried.isdisjoint(ELSEWHERE)
    assert tried | ELSEWHERE.keys() == set(AuditKind)
    for kind, file in ELSEWHERE.items():
        assert kind.value in Path(file).read_text()


@pytest.mark.parametrize(("kind", "by", "act"), ACTS, ids=[str(kind.value) for kind, _by, _act in ACTS])
def test_each_act_makes_one_event_with_who_did_it_and_no_content(ada, admin_person, tmp_path, kind, by, act):
    stage = Stage(ada, admin_person, tmp_path)
    actors = {ADA: ada.pk, BOSS: admin_person.pk, NOBODY: None}
    attempt = act(stage)
    latest = AuditEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    attempt()
    made = AuditEvent.objects.filter(pk__gt=latest)
    (event,) = made.filter(kind=kind)
    if by in actors:
        assert event.actor == actors[by]
    else:
        assert event.actor == User.objects.latest("pk").pk
    assert WORD not in json.dumps(list(made.values("details")))
