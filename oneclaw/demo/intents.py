"""Recognise intents in a person's sentences, by regular expressions: best in English and German, less in others."""

import re

REMEMBER = re.compile(
    r"""(?:^|(?<=[.!?\n])|(?<=[.!?\n]\s)|(?<=[.!?\n]\s\s))(?!\s)
    (?:(?:please|ok(?:ay)?|and|bitte|hey|hi|hello)[,!]?\s{1,9}){0,5}
    (?:(?:can|could|would|will|kannst|könntest)\s{1,9}(?:you|du)\s{1,9}(?:please\s{1,9}|bitte\s{1,9})?)?
    (?:remember|memori[sz]e|note\s{1,9}down|note|make\s{1,9}a\s{1,9}note|keep\s{1,9}in\s{1,9}mind
      |(?:do\s{1,9}not|don['’]t)\s{1,9}forget|save
      |(?:(?:dir|mir)\s{1,9})?merk(?:e|en)?(?:\s{1,9}dir)?|notier(?:e|en)?(?:\s{1,9}dir)?|vergiss\s{1,9}nicht
      |denk(?:e)?\s{1,9}dar?an)
    (?:\s{1,9}(?:for\s{1,9}me|this|the\s{1,9}following|folgendes))?
    \s{0,9}(?P<mark>[:,]\s{0,9}|\s)(?:(?P<that>that|dass)\s{1,9})?(?P<what>\S[^\n]*)""",
    re.IGNORECASE | re.VERBOSE,
)
# Requests to remember in French, Spanish, Chinese and Japanese.
REMEMBER_IN_OTHER_LANGUAGES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?:s['’]il (?:vous|te) pla[iî]t,?\s*)?(?:retene[zs]|retiens|souvenez-vous|souviens-toi|notez?)"
        r"\s*(?:que\s+|qu['’]|[:,]\s*)(?P<what>\S[^\n]*)",
        r"^(?:por favor,?\s*)?(?:recuerd[ae]|apunt[ae]|anot[ae])\s*(?:que\s+|[:,]\s*)(?P<what>\S[^\n]*)",
        r"^请?(?:记住|记得|记下)[，,:：\s]*(?P<what>[^\n？?]+)$",
        r"^(?P<what>[^\n]+?)(?:こと)?(?:を|と|って)(?:覚えて|記憶して|メモして)(?:おいて)?(?:ください|ね)?[。.!！]*$",
    )
]
# "What … my": the first such word of a line is enough, and is looked for once.
PAST = re.compile(
    r"""\b(?:do|did|can|could)\s+you\s+(?:still\s+)?(?:remember|recall|know|find)\b
    |\bwhat\s+(?:do|did)\s+you\s+(?:still\s+)?(?:remember|know|note|save)\b
    |\bremind\s+me\b|\bsearch\s+(?:your|my|the)\s+(?:memory|notes)\b
    |^(?>.*?\b(?:what|when|where|who|whom|whose|which|why|how)\b).*\b(?:i|i['’]m|my|me|mine|we|our|us|yesterday|last\s+\w+)\b
    |\b(?:did|have|was|am|do)\s+(?:i|we|my)\b
    |\b(?:weißt|weisst|erinnerst|kennst)\s+du\b
    |^(?>.*?\b(?:was|wann|wo|wer|wen|wem|wessen|welche\w*|warum|wieso|wie)\b).*\b(?:ich|mein\w*|mir|mich|wir|unser\w*|uns|gestern)\b
    |\bhabe?\s+ich\b
    |^(?>.*?\b(?:comment|que|quoi|quel\w*|où|quand|qui|pourquoi)\b).*\b(?:mon|ma|mes|je|moi|nous|notre|nos)\b
    |^(?>.*?(?:cómo|qué|dónde|cuándo|quién|cuál)\b).*\b(?:mi|mis|yo|me|nosotros|nuestr\w+)\b
    |^(?>.*?我)(?>.*?(?:什么|谁|哪|几|多少)).*[？?]
    |^(?>.*?(?:私|僕|うち|わたし)).*[？?]
    |\bque\s+(?:savez-vous|sais-tu)\s+(?:de|sur)\b|\b(?:vous\s+souvenez-vous|te\s+souviens-tu)\b
    |\bqué\s+(?:recuerdas|sabes)\b|\bte\s+acuerdas\b
    |^(?>.*?记得).*[？?]|^(?>.*?知道)(?>.*?我).*[？?]
    |覚えていますか|覚えてる""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
GREETING = re.compile(
    r"^\s*+(?:hi|hello|hey|hallo|grüezi|servus|moin|salut|bonjour|hola|ciao|good\s+(?:morning|afternoon|evening)"
    r"|guten?\s+(?:morgen|tag|abend))(?:\s+(?:there|you|zusammen|oneclaw))?\b[\s,.!?🙂👋]*",
    re.IGNORECASE,
)
SMALL_TALK = re.compile(
    r"^\W*+(?:thanks?|thank you|thx|danke|ok(?:ay)?|bye|good night|tschüss|yes|no|ja|nein)\b.{0,20}$", re.I
)
# In a text in lower case.
HELP = re.compile(
    r"\b(?=\w)(?:help|what\s+can\s+you\s+do|hilfe|was\s+kannst\s+du|aide|que\s+(?:pouvez-vous|peux-tu)\s+faire"
    r"|ayuda|qué\s+puedes\s+hacer)\b|你(?:能|会)做什么|何ができ"
)
# A full stop inside a name or an address does not end a sentence, nor does that of an ordinal number (3. Mai).
SENTENCE = re.compile(
    r"[^\n]+?(?:(?<=[.!?])(?!(?<=\d\.)\s(?:[a-zäöü]|Jan|Feb|März|Apr|Mai|Juni|Juli|Aug|Sep|Okt|Nov|Dez))(?=\s)|$)",
    re.MULTILINE,
)
WORD = re.compile(r"[^\W_]{3,}")
# How much of each end of a long text is looked at for a question.
END_CHARS = 5_000
# Words that say nothing about what a sentence is about.
COMMON_WORDS = """
the and for are was were what when where who which why how did does you your remember know about that this
with have has had can could will would from tell still recall please there they them then than not but any our
out mine mein meine meinen meiner ich dir mir was wann der die das und ist bin war hab habe weißt weisst noch
über von mit ein eine wie heißt heisst heissen called name said say day last
"""
COMMON = frozenset(COMMON_WORDS.split())


def to_remember(text: str) -> str:
    """Return what the person asks to remember in `text`, as a sentence; "" if nothing."""
    found = REMEMBER.search(text) or next(
        filter(None, (each.search(text.strip()) for each in REMEMBER_IN_OTHER_LANGUAGES)), None
    )
    if not found or found["what"].startswith(("when", "how", "what", "wann", "wie", "was ")):
        return ""
    # A following question is not part of it.
    kept = [sentence for sentence in sentences(found["what"]) if not sentence.endswith("?")]
    what = " ".join(kept).strip()
    if len(what) < 3:
        return ""
    if (found.groupdict().get("that") or "").lower() == "dass":
        return f"Ich bat zu merken, dass {what}"
    return what[0].upper() + what[1:]


def about_the_past(text: str) -> bool:
    """Return whether the person asks for something that was said before."""
    # A long text asks at its beginning or at its end.
    ends = text if len(text) <= 2 * END_CHARS else f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"
    return bool(PAST.search(ends)) and ("?" in text or not to_remember(text))


def greeting(text: str) -> str:
    """Return what the text says besides its greeting; the text itself when it has none."""
    return GREETING.sub("", text, count=1)


def sentences(text: str) -> list[str]:
    """Return the sentences of the text."""
    return [found.group().strip() for found in SENTENCE.finditer(text) if found.group().strip()]


def statements(text: str) -> list[str]:
    """Return the sentences that say something: no greeting, no thanks, no question."""
    said = (greeting(sentence).strip() for sentence in sentences(text))
    return [
        sentence
        for sentence in said
        if len(sentence.split()) >= 3 and not sentence.endswith("?") and not SMALL_TALK.match(sentence)
    ]


def subjects(text: str) -> set[str]:
    """Return the stems (six characters) of the words that say what `text` is about."""
    return {word.lower()[:6] for word in WORD.findall(text) if word.lower() not in COMMON}
