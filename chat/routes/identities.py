"""Linked identities: which peers of which channels are one person to their owner, such as telegram:123 and discord:456.

A link is proven on both sides. Its owner, signed in, is shown a one-time code, and the peer sends it through a program
with a key of the same owner. A link changes which of the owner's conversations a message goes to: whose
conversations they are is decided by the key or sign-in of the request, never by a peer. A peer of which its owner says
that it is themselves (`is_owner`) also reads and writes what is private to them; any other peer is another person.
"""

import datetime as dt
import re
import secrets

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy as _

from chat.conversations.keys import RouteScope, Sender, route_key
from chat.models import IdentityCode, IdentityLink, SessionRoute
from oneclaw.models import User, clock
from oneclaw.text import UserFacingError, validated_text

# How long a code is valid, and how many wrong ones may be sent until then.
CODE_MINUTES = 10
CODE_MAX_TRIES = 5
# A code is easy to type: two groups of letters and digits that cannot be taken for one another.
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_GROUP_CHARS = 4
LINK_COMMAND = re.compile(r"/link\s+(\S+)", re.IGNORECASE)
# What is said to a peer that was linked.
LINKED = _("Linked. What is written here and on your other linked channels is now one conversation.")
# Links that a person may have.
MAX_LINKS = 100


class NameTakenError(UserFacingError):
    """A peer that is not linked has the name, and a conversation of its own."""

    wording = _("A peer already has this name. Choose another one.")


class TooManyPeersError(UserFacingError):
    """The person has the maximum number of links."""

    wording = _("You have reached the maximum number of linked peers. Remove one first.")


class WrongCodeError(UserFacingError):
    """There is no such code, it has expired or was used, or the peer is another person's."""

    wording = _("This code is not valid, or this peer cannot be linked. Get a new code on the settings page.")


def is_owner(user: User, sender: Sender) -> bool:
    """Return whether `sender` is `user` themselves, who has linked it as their own by a code."""
    links = IdentityLink.objects.filter(owner=user, provider=sender.channel, peer=sender.peer)
    return links.filter(is_owner=True, proven_at__isnull=False).exists()


def canonical_peer(user: User, sender: Sender) -> str:
    """Return the peer by which the route key of the scope `per-peer` names `sender`: the name of its link, else itself.

    A peer that is not linked but is called like a linked person keeps apart from them: its channel is added.
    """
    is_linked = Q(provider=sender.channel, peer=sender.peer)
    links = list(IdentityLink.objects.visible_to(user).filter(is_linked | Q(canonical=sender.peer)))
    for link in links:
        if (link.provider, link.peer) == (sender.channel, sender.peer):
            return link.canonical
    return f"{sender.channel}:{sender.peer}" if links else sender.peer


def code_in(text: str) -> str | None:
    """Return the code in `text`, a message `/link CODE`; None in every other message."""
    found = LINK_COMMAND.fullmatch(text.strip())
    return found[1] if found else None


def checked_name(user: User, name: object) -> str:
    """Return the name of a person with single spaces. Raise oneclaw.text.InvalidTextError, NameTakenError."""
    text = validated_text(name, max_chars=IdentityLink.NAME_MAX_CHARS, name=_("The name"))
    canonical = " ".join(text.split())
    if not IdentityLink.objects.visible_to(user).filter(canonical=canonical).exists():
        # With the scope `per-peer`, the conversation of this peer would become that of the person.
        ending = route_key("", user.pk, RouteScope.PER_PEER, Sender("", canonical)).removeprefix("agent:")
        if SessionRoute.objects.visible_to(user).filter(key__endswith=ending).exists():
            raise NameTakenError
    return canonical


@transaction.atomic
def new_code(user: User, name: object, *, is_owner: bool = False) -> str:
    """Return a code with which a peer proves to be the person `name`, who is `user` themselves if `is_owner`; it
    replaces an earlier one.

    Raise oneclaw.text.InvalidTextError when the name is invalid, NameTakenError, TooManyPeersError.
    """
    canonical = checked_name(user, name)
    # Peers of one name share a conversation, so they are one person.
    if IdentityLink.objects.visible_to(user).filter(canonical=canonical, is_owner=not is_owner).exists():
        raise NameTakenError
    if IdentityLink.objects.visible_to(user).count() >= MAX_LINKS:
        raise TooManyPeersError
    groups = ("".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_GROUP_CHARS)) for _ in range(2))
    code = "-".join(groups)
    fields = {
        "canonical": canonical,
        "is_owner": is_owner,
        "code_hash": hashed(code),
        "expires_at": clock.database_now() + dt.timedelta(minutes=CODE_MINUTES),
        "tries": 0,
    }
    IdentityCode.objects.update_or_create(owner=user, defaults=fields)
    return code


def prove(user: User, sender: Sender, code: str) -> IdentityLink:
    """Link `sender` to the person for whom `user` was shown `code`, which is used up. Raise WrongCodeError."""
    link = _proven(user, sender, code)
    if link is None:
        raise WrongCodeError
    return link


@transaction.atomic
def _proven(user: User, sender: Sender, code: str) -> IdentityLink | None:
    codes = IdentityCode.objects.filter(owner=user, tries__lt=CODE_MAX_TRIES, expires_at__gt=clock.database_now())
    shown = codes.select_for_update().first()
    if shown is None:
        return None
    # Each try counts, also one that fails: this transaction is committed.
    IdentityCode.objects.filter(owner=user).update(tries=F("tries") + 1)
    if not constant_time_compare(hashed(code), shown.code_hash):
        return None
    known = IdentityLink.objects.filter(provider=sender.channel, peer=sender.peer).first()
    if known is not None and known.owner_id != user.pk:
        return None
    proven = {"canonical": shown.canonical, "is_owner": shown.is_owner, "proven_at": clock.database_now(), "by": None}
    try:
        with transaction.atomic():
            link, _is_new = IdentityLink.objects.update_or_create(
                owner=user, provider=sender.channel, peer=sender.peer, defaults=proven
            )
    except IntegrityError:
        # Another person has linked this peer at the same moment.
        return None
    shown.delete()
    return link


def unlink(user: User, link_id: int) -> None:
    """Remove the person's link `link_id`; do nothing when there is none."""
    IdentityLink.objects.filter(owner=user, pk=link_id).delete()


def hashed(code: str) -> str:
    """Return the keyed hash of `code`, which is compared without regard to case and hyphens."""
    plain = code.replace("-", "").upper()
    return salted_hmac("chat.routes.identities", plain, algorithm="sha256").hexdigest()
