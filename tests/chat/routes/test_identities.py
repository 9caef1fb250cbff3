"""Linked peers: proven by a one-time code on both sides, and never a way to another person's conversations."""

import pytest

from chat.conversations.keys import Sender
from chat.models import IdentityCode, IdentityLink
from chat.routes import identities
from oneclaw.text import InvalidTextError
from tests.chat.routes.cast import DISCORD, TELEGRAM, written


@pytest.fixture(autouse=True)
def per_peer(settings):
    settings.DM_SCOPE = "per-peer"


def test_linked_peers_share_a_conversation(ada):
    apart = [written(ada, sender=TELEGRAM), written(ada, sender=DISCORD)]
    for sender in (TELEGRAM, DISCORD):
        identities.prove(ada, sender, identities.new_code(ada, "Ada"))
    together = [written(ada, sender=TELEGRAM), written(ada, sender=DISCORD)]
    assert len(set(apart)) == 2
    assert len(set(together)) == 1
    assert together[0].route.key == f"agent:oneclaw:user:{ada.pk}:dm:Ada"
    link = IdentityLink.objects.visible_to(ada).first()
    assert (link.by, link.proven_at is not None) == (None, True)


def test_a_link_leads_to_the_conversations_of_the_one_whose_key_it_is(ada, stranger):
    identities.prove(ada, TELEGRAM, identities.new_code(ada, "Ada"))
    own, other = written(ada, sender=TELEGRAM), written(stranger, sender=TELEGRAM)
    assert (own.owner, other.owner) == (ada, stranger)
    assert other.route.key == f"agent:oneclaw:user:{stranger.pk}:dm:123"


def test_nobody_links_with_another_persons_code_or_another_persons_peer(ada, stranger):
    code = identities.new_code(ada, "Ada")
    with pytest.raises(identities.WrongCodeError):
        identities.prove(stranger, TELEGRAM, code)
    identities.prove(ada, TELEGRAM, code)
    with pytest.raises(identities.WrongCodeError):
        identities.prove(stranger, TELEGRAM, identities.new_code(stranger, "Me"))
    assert IdentityLink.objects.get().owner == ada


def test_a_code_works_once_and_is_not_stored(ada):
    code = identities.new_code(ada, "Ada")
    assert code.replace("-", "") not in str(IdentityCode.objects.values().get())
    identities.prove(ada, TELEGRAM, code.lower().replace("-", ""))
    with pytest.raises(identities.WrongCodeError):
        identities.prove(ada, DISCORD, code)


@pytest.mark.parametrize(("seconds", "works"), [(-1, True), (0, False), (1, False)])
def test_a_code_expires(ada, clock, seconds, works):
    code = identities.new_code(ada, "Ada")
    clock.advance(minutes=identities.CODE_MINUTES, seconds=seconds)
    if works:
        assert identities.prove(ada, TELEGRAM, code).canonical == "Ada"
    else:
        with pytest.raises(identities.WrongCodeError):
            identities.prove(ada, TELEGRAM, code)


@pytest.mark.parametrize(("wrong", "works"), [(4, True), (5, False), (6, False)])
def test_few_wrong_codes_may_be_sent(ada, wrong, works):
    code = identities.new_code(ada, "Ada")
    for _ in range(wrong):
        with pytest.raises(identities.WrongCodeError):
            identities.prove(ada, TELEGRAM, "AAAA-AAAA")
    if works:
        identities.prove(ada, TELEGRAM, code)
    else:
        with pytest.raises(identities.WrongCodeError):
            identities.prove(ada, TELEGRAM, code)


def test_a_new_code_replaces_the_one_before_and_its_tries(ada):
    old = identities.new_code(ada, "Ada")
    IdentityCode.objects.update(tries=identities.CODE_MAX_TRIES)
    new = identities.new_code(ada, "Ada")
    with pytest.raises(identities.WrongCodeError):
        identities.prove(ada, TELEGRAM, old)
    identities.prove(ada, TELEGRAM, new)


def test_a_peer_that_is_called_like_a_linked_person_keeps_apart(ada):
    identities.prove(ada, TELEGRAM, identities.new_code(ada, "Ada"))
    assert written(ada, sender=Sender("irc", "Ada")) != written(ada, sender=TELEGRAM)


def test_nobody_is_named_like_a_peer_that_has_a_conversation(ada):
    written(ada, sender=Sender("irc", "Ada % _"))
    with pytest.raises(identities.NameTakenError):
        identities.new_code(ada, " Ada  % _ ")
    identities.new_code(ada, "Ada %  _2")


@pytest.mark.parametrize(("chars", "fits"), [(63, True), (64, True), (65, False)])
def test_a_name_is_short(ada, chars, fits):
    if fits:
        identities.new_code(ada, "x" * chars)
    else:
        with pytest.raises(InvalidTextError):
            identities.new_code(ada, "x" * chars)


@pytest.mark.parametrize(("links", "fits"), [(99, True), (100, False), (101, False)])
def test_a_person_has_a_limited_number_of_links(ada, links, fits):
    IdentityLink.objects.bulk_create(
        IdentityLink(owner=ada, canonical="Ada", provider="irc", peer=str(each)) for each in range(links)
    )
    if fits:
        identities.new_code(ada, "Ada")
    else:
        with pytest.raises(identities.TooManyPeersError):
            identities.new_code(ada, "Ada")


def test_only_a_whole_message_with_one_word_is_a_code():
    texts = ["/link ABCD-EFGH", " /LINK abcd ", "/link", "/link a b", "say /link a"]
    assert [identities.code_in(text) for text in texts] == ["ABCD-EFGH", "abcd", None, None, None]


def test_nobody_unlinks_somebody_elses_peer(ada, stranger):
    link = identities.prove(ada, TELEGRAM, identities.new_code(ada, "Ada"))
    identities.unlink(stranger, link.pk)
    assert IdentityLink.objects.exists()
    identities.unlink(ada, link.pk)
    assert not IdentityLink.objects.exists()


def test_an_admin_makes_a_link(ada, admin_person, client):
    client.force_login(admin_person)
    fields = {"owner": ada.pk, "canonical": "Ada", "provider": "telegram", "peer": "123"}
    assert client.post("/admin/chat/identitylink/add/", fields).status_code == 302
    link = IdentityLink.objects.get()
    assert (link.owner, link.by, link.proven_at) == (ada, admin_person, None)
    assert identities.canonical_peer(ada, TELEGRAM) == "Ada"
