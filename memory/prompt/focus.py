"""Find the question in a message: without greetings, small talk and phrases of asking. Pure.

Words around a question are noise for a search: they may be rarer than those of the question, and nothing in memory has
them.
"""

import re
from collections.abc import Sequence

from memory.text.languages import ASKING_WORDS, STOP_WORDS

# A question with fewer words of its own, where a name counts for two, may depend on the sentences around it.
QUESTION_MIN_WORDS = 3
# In a text of at most so many characters, nothing is left out but what surrounds a question.
WISH_MIN_CHARS = 280
SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\b\w\.)[\"”’)]*\s+|(?<=[。！？])")
QUESTION_END = re.compile(r"[?？][\"”’)\s]*$")
WORD = re.compile(r"[^\W\d_][\w'’-]*")
# A clause before the question that greets or says that something is asked.
LEAD_IN = re.compile(
    r"^(?:(?:hi|hello|hey|dear|hallo|hola|bonjour|salut|thanks|thank you|sorry|excuse me|please|by the way|good "
    r"(?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend))\b[^,:;–—]*"
    r"|[^,:;–—]*\b(?:ask(?:ed|ing)?|bother\w*|argu\w+|curious|forg[eo]t\w*|help|know|question|recall|remember|remind"
    r"|tell(?: me)?|think(?:ing)?|wonder(?:ed|ing)?|frage\w*|wissen|sag\w*|demand\w*|dis|dime|pregunt\w*)\b[^,:;–—]*)"
    r"(?:,|:|;|\s[–—-])\s+(?:and |but |so )?(?=\S)",
    re.IGNORECASE,
)
# Words that ask and do not say what for.
ASKING = frozenset(
    re.findall(
        r"\w+",
        "again anything ask bother can could curious explain find forget forgot give help idea know look maybe mind "
        "need please question quick recall remember remind say settle show something tell thank thanks thing think "
        "want wonder wondering would",
    )
)


def question_in(text: str) -> str:
    """Return the questions in `text`, one line, or all of it when there are none that say what they are about.

    Questions of few words get the other sentences that hold a name, too.
    """
    sentences = [sentence for sentence in SENTENCE_END.split(text) if sentence]
    asking = {
        sentence: without_lead_in(sentence)
        for sentence in sentences
        if QUESTION_END.search(sentence) and count_content(sentence)
    }
    if not asking:
        return wish_in(text, sentences)
    is_enough = sum(map(count_content, asking.values())) >= QUESTION_MIN_WORDS
    kept = (asking.get(each, "" if is_enough or not has_name(each) else each) for each in sentences)
    return " ".join(each for each in kept if each)


def wish_in(text: str, sentences: Sequence[str]) -> str:
    """Return the sentences of a long `text` that ask for something without a question mark, and those with a name, in
    one line; all of it if it is short or nothing in it asks."""
    if len(text) <= WISH_MIN_CHARS:
        return text
    wishes = [each for each in sentences if not ASKING_WORDS.isdisjoint(map(str.lower, WORD.findall(each)))]
    if not wishes:
        return text
    # What is cut off later is not the wish.
    return " ".join([*wishes, *(each for each in sentences if each not in wishes and has_name(each))])


def without_lead_in(sentence: str) -> str:
    """Return the question `sentence` without the clause that leads to it, if the rest says enough by itself."""
    rest = LEAD_IN.sub("", sentence)
    return rest if count_content(rest) >= QUESTION_MIN_WORDS else sentence


def count_content(sentence: str) -> int:
    """Return how many words of `sentence` say what it is about; a name in it counts for two."""
    return sum(
        2 if at and word[0].isupper() else 1
        for at, word in enumerate(WORD.findall(sentence))
        if (plain := word.lower().replace("’", "'").removesuffix("'s")) not in STOP_WORDS and plain not in ASKING
    )


def has_name(sentence: str) -> bool:
    """Return whether a word inside of `sentence` is written like a name."""
    return any(len(word) > 1 and word[0].isupper() and word[1] not in "'’" for word in WORD.findall(sentence)[1:])
