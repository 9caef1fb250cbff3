"""Estimate the tokens of a request's content, for sizes that need not be exact. Pure."""

import math
import re
from collections.abc import Mapping

# Of an image, the most that the API counts; and bytes of a document for each of its tokens.
IMAGE_TOKENS = 4_784
DOCUMENT_TOKEN_BYTES = 25
# Of each block, for what surrounds its text.
BLOCK_TOKENS = 4
# Characters of Chinese, Japanese and Korean, each about a token.
CJK = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def estimated_tokens(content: object, chars_per_token: float) -> int:
    """Return the estimated tokens of `content`: texts, blocks, or nested lists and mappings of them."""
    if isinstance(content, str):
        return text_tokens(content, chars_per_token)
    if isinstance(content, Mapping):
        source = content.get("source")
        if isinstance(source, Mapping) and source.get("type") == "base64":
            size = len(source.get("data") or "") * 3 // 4
            return IMAGE_TOKENS if content.get("type") == "image" else size // DOCUMENT_TOKEN_BYTES
        names = sum(len(str(name)) for name in content)
        values = sum(estimated_tokens(value, chars_per_token) for value in content.values())
        return values + math.ceil(names / chars_per_token) + BLOCK_TOKENS
    if isinstance(content, list | tuple):
        return sum(estimated_tokens(each, chars_per_token) for each in content)
    return 1


def text_tokens(text: str, chars_per_token: float) -> int:
    """Return the estimated tokens of `text`: a character of Chinese, Japanese or Korean is one token; of all others,
    `chars_per_token` is that of ASCII, and each has as many shares of a token as it has bytes in UTF-8."""
    if text.isascii():
        return math.ceil(len(text) / chars_per_token)
    others, dense = CJK.subn("", text)
    return dense + math.ceil(len(others.encode(errors="surrogatepass")) / chars_per_token)
