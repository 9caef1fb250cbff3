"""Decide whether an address in an answer carries words that the model was sent from memory and no person typed."""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from chat import extensions
from chat.context import per_message
from chat.models import Message

# Shorter words and numbers say nothing alone.
WORD_MIN_CHARS, NUMBER_MIN_CHARS = 4, 3
# A path may have one word by chance, such as that of a product.
PATH_MIN_WORDS = 2
# What may be words in Base64 or in hexadecimal digits; a slash may also be that of a path.
ENCODED = (re.compile(r"[A-Za-z0-9_-]{8,}"), re.compile(r"[A-Za-z0-9+/_-]{8,}"))
WORD = re.compile(r"[^\W_]+")


def is_held(answer: Message, address: str) -> bool:
    """Return whether to ask before `address`, which the answer links to, is opened: it has words that the model was
    sent from memory before, and neither the address nor those words were typed in this conversation. Sync."""
    before = answer.session.messages.filter(seq__lte=answer.seq)
    typed = [
        text for message in before.filter(role=Message.Role.USER) if message.is_by_person for text in [message.text]
    ]
    if any(address in text for text in typed):
        return False
    secret = {word for text in _remembered(answer) for word in words_of(text)}
    return carries(address, secret - {word for text in typed for word in words_of(text)})


def carries(address: str, secret: set[str]) -> bool:
    """Return whether an address has one of the words `secret` in its host, query or fragment, two in its path, or one
    that is encoded. Pure."""
    if not secret:
        return False
    try:
        parts = urlsplit(address)
        host, named = parts.hostname or "", f"{parts.username or ''} {parts.password or ''}"
    except ValueError:
        return True
    # The last two labels are the name that was registered, before anything was known.
    labels = " ".join(host.split(".")[:-2])
    path, rest = decoded(parts.path), decoded(f"{labels} {named} {parts.query} {parts.fragment}")
    if words_of(rest) & secret or len(words_of(path) & secret) >= PATH_MIN_WORDS:
        return True
    return any(words_of(text) & secret for text in _unscrambled(f"{path} {rest}"))


def words_of(text: str) -> set[str]:
    """Return the words and numbers of a text that say something, in one form for capitals and accents."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return {
        word
        for word in WORD.findall(plain)
        if len(word) >= (NUMBER_MIN_CHARS if word.isdecimal() or not word.isascii() else WORD_MIN_CHARS)
    }


def decoded(text: str) -> str:
    """Return a part of an address without its percent signs, also where they were encoded twice."""
    return unquote_plus(unquote_plus(text))


def _unscrambled(text: str) -> Iterator[str]:
    """Yield a text backwards, turned by 13 letters, and what its long words are in Base64 and hexadecimal digits."""
    yield text[::-1]
    yield codecs.encode(text, "rot13")
    for found in {each for pattern in ENCODED for each in pattern.findall(text)}:
        padded = found + "=" * (-len(found) % 4)
        for decode, encoded in ((base64.urlsafe_b64decode, padded), (base64.b64decode, padded), (bytes.fromhex, found)):
            try:
                yield decode(encoded).decode()
            except (binascii.Error, ValueError):
                continue


def _remembered(answer: Message) -> Iterator[str]:
    """Yield the texts that the model was sent from memory, up to `answer`: in heads, with messages, by tools."""
    for context in answer.session.heads.values_list("context", flat=True):
        yield from _texts(context)
    about_memory: set[str] = set()
    for message in answer.session.messages.filter(seq__lte=answer.seq).order_by("seq"):
        yield from _texts(message.meta.get(per_message.META_KEY, {}))
        about_memory |= {use["id"] for use in message.tool_uses() if extensions.tool_named(use["name"]).about_memory}
        for block in message.content:
            if block["type"] == "tool_result" and block["tool_use_id"] in about_memory:
                yield str(block.get("content"))


def _texts(context: dict[str, Any]) -> Iterator[str]:
    yield from (item["text"] for items in context.values() for item in items)
